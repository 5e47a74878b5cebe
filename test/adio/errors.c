/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program sees when something is wrong: errors CASE FILE. All ranks check what they get, and rank 0 says what
 * was not as it should be. Ends with 0 only if every rank was content; each case ends, whatever one rank did wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, faults;
static char text[MPI_MAX_ERROR_STRING];

static void expect(int condition, const char *what)
{
    if (condition)
        return;
    faults++;
    fprintf(stderr, "rank %d: not so: %s; last error: %s\n", rank, what, text);
}

/* The class of a code; keeps its text. */
static int class_of(int code)
{
    int class = MPI_SUCCESS, length = 0;

    text[0] = '\0';
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
    }
    return class;
}

static int open_class(const char *name, int amode, MPI_Info info, MPI_File *file)
{
    return class_of(MPI_File_open(MPI_COMM_WORLD, name, amode, info, file));
}

static void expect_open(const char *name, int amode, int class, const char *mention)
{
    MPI_File file = MPI_FILE_NULL;

    expect(open_class(name, amode, MPI_INFO_NULL, &file) == class, "the class of the error");
    expect(!mention || strstr(text, mention), "the text names what is at fault");
    if (file != MPI_FILE_NULL)
        MPI_File_close(&file);
}

static MPI_File open_ok(const char *name, int amode)
{
    MPI_File file = MPI_FILE_NULL;

    if (open_class(name, amode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "rank %d: %s does not open: %s\n", rank, name, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return file;
}

static void create(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);

    MPI_File_close(&file);
}

/* --- open --- */

static void no_server(const char *name)
{
    double start = MPI_Wtime();

    expect_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_ERR_IO, getenv("THEMIS_SERVERS"));
    expect(MPI_Wtime() - start < 10, "within 10 s");
}

