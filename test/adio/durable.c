/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job whose servers are killed and started again all the time: durable CASE FILE. With direct access
 * (on) or without (off): until the file
 * $RESTART_DIRECTORY/done exists, ranks write blocks of a common file, and a file of each rank's own, independently and
 * collectively, read and compare what they wrote before, cut their files and make and remove others. Nothing may fail.
 */
#include "cases.h"
#include <unistd.h>

enum { BLOCK = 24 << 10, BLOCKS = 40, SMALL = 700 };

static unsigned written[BLOCKS]; /* number that block i of this rank has, 0: none */
static char bytes[BLOCK], back[BLOCK];

static void fill(char *block, unsigned number)
{
    unsigned x = number * 2654435761u + (unsigned)rank * 40503u + 1;

    for (int i = 0; i < BLOCK; i++) {
        x = x * 1664525u + 1013904223u;
        block[i] = (char)(x >> 24);
    }
}

/* Blocks of all ranks alternate. */
static MPI_Offset place_of(int block)
{
    return ((MPI_Offset)block * ranks + rank) * BLOCK;
}

static void block_write(MPI_File file, int block, unsigned number, int collective)
{
    fill(bytes, number);
    int code = collective ? MPI_File_write_at_all(file, place_of(block), bytes, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE)
                          : MPI_File_write_at(file, place_of(block), bytes, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(class_of(code) == MPI_SUCCESS, "a block is written");
    written[block] = number;
}

static void block_check(MPI_File file, int block)
{
    MPI_Status status;
    int count = 0;

    expect(class_of(MPI_File_read_at(file, place_of(block), back, BLOCK, MPI_BYTE, &status)) == MPI_SUCCESS,
           "a block is read");
    MPI_Get_count(&status, MPI_BYTE, &count);
    fill(bytes, written[block]);
    expect(count == BLOCK && memcmp(bytes, back, BLOCK) == 0, "a block has what was written");
}

/* A file that gets longer, is cut, and removed. */
static void own_file(const char *name, unsigned number)
{
    char own[512];
    MPI_File file;
    MPI_Offset size = 0;

    snprintf(own, sizeof own, "%s.%d.%u", name, rank, number);
    expect(class_of(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) ==
               MPI_SUCCESS,
           "a file is made");
    fill(bytes, number);
    for (int i = 0; i < 20; i++)
        expect(class_of(MPI_File_write_at(file, (MPI_Offset)i * SMALL, bytes + i, SMALL, MPI_BYTE,
                                          MPI_STATUS_IGNORE)) == MPI_SUCCESS,
               "a small piece is written");
    expect(class_of(MPI_File_set_size(file, 10 * SMALL + 5)) == MPI_SUCCESS, "a file is cut");
    for (int i = 0; i < 10; i++) {
        expect(class_of(MPI_File_read_at(file, (MPI_Offset)i * SMALL, back, SMALL, MPI_BYTE, MPI_STATUS_IGNORE)) ==
                   MPI_SUCCESS,
               "a small piece is read");
        expect(memcmp(back, bytes + i, SMALL) == 0, "a small piece has what was written");
    }
    expect(class_of(MPI_File_get_size(file, &size)) == MPI_SUCCESS && size == 10 * SMALL + 5, "its size");
    expect(class_of(MPI_File_close(&file)) == MPI_SUCCESS, "a file is closed");
    /* a server that was killed may have removed it before it could say so */
    int code = class_of(MPI_File_delete(own, MPI_INFO_NULL));
    expect(code == MPI_SUCCESS || code == MPI_ERR_NO_SUCH_FILE, "a file is removed");
}

static int is_done(void)
{
    const char *directory = getenv("RESTART_DIRECTORY");
    char done[512];
    int is = 0;

    snprintf(done, sizeof done, "%s/done", directory ? directory : "");
    if (rank == 0)
        is = access(done, F_OK) == 0;
    MPI_Bcast(&is, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return is;
}

static int was_direct(MPI_File file)
{
    char value[MPI_MAX_INFO_VAL] = "";
    MPI_Info info;
    int found = 0;

    MPI_File_get_info(file, &info);
    MPI_Info_get(info, "themis_direct_used", MPI_MAX_INFO_VAL - 1, value, &found);
    MPI_Info_free(&info);
    return found && strcmp(value, "none") != 0;
}

static void go_on(const char *name, int direct)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    unsigned number = 0;

    srand((unsigned)rank + 1);
    while (!is_done()) {
        for (int i = 0; i < 12; i++) {
            int block = rand() % BLOCKS;
            if (written[block])
                block_check(file, block);
            block_write(file, block, ++number, 0);
        }
        own_file(name, number);
        block_write(file, (int)(number % BLOCKS), number + 1, 1);
        number++;
        if (number % 5 == 0)
            expect(class_of(MPI_File_sync(file)) == MPI_SUCCESS, "sync");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int block = 0; block < BLOCKS; block++)
        if (written[block])
            block_check(file, block);
    expect(was_direct(file) == direct, "bytes were moved in the way that is tested");
    expect(class_of(MPI_File_close(&file)) == MPI_SUCCESS, "close");
    if (rank == 0)
        printf("%u blocks of each rank\n", number);
}

static void go_on_directly(const char *name)
{
    go_on(name, 1);
}

static void go_on_by_messages(const char *name)
{
    go_on(name, 0);
}

int main(int argc, char **argv)
{
    static const test_case_t cases[] = {{"on", go_on_directly}, {"off", go_on_by_messages}};

    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
