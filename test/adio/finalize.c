/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that a library closes in MPI_Finalize, in a delete callback of an attribute of MPI_COMM_SELF, as HDF5 does.
 *
 *   finalize CASE FILE...
 *
 * Each rank has a block of upper-case letters in the first part of a file and one of lower-case letters in the second;
 * each case says which parts it writes. The callback runs after those of attributes that are set later.
 */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include "cases.h"

enum { BLOCK = 100000, MOST = 8 };

static char **names;
static MPI_File files[MOST];
static MPI_Fint handles[MOST]; /* Fortran's, in the case "fortran" */
static int count, called;
static char block[BLOCK];

static int ok(int code)
{
    return class_of(code) == MPI_SUCCESS;
}

/* Part 0 or 1 of a file, collectively. */
static void part_write(MPI_File file, int part)
{
    memset(block, (part ? 'a' : 'A') + rank, BLOCK);
    expect(ok(MPI_File_write_at_all(file, (MPI_Offset)BLOCK * (part * ranks + rank), block, BLOCK, MPI_BYTE,
                                    MPI_STATUS_IGNORE)),
           "collective write");
}

static void part_read(MPI_File file, int part)
{
    int other = (rank + 1) % ranks;

    memset(block, 0, BLOCK);
    expect(ok(MPI_File_read_at(file, (MPI_Offset)BLOCK * (part * ranks + other), block, BLOCK, MPI_BYTE,
                               MPI_STATUS_IGNORE)),
           "read");
    expect(block[0] == (part ? 'a' : 'A') + other && block[BLOCK - 1] == block[0], "the other rank's block");
}

static void all_open(void)
{
    for (int i = 0; i < count; i++)
        files[i] = open_ok(names[i], MPI_MODE_CREATE | MPI_MODE_RDWR);
}

static void all_write(int part)
{
    for (int i = 0; i < count; i++)
        part_write(files[i], part);
}

static void all_close(void)
{
    for (int i = 0; i < count; i++)
        expect(ok(MPI_File_close(&files[i])) && files[i] == MPI_FILE_NULL, "close");
}

/* --- what a callback does ---------------------------------------------------------------------------------------- */