static void no_file(const char *name)
{
    expect_open(name, MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE, strchr(name, '/'));
    expect(class_of(MPI_File_delete(name, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE, "nor can it be deleted");
}

static void exclusive(const char *name)
{
    create(name);
    expect_open(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_ERR_FILE_EXISTS, strchr(name, '/'));
}

static void not_directory(const char *name)
{
    char below[256];

    create(name);
    snprintf(below, sizeof below, "%s/below", name);
    expect_open(below, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_ERR_BAD_FILE, "directory");
}

static void long_name(const char *name)
{
    char *longer = malloc(6000);
    size_t length = strlen(name);

    memset(longer, 'x', 6000);
    memcpy(longer, name, length);
    longer[length + 256] = '\0';
    expect_open(longer, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_ERR_BAD_FILE, "long");
    memset(longer + length, 'x', 5999 - length);
    for (size_t i = length; i < 5990; i += 100)
        longer[i] = '/';
    longer[5000] = '\0';
    expect_open(longer, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_ERR_BAD_FILE, "long");
    /* Lengths at which ROMIO's own name for the shared pointer would no longer fit. */
    for (size_t total = 4080; total <= 4100; total++) {
        longer[total] = '\0';
        expect_open(longer, MPI_MODE_RDONLY, total < 4032 ? MPI_ERR_NO_SUCH_FILE : MPI_ERR_BAD_FILE, NULL);
        longer[total] = 'x';
    }
    free(longer);
}

static void bad_amode(const char *name)
{
    expect_open(name, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_ERR_AMODE, NULL);
    expect_open(name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_ERR_AMODE, NULL);
    expect_open(name, MPI_MODE_CREATE | (rank == 0 ? MPI_MODE_RDWR : MPI_MODE_WRONLY), MPI_ERR_NOT_SAME, NULL);
}

static void read_only(const char *name)
{
    char byte = 1;
    MPI_File file;

    create(name);
    file = open_ok(name, MPI_MODE_RDONLY);
    expect(class_of(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY, "write");
    expect(class_of(MPI_File_write_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY,
           "collective write");
    expect(class_of(MPI_File_set_size(file, 10)) == MPI_ERR_READ_ONLY, "resize");
    MPI_File_close(&file);
}

static void nonsense(const char *name)
{
    static const char *const hints[][2] = {
        {"cb_buffer_size", "plenty"},    {"striping_unit", "-7"},      {"striping_factor", "many"},
        {"start_iodevice", "-3"},        {"themis_timeout", "always"}, {"themis_no_such_thing", "1"},
        {"romio_cb_write", "sometimes"}, {"cb_nodes", "-1"},           {"unknown_to_all", "x"},
    };
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0, byte = rank, back = -1;
    MPI_Info info, used;
    MPI_File file = MPI_FILE_NULL;

    MPI_Info_create(&info);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        MPI_Info_set(info, hints[i][0], hints[i][1]);
    expect(open_class(name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "it opens");
    MPI_Info_free(&info);
    if (file == MPI_FILE_NULL)
        return;
    MPI_File_get_info(file, &used);
    MPI_Info_get(used, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &found);
    expect(found && atoi(value) == 16777216, "cb_buffer_size is the default");
    MPI_Info_get(used, "striping_unit", MPI_MAX_INFO_VAL, value, &found);
    expect(found && atoi(value) > 0 && atoi(value) % 4096 == 0, "striping_unit is that of the file");
    MPI_Info_get(used, "themis_no_such_thing", MPI_MAX_INFO_VAL, value, &found);
    expect(!found, "what is unknown is not shown");
    MPI_Info_free(&used);
    expect(MPI_File_write_at_all(file, 4 * rank, &byte, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    expect(MPI_File_read_at_all(file, 4 * rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read");
    expect(back == rank, "what was written is read");
    MPI_File_close(&file);
}

/* --- one rank does it wrong --- */

enum { COUNT = 1000 };

/* A collective write in which rank 1 gives `buffer` and `type`; the others' bytes must be there afterwards. */
static void one_wrong(MPI_File file, const void *buffer, MPI_Datatype type, int class)
{
    int data[COUNT], back[COUNT];
    MPI_Status status;
    int code;

    for (int i = 0; i < COUNT; i++)
        data[i] = rank * COUNT + i;
    if (rank == 1)
        code = MPI_File_write_at_all(file, (MPI_Offset)sizeof data * rank, buffer, COUNT, type, &status);
    else
        code = MPI_File_write_at_all(file, (MPI_Offset)sizeof data * rank, data, COUNT, MPI_INT, &status);
    expect(class_of(code) == (rank == 1 ? class : MPI_SUCCESS), "write_at_all on one rank with wrong arguments");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        return;
    expect(MPI_File_read_at(file, (MPI_Offset)sizeof data * rank, back, COUNT, MPI_INT, &status) == MPI_SUCCESS &&
               memcmp(data, back, sizeof data) == 0,
           "the others' bytes are in the file");
}

static void wrong_buffer(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype open_type;
    MPI_Status status;
    MPI_Request request;
    int value = rank, code;

    MPI_Type_contiguous(2, MPI_INT, &open_type); /* not committed */
    one_wrong(file, NULL, MPI_INT, MPI_ERR_BUFFER);
    one_wrong(file, &value, open_type, MPI_ERR_TYPE);
    one_wrong(file, &value, MPI_DATATYPE_NULL, MPI_ERR_TYPE);
    code = MPI_File_write_ordered(file, &value, rank == 1 ? -1 : 1, MPI_INT, &status);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_COUNT : MPI_SUCCESS), "write_ordered, one rank with a count of -1");
    code = MPI_File_write_all_begin(file, &value, rank == 1 ? -1 : 1, MPI_INT);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_COUNT : MPI_SUCCESS), "write_all_begin");
    if (code == MPI_SUCCESS)
        expect(MPI_File_write_all_end(file, &value, &status) == MPI_SUCCESS, "write_all_end");
    code = MPI_File_iwrite_all(file, &value, rank == 1 ? -1 : 1, MPI_INT, &request);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_COUNT : MPI_SUCCESS), "iwrite_all");
    if (code == MPI_SUCCESS)
        expect(MPI_Wait(&request, &status) == MPI_SUCCESS, "its end");
    expect(class_of(MPI_File_write_at(file, 0, NULL, 1, MPI_INT, &status)) == MPI_ERR_BUFFER, "an independent write");
    MPI_Type_free(&open_type);
    MPI_File_close(&file);
}

static void wrong_view(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    int lengths[2] = {1, 1}, backwards[2] = {4, 0}, code, value = rank;
    MPI_Datatype type;

    MPI_Type_indexed(2, lengths, backwards, MPI_INT, &type);
    MPI_Type_commit(&type);
    code = MPI_File_set_view(file, 0, MPI_INT, rank == 1 ? type : MPI_INT, "native", MPI_INFO_NULL);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_IO : MPI_ERR_OTHER), "a file type that goes backwards");
    code = MPI_File_set_view(file, rank == 1 ? -5 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_ARG : MPI_ERR_OTHER), "a negative displacement");
    code = MPI_File_set_view(file, 0, MPI_INT, rank == 1 ? MPI_BYTE : MPI_INT, "native", MPI_INFO_NULL);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_ARG : MPI_ERR_OTHER), "a file type that holds no etype");
    expect(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS, "a good one");
    expect(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "and a write");
    MPI_Type_free(&type);
    MPI_File_close(&file);
}

static const struct {
    const char *name;
    void (*run)(const char *name);
} cases[] = {
    {"no-server", no_server},         {"no-file", no_file},     {"exclusive", exclusive},
    {"not-directory", not_directory}, {"long-name", long_name}, {"bad-amode", bad_amode},
    {"read-only", read_only},         {"nonsense", nonsense},   {"wrong-buffer", wrong_buffer},
    {"wrong-view", wrong_view},
};

int main(int argc, char **argv)
{
    int all = 1, known = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            known = 1;
            cases[i].run(argv[2]);
        }
    MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return known && all == 0 ? 0 : 1;
}
