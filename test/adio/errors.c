/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors that a program sees: errors CASE FILE. No case hangs, whatever one rank did wrong.
 */
#include "cases.h"
#include <sys/mman.h>
#include <unistd.h>

static void expect_open(const char *name, int amode, int class, const char *mention)
{
    MPI_File file = MPI_FILE_NULL;

    expect(open_class(name, amode, MPI_INFO_NULL, &file) == class, "the class of the error");
    expect(!mention || strstr(text, mention), "the text names what is at fault");
    if (file != MPI_FILE_NULL)
        MPI_File_close(&file);
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

/* One of two servers is lost: opens that need it fail in time, the others succeed. The names spread over both. */
static void half_dead(const char *name)
{
    int failed = 0;

    for (int i = 0; i < 8 && failed == 0; i++) {
        double start = MPI_Wtime();
        MPI_File file = MPI_FILE_NULL;
        char path[256];
        int class;

        snprintf(path, sizeof path, "%s%d", name, i);
        class = open_class(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        expect(class == MPI_SUCCESS || class == MPI_ERR_IO, "MPI_ERR_IO or success");
        expect(MPI_Wtime() - start < 10, "within 10 s");
        failed = class != MPI_SUCCESS;
        if (file != MPI_FILE_NULL)
            MPI_File_close(&file);
    }
    expect(failed, "a name that needs the other server does not open");
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

/* The file exists and may not be written. */
static void no_access(const char *name)
{
    MPI_File file;
    char byte;

    expect_open(name, MPI_MODE_RDWR, MPI_ERR_ACCESS, strchr(name, '/'));
    file = open_ok(name, MPI_MODE_RDONLY);
    expect(class_of(MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_SUCCESS, "read");
    MPI_File_close(&file);
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

/* --- one rank's arguments are wrong --- */

enum { COUNT = 1000 };

/* A collective write in which rank 1 gives `buffer` and `type`; the others' bytes must have been written. */
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
    code = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, rank == 1 ? "nonsense" : "native", MPI_INFO_NULL);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_UNSUPPORTED_DATAREP : MPI_ERR_OTHER),
           "an unknown data representation");
    code = MPI_File_set_view(file, rank == 1 ? MPI_DISPLACEMENT_CURRENT : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_ARG : MPI_ERR_OTHER), "MPI_DISPLACEMENT_CURRENT");
    expect(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS, "a good one");
    expect(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "and a write");
    MPI_Type_free(&type);
    MPI_File_close(&file);
}