static void in_use(void)
{
    MPI_Offset size = 0;

    for (int i = 0; i < count; i++) {
        memset(block, 'a' + rank, BLOCK);
        expect(ok(MPI_File_write_at(files[i], (MPI_Offset)BLOCK * (ranks + rank), block, BLOCK, MPI_BYTE,
                                    MPI_STATUS_IGNORE)),
               "write");
        expect(ok(MPI_File_sync(files[i])), "sync");
        MPI_Barrier(MPI_COMM_WORLD);
        expect(ok(MPI_File_get_size(files[i], &size)) && size == (MPI_Offset)BLOCK * 2 * ranks, "size");
        part_read(files[i], 0);
        part_read(files[i], 1);
        expect(class_of(MPI_File_read_at(files[i], -1, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_ARG,
               "a negative offset is MPI_ERR_ARG");
    }
    all_close();
}

/* The shared file pointer, used for the first time: ROMIO opens a hidden file of each rank's own. */
static void shared_pointer(void)
{
    MPI_Offset at = 0;
    char byte = 0;

    for (int i = 0; i < count; i++) {
        expect(ok(MPI_File_read_shared(files[i], &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) && byte == 'A',
               "read at the shared pointer");
        MPI_Barrier(MPI_COMM_WORLD);
        expect(ok(MPI_File_get_position_shared(files[i], &at)) && at == ranks, "position of the shared pointer");
    }
    all_close();
}

/* As Fortran's MPI_FILE_CLOSE does it. */
static void fortran_close(void)
{
    for (int i = 0; i < count; i++) {
        files[i] = MPI_File_f2c(handles[i]);
        expect(files[i] != MPI_FILE_NULL, "a file for Fortran's handle");
    }
    all_close();
}

static void open_and_write(void)
{
    all_open();
    all_write(0);
    all_write(1);
    all_close();
}

/* Each rank opens files of its own: the names with its rank appended. */
static void open_own(void)
{
    char name[4096];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.%d", names[i], rank);
        memset(block, 'A', BLOCK);
        if (!ok(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[i]))) {
            expect(0, "open of an own file");
            continue;
        }
        expect(ok(MPI_File_write_at(files[i], 0, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE)), "write");
        expect(ok(MPI_File_close(&files[i])), "close");
    }
}

static void servers_kill(void)
{
    const char *pids = getenv("SERVER_PIDS");

    MPI_Barrier(MPI_COMM_WORLD);
    for (char *end; rank == 0 && pids && *pids; pids = end) {
        pid_t pid = (pid_t)strtol(pids, &end, 10);

        if (end == pids)
            break;
        kill(pid, SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void failing_close(void)
{
    servers_kill();
    for (int i = 0; i < count; i++)
        expect(class_of(MPI_File_close(&files[i])) == MPI_ERR_IO, "a close without servers is MPI_ERR_IO");
}

/* --- cases: what is done before MPI_Finalize, and in it -----------------------------------------------------------*/

enum order { EARLY, LATE }; /* the attribute is set before the first file is opened, or after */

static const struct {
    const char *name;
    enum order order;
    int opens;           /* 1: the files are opened, and the first part written, before MPI_Finalize */
    int closes;          /* 1: and closed */
    void (*after)(void); /* in the callback; NULL: nothing */
} cases[] = {
    {"closed", EARLY, 1, 0, all_close},
    {"closed-late", LATE, 1, 0, all_close},
    {"used", EARLY, 1, 0, in_use},
    {"used-late", LATE, 1, 0, in_use},
    {"shared", EARLY, 1, 0, shared_pointer},
    {"fortran", EARLY, 1, 0, fortran_close},
    {"never", EARLY, 1, 0, NULL},
    {"opened", EARLY, 1, 1, open_and_write},
    {"opened-first", EARLY, 0, 0, open_and_write},
    {"opened-own", EARLY, 1, 1, open_own},
    {"opened-own-first", EARLY, 0, 0, open_own},
    {"gone", EARLY, 1, 0, failing_close},
    {"never-gone", EARLY, 1, 0, servers_kill},
};

static int callback(MPI_Comm comm, int keyval, void *value, void *extra)
{
    void (*after)(void) = *(void (*const *)(void))extra;

    called++;
    if (after)
        after();
    return MPI_SUCCESS;
}

static int nothing(MPI_Comm comm, int keyval, void *value, void *extra)
{
    called++;
    return MPI_SUCCESS;
}

static void attribute_set(MPI_Comm_delete_attr_function *function, const void *extra)
{
    int keyval = MPI_KEYVAL_INVALID;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &keyval, (void *)extra);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Comm_free_keyval(&keyval);
}

int main(int argc, char **argv)
{
    size_t which = 0, known = sizeof cases / sizeof *cases;

    while (argc > 2 && which < known && strcmp(cases[which].name, argv[1]) != 0)
        which++;
    if (argc < 3 || argc > 2 + MOST || which == known) {
        fprintf(stderr, "finalize CASE FILE...\n");
        return 2;
    }
    names = argv + 2;
    count = argc - 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (cases[which].order == EARLY)
        attribute_set(callback, &cases[which].after);
    if (cases[which].opens) {
        all_open();
        all_write(0);
    }
    for (int i = 0; i < count && cases[which].after == fortran_close; i++)
        handles[i] = MPI_File_c2f(files[i]);
    if (cases[which].closes)
        all_close();
    if (cases[which].opens && !cases[which].after)
        for (int i = 0; i < count; i++)
            expect(ok(MPI_File_sync(files[i])), "sync");
    if (cases[which].order == LATE)
        attribute_set(callback, &cases[which].after);
    attribute_set(nothing, NULL);
    MPI_Finalize();
    expect(called == 2, "both callbacks were called");
    return faults != 0;
}
