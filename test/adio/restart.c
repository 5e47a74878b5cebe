/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program sees of servers that were killed and started again: restart CASE FILE. Rank 0 makes the file
 * $RESTART_DIRECTORY/ready when the servers are to be restarted, and waits for the file "done" there. $LOST_SERVER is
 * what a text has to name.
 */
#include "cases.h"
#include <stdint.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };
static const double in_time = 3.0; /* s; a second, and what a loaded machine adds */
static const MPI_Offset all_bytes = (MPI_Offset)4 * PIECE;

static void path_of(const char *name, char path[512])
{
    const char *directory = getenv("RESTART_DIRECTORY");

    snprintf(path, 512, "%s/%s", directory ? directory : ".", name);
}

static void tell_ready(void)
{
    char ready[512];

    MPI_Barrier(MPI_COMM_WORLD);
    path_of("ready", ready);
    FILE *made = rank == 0 ? fopen(ready, "w") : NULL;
    if (made)
        fclose(made);
}

static void await_done(void)
{
    char done[512];

    path_of("done", done);
    while (rank == 0 && access(done, F_OK) != 0)
        usleep(10000);
    if (rank == 0)
        remove(done);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void await_restart(void)
{
    tell_ready();
    await_done();
}

static void expect_lost(int code, double start, const char *what)
{
    double took = MPI_Wtime() - start;
    const char *server = getenv("LOST_SERVER");

    expect(class_of(code) == MPI_ERR_IO, what);
    expect(server && strstr(text, server) && strstr(text, "gone"), "the text names the server, and what has happened");
    expect(took < in_time, "in time");
}

/* Each rank writes its piece of the file, and keeps what it wrote. */
static MPI_File write_file(const char *name, char *bytes)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);

    memset(bytes, 'a' + rank, PIECE);
    expect(class_of(MPI_File_write_at_all(file, (MPI_Offset)rank * PIECE, bytes, PIECE, MPI_BYTE, MPI_STATUS_IGNORE)) ==
               MPI_SUCCESS,
           "a write");
    return file;
}

/* One server of several has another store. Rank 1 alone has written; each rank accesses all servers. */
static void lost_store(const char *name)
{
    static char bytes[4 * PIECE];
    MPI_File file = write_file(name, bytes);
    MPI_Offset size;
    double start;
    int at_once;

    await_restart();
    at_once = (int)all_bytes;
#define LOST(what, call) (MPI_Barrier(MPI_COMM_WORLD), start = MPI_Wtime(), expect_lost((call), start, what))
    LOST("a collective write fails", MPI_File_write_at_all(file, 0, bytes, at_once, MPI_BYTE, MPI_STATUS_IGNORE));
    LOST("a write fails", MPI_File_write_at(file, 0, bytes, at_once, MPI_BYTE, MPI_STATUS_IGNORE));
    LOST("a read fails", MPI_File_read_at(file, 0, bytes, at_once, MPI_BYTE, MPI_STATUS_IGNORE));
    LOST("a collective read fails", MPI_File_read_at_all(file, 0, bytes, at_once, MPI_BYTE, MPI_STATUS_IGNORE));
    LOST("its size is unknown", MPI_File_get_size(file, &size));
    LOST("it cannot be resized", MPI_File_set_size(file, all_bytes));
    LOST("sync fails", MPI_File_sync(file));
    LOST("close fails", MPI_File_close(&file));
}

/* The first thing that is done is to sync, or to close. */
static void lost_sync(const char *name)
{
    static char bytes[PIECE];
    MPI_File file = write_file(name, bytes);
    double start;

    await_restart();
    LOST("sync fails", MPI_File_sync(file));
    LOST("sync fails again", MPI_File_sync(file));
    LOST("close fails", MPI_File_close(&file));
}

static void lost_close(const char *name)
{
    static char bytes[PIECE];
    MPI_File file = write_file(name, bytes);
    double start;

    await_restart();
    LOST("close fails", MPI_File_close(&file));
}

static void kept(const char *name)
{
    static char bytes[PIECE], seen[4 * PIECE];
    MPI_File file = write_file(name, bytes);
    MPI_Status status;
    int count, right = 1;

    await_restart();
    expect(class_of(MPI_File_sync(file)) == MPI_SUCCESS, "sync");
    expect(class_of(MPI_File_write_at(file, (MPI_Offset)rank * PIECE, bytes, PIECE / 2, MPI_BYTE, MPI_STATUS_IGNORE)) ==
               MPI_SUCCESS,
           "a write");
    expect(class_of(MPI_File_sync(file)) == MPI_SUCCESS, "sync after a write");
    MPI_Barrier(MPI_COMM_WORLD);
    expect(class_of(MPI_File_read_at_all(file, 0, seen, ranks * PIECE, MPI_BYTE, &status)) == MPI_SUCCESS, "a read");
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == ranks * PIECE, "all bytes are read");
    for (int i = 0; i < ranks * PIECE; i++)
        right &= seen[i] == 'a' + i / PIECE;
    expect(right, "they are those that were written");
    expect(class_of(MPI_File_close(&file)) == MPI_SUCCESS, "close");
}

enum { TURNS = 60, RECORDS = 1 << 20 };

static int is_uniform(const char *bytes)
{
    for (int i = 1; i < PIECE; i++)
        if (bytes[i] != bytes[0])
            return 0;
    return 1;
}

static void expect_records(MPI_File file)
{
    static int64_t records[RECORDS / sizeof(int64_t)];
    static char seen[RECORDS / sizeof(int64_t)];
    MPI_Status status;
    int count, right = 1;

    expect(class_of(MPI_File_read_at(file, 0, records, ranks * TURNS * (int)sizeof *records, MPI_BYTE, &status)) ==
               MPI_SUCCESS,
           "the records are read");
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == ranks * TURNS * (int)sizeof *records, "all of them");
    for (int i = 0; i < ranks * TURNS; i++)
        right &= records[i] > 0 && records[i] <= ranks * TURNS && !seen[records[i]]++;
    expect(right, "each is there once");
}

/* By the shared file pointer, and in atomic mode, while servers are restarted several times. */
static void shared(const char *name)
{
    static char bytes[PIECE], seen[PIECE];
    MPI_File file = write_file(name, bytes);
    int uniform = 1, failed = 0;

    expect(class_of(MPI_File_set_atomicity(file, 1)) == MPI_SUCCESS, "atomic mode");
    tell_ready();
    for (int i = 0; i < TURNS; i++) {
        const int64_t record = (int64_t)rank * TURNS + i + 1;
        failed += class_of(MPI_File_write_shared(file, &record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE)) != 0;
        failed += class_of(MPI_File_write_at(file, RECORDS, bytes, PIECE, MPI_BYTE, MPI_STATUS_IGNORE)) != 0;
        failed += class_of(MPI_File_read_at(file, RECORDS, seen, PIECE, MPI_BYTE, MPI_STATUS_IGNORE)) != 0;
        uniform &= is_uniform(seen);
        usleep(20000);
    }
    expect(failed == 0, "no operation fails");
    expect(uniform, "writes of two ranks do not mix");
    MPI_Barrier(MPI_COMM_WORLD);
    expect_records(file);
    await_done();
    expect(class_of(MPI_File_close(&file)) == MPI_SUCCESS, "close");
}

int main(int argc, char **argv)
{
    static const test_case_t cases[] = {{"lost-store", lost_store},
                                        {"lost-sync", lost_sync},
                                        {"lost-close", lost_close},
                                        {"kept", kept},
                                        {"shared", shared}};

    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