/* In a sequential file only MPI_DISPLACEMENT_CURRENT is right. */
static void sequential_view(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    MPI_Offset current = MPI_DISPLACEMENT_CURRENT;
    int code, value = rank;

    code = MPI_File_set_view(file, rank == 1 ? 0 : current, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    expect(class_of(code) == (rank == 1 ? MPI_ERR_ARG : MPI_ERR_OTHER), "a displacement in a sequential file");
    expect(MPI_File_set_view(file, current, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS,
           "the current one");
    expect(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "and a write");
    MPI_File_close(&file);
}

/* The file is of a user who may have less than all ranks write, and something. */
static void over_quota(const char *name)
{
    enum { BYTES = 8 << 20, FEW = 64 << 10 };
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset mine = (MPI_Offset)rank * BYTES;
    char *bytes = calloc(1, BYTES);
    int code = MPI_File_preallocate(file, (MPI_Offset)ranks * BYTES);

    expect(class_of(code) == MPI_ERR_QUOTA && strstr(text, "quota exceeded: user"), "preallocate");
    code = MPI_File_write_at_all(file, mine, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(class_of(code) == MPI_ERR_QUOTA && strstr(text, "quota exceeded: user"), "a collective write");
    code = MPI_File_write_at(file, mine + ((MPI_Offset)1 << 30), bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(class_of(code) == MPI_ERR_QUOTA && strstr(text, "quota exceeded: user"), "an independent write");
    expect(class_of(MPI_File_set_size(file, 0)) == MPI_SUCCESS, "to empty the file");
    sleep(2); /* by then all servers know */
    code = MPI_File_write_at_all(file, mine, bytes, FEW, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(class_of(code) == MPI_SUCCESS, "what fits");
    expect(class_of(MPI_File_close(&file)) == MPI_SUCCESS, "close");
    free(bytes);
}

/* Arguments that must be the same on all ranks, and differ, or are wrong on one. */
static void wrong_argument(const char *name)
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Offset at = -1;
    int code, value = rank, one = rank == 1;
    char deeper[256];

    code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | (one ? MPI_MODE_RDONLY : 0),
                         MPI_INFO_NULL, &file);
    expect(class_of(code) == (one ? MPI_ERR_AMODE : MPI_ERR_NOT_SAME), "a wrong mode");
    file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    expect(class_of(MPI_File_set_size(file, one ? -5 : 100)) == (one ? MPI_ERR_ARG : MPI_ERR_NOT_SAME), "set_size");
    expect(class_of(MPI_File_set_size(file, 100 + rank)) == MPI_ERR_NOT_SAME, "differing sizes");
    expect(class_of(MPI_File_preallocate(file, one ? -5 : 100)) == (one ? MPI_ERR_ARG : MPI_ERR_NOT_SAME),
           "preallocate");
    expect(class_of(MPI_File_preallocate(file, (MPI_Offset)1 << 50)) == MPI_ERR_NO_SPACE, "too much, on all ranks");
    code = MPI_File_seek_shared(file, one ? -5 : 3, MPI_SEEK_SET);
    expect(class_of(code) == (one ? MPI_ERR_ARG : MPI_ERR_NOT_SAME), "seek_shared");
    code = MPI_File_seek_shared(file, 3, one ? 12345 : MPI_SEEK_SET);
    expect(class_of(code) == (one ? MPI_ERR_ARG : MPI_ERR_NOT_SAME), "seek_shared, from nowhere");
    expect(class_of(MPI_File_seek_shared(file, -5, MPI_SEEK_CUR)) == MPI_ERR_ARG, "seek_shared to before the start");
    expect(class_of(MPI_File_set_atomicity(file, one)) == MPI_ERR_NOT_SAME, "set_atomicity");
    expect(class_of(MPI_File_set_size(file, 40)) == MPI_SUCCESS, "a good size");
    expect(class_of(MPI_File_preallocate(file, 4000)) == MPI_SUCCESS, "good space");
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    expect(class_of(MPI_File_seek_shared(file, -1, MPI_SEEK_END)) == MPI_SUCCESS, "a good seek");
    MPI_File_get_position_shared(file, &at);
    expect(at == 999, "from the end");
    MPI_Barrier(MPI_COMM_WORLD); /* all ranks have queried it */
    expect(class_of(MPI_File_seek_shared(file, -9, MPI_SEEK_CUR)) == MPI_SUCCESS, "another");
    expect(class_of(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_SUCCESS, "and a write");
    MPI_File_get_position_shared(file, &at);
    expect(at == 990 + ranks, "which moves it");
    MPI_File_close(&file);
    snprintf(deeper, sizeof deeper, "%s/below", name);
    expect_open(deeper, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_ERR_BAD_FILE, NULL);
}

/* --- unmapped memory --- */

enum { LARGEST = 200000 };

/* Rank 1 gives `nowhere` to collective calls; all give it to independent ones. */
static void bad_address(MPI_File file, int bytes, char *nowhere)
{
    static char data[LARGEST];
    MPI_Offset at = (MPI_Offset)bytes * rank;
    char *buffer = rank == 1 ? nowhere : data;
    MPI_Request request;
    int class;

    class = class_of(MPI_File_write_at_all(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER || (rank != 1 && class == MPI_SUCCESS), "a collective write");
    class = class_of(MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    expect(class == MPI_SUCCESS, "a good one");
    class = class_of(MPI_File_read_at_all(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER || (rank != 1 && class == MPI_SUCCESS), "a collective read");
    class = class_of(MPI_File_write_at(file, at, nowhere, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER && strstr(text, "uffer"), "a write");
    class = class_of(MPI_File_read_at(file, at, nowhere, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER, "a read");
    class = class_of(MPI_File_iwrite_at(file, at, nowhere, bytes, MPI_BYTE, &request));
    if (class == MPI_SUCCESS)
        class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER, "a write that does not block");
}

/* Pieces with gaps: below 512 bytes each, this process packs them. */
static void bad_pieces(MPI_File file, char *nowhere)
{
    static char data[LARGEST];
    MPI_Datatype type;
    int class;

    MPI_Type_vector(64, 16, 48, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    class = class_of(MPI_File_write_at_all(file, 4096 * rank, rank == 1 ? nowhere : data, 1, type, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER || (rank != 1 && class == MPI_SUCCESS), "a collective write of pieces");
    class = class_of(MPI_File_write_at(file, 4096 * rank, nowhere, 1, type, MPI_STATUS_IGNORE));
    expect(class == MPI_ERR_BUFFER, "a write of pieces");
    MPI_Type_free(&type);
}

/* As lists, in two phases, automatic, and through the cache; sizes that are cached, packed, and pulled by the server.
 */
static void wrong_address(const char *name)
{
    static const char *const modes[][2] = {{"list", "off"}, {"twophase", "off"}, {"auto", "auto"}, {"auto", "on"}};
    static const int sizes[] = {100, 5000, 40000, LARGEST};
    char *room = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *nowhere[] = {(char *)4096, room + (1 << 19), (char *)-65536};

    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (size_t n = 0; n < sizeof nowhere / sizeof *nowhere; n++) {
            const char *const hints[][2] = {{"themis_collective", modes[m][0]}, {"themis_cache", modes[m][1]}};
            MPI_File file = open_hinted(name, 2, hints);

            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                bad_address(file, sizes[i], nowhere[n]);
            bad_pieces(file, nowhere[n]);
            MPI_File_close(&file);
        }
    munmap(room, 1 << 20);
}

/* The hidden file of the shared pointer, and what MPI_MODE_DELETE_ON_CLOSE deletes, are on the servers of the
 * hint, although the name is too long to have the list of servers in front of the path. */
static void long_list(const char *name)
{
    const char *const hint[][2] = {{"themis_servers", getenv("LONG_LIST")}};
    MPI_File file = open_hinted(name, 1, hint);
    MPI_Offset at = -1;
    int value = rank;

    expect(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_ordered");
    expect(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == 4 * ranks, "where it is");
    expect(class_of(MPI_File_close(&file)) == MPI_SUCCESS, "it is deleted");
}

static const test_case_t cases[] = {
    {"no-server", no_server},       {"half-dead", half_dead},           {"no-file", no_file},
    {"exclusive", exclusive},       {"not-directory", not_directory},   {"long-name", long_name},
    {"bad-amode", bad_amode},       {"read-only", read_only},           {"no-access", no_access},
    {"wrong-buffer", wrong_buffer}, {"wrong-view", wrong_view},         {"sequential-view", sequential_view},
    {"over-quota", over_quota},     {"wrong-argument", wrong_argument}, {"wrong-address", wrong_address},
    {"long-list", long_list},
};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
