/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Visibility of writes that have returned, for programs that never call MPI_File_sync. Each scene writes small blocks,
 * poisons its buffer before each read, and counts the blocks that are not what was written last. Ranks are delayed in
 * turn.
 *
 *   mpirun -n N ./order FILE [SCENE...]     without a scene: all that such a file must pass
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, WORDS = BLOCK / sizeof(int), BLOCKS = 50, FILL = 1 << 24, POISON = 0xa5 };

static int rank, ranks, next_rank;
static int wrong, checked; /* blocks, in this scene */

static void need(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Block `owner` of group `group`; each group has a block for each rank. */
static MPI_Offset place(int group, int owner)
{
    return ((MPI_Offset)group * ranks + owner) * BLOCK;
}

static const int *content(int value)
{
    static int block[WORDS];

    for (size_t i = 0; i < WORDS; i++)
        block[i] = value + (int)i;
    return block;
}

/* What a rank writes into its block of a group. */
static int mark(int group, int owner)
{
    return (group * ranks + owner + 1) * (int)WORDS;
}

static void delay_in_turn(int turn)
{
    if (turn % ranks == rank)
        usleep((useconds_t)(turn % 7) * 300);
}

static MPI_File open_file(MPI_Comm comm, const char *name, int more)
{
    MPI_File file;

    need(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | more, MPI_INFO_NULL, &file), "open");
    return file;
}

static void write_all(MPI_File file, int group, int owner, int value)
{
    need(MPI_File_write_at_all(file, place(group, owner), content(value), BLOCK, MPI_BYTE, MPI_STATUS_IGNORE),
         "write_at_all");
}

static void write_alone(MPI_File file, int group, int owner, int value)
{
    need(MPI_File_write_at(file, place(group, owner), content(value), BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
}

typedef enum reading { ALONE, COLLECTIVE } reading_t;

static void read_block(MPI_File file, reading_t how, MPI_Offset at, int *block, int *got)
{
    MPI_Status status;

    memset(block, POISON, BLOCK);
    if (how == COLLECTIVE)
        need(MPI_File_read_at_all(file, at, block, BLOCK, MPI_BYTE, &status), "read_at_all");
    else
        need(MPI_File_read_at(file, at, block, BLOCK, MPI_BYTE, &status), "read_at");
    MPI_Get_count(&status, MPI_BYTE, got);
}

static void check_block(MPI_File file, reading_t how, int group, int owner, int value)
{
    int block[WORDS], got;

    read_block(file, how, place(group, owner), block, &got);
    checked++;
    wrong += got != BLOCK || memcmp(block, content(value), BLOCK) != 0;
}

static void check_all(MPI_File file, reading_t how, int owner)
{
    for (int i = 0; i < BLOCKS; i++)
        check_block(file, how, i, owner, mark(i, owner));
}

/* --- scenes, each with a new file --------------------------------------------------------------------------------- */

/* Each block is filled by one rank, and then written by another one. */
static void fill_then_write(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        write_all(file, i, next_rank, FILL);
        delay_in_turn(i + 1);
        write_all(file, i, rank, mark(i, rank));
    }
    check_all(file, COLLECTIVE, rank);
    check_all(file, COLLECTIVE, next_rank);
    check_all(file, ALONE, next_rank);
}

static void one_rank_reads(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++)
        write_all(file, i, rank, mark(i, rank));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        check_all(file, ALONE, next_rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A second time with a handle of this rank's alone. */
static void second_handle(MPI_File file, const char *name)
{
    MPI_File second = open_file(MPI_COMM_WORLD, name, 0), own = open_file(MPI_COMM_SELF, name, 0);

    for (int i = 0; i < BLOCKS; i++)
        write_all(file, i, rank, mark(i, rank));
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(second, ALONE, next_rank);
    check_all(own, COLLECTIVE, next_rank);
    MPI_File_close(&own);
    MPI_File_close(&second);
}

/* Five at a time are under way. */
static void iwrite_all(MPI_File file, const char *name)
{
    enum { AT_ONCE = 5 };
    int block[AT_ONCE][WORDS];
    MPI_Request request[AT_ONCE];
    MPI_Status status[AT_ONCE];

    for (int i = 0; i < BLOCKS; i++) {
        int n = i % AT_ONCE;

        delay_in_turn(i);
        memcpy(block[n], content(mark(i, rank)), BLOCK);
        need(MPI_File_iwrite_at_all(file, place(i, rank), block[n], BLOCK, MPI_BYTE, &request[n]), "iwrite_at_all");
        if (n == AT_ONCE - 1)
            need(MPI_Waitall(AT_ONCE, request, status), "waitall");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(file, ALONE, next_rank);
}

static void split(MPI_File file, const char *name)
{
    int block[WORDS];

    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        memcpy(block, content(mark(i, rank)), BLOCK);
        need(MPI_File_write_at_all_begin(file, place(i, rank), block, BLOCK, MPI_BYTE), "write_at_all_begin");
        need(MPI_File_write_at_all_end(file, block, MPI_STATUS_IGNORE), "write_at_all_end");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(file, ALONE, next_rank);
}

static void ordered(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        need(MPI_File_write_ordered(file, content(mark(i, rank)), BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(file, ALONE, next_rank);
}

/* The order in which ranks write decides which block is whose; each rank has to find all that the next one wrote. */
static void shared(MPI_File file, const char *name)
{
    int block[WORDS], got, found = 0;

    for (int i = 0; i < BLOCKS; i++)
        need(MPI_File_write_shared(file, content(mark(0, rank)), BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_shared");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BLOCKS * ranks; i++) {
        read_block(file, ALONE, place(0, i), block, &got);
        found += got == BLOCK && memcmp(block, content(mark(0, next_rank)), BLOCK) == 0;
    }
    checked += BLOCKS;
    wrong += BLOCKS - found;
}

static void alone_then_collective(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        write_alone(file, 0, next_rank, mark(i, next_rank));
        MPI_Barrier(MPI_COMM_WORLD);
        check_block(file, COLLECTIVE, 0, rank, mark(i, rank));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Only the collective calls synchronise the ranks. */
static void header(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        write_all(file, i + 1, rank, mark(i + 1, rank));
        if (rank == 0) {
            usleep(1000);
            write_alone(file, 0, 0, mark(i, 0));
        }
        check_block(file, COLLECTIVE, 0, 0, mark(i, 0));
    }
}

static void atomic_header(MPI_File file, const char *name)
{
    need(MPI_File_set_atomicity(file, 1), "set_atomicity");
    header(file, name);
}

/* The same with a non-blocking read, which the others begin before rank 0 has written. */
static void header_iread(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++) {
        int block[WORDS];
        MPI_Request request;

        memset(block, POISON, BLOCK);
        if (rank == 0) {
            usleep(1000);
            write_alone(file, 0, 0, mark(i, 0));
        }
        need(MPI_File_iread_at_all(file, 0, block, BLOCK, MPI_BYTE, &request), "iread_at_all");
        need(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
        checked++;
        wrong += memcmp(block, content(mark(i, 0)), BLOCK) != 0;
    }
}

/* Three writes of the same block under way, each by another rank, and a read behind them. */
static void in_turn(MPI_File file, const char *name)
{
    enum { WRITES = 3 };

    for (int i = 0; i < BLOCKS; i++) {
        int block[WRITES + 1][WORDS];
        MPI_Request request[WRITES + 1];
        MPI_Status status[WRITES + 1];

        delay_in_turn(i);
        memset(block[WRITES], POISON, BLOCK);
        for (int n = 0; n < WRITES; n++) {
            memcpy(block[n], content(mark(i + n, 0)), BLOCK);
            need(MPI_File_iwrite_at_all(file, place(i, 0), block[n], rank == n % ranks ? BLOCK : 0, MPI_BYTE,
                                        &request[n]),
                 "iwrite_at_all");
        }
        need(MPI_File_iread_at_all(file, place(i, 0), block[WRITES], BLOCK, MPI_BYTE, &request[WRITES]),
             "iread_at_all");
        need(MPI_Waitall(WRITES + 1, request, status), "waitall");
        checked++;
        wrong += memcmp(block[WRITES], content(mark(i + WRITES - 1, 0)), BLOCK) != 0;
    }
}

static void size(MPI_File file, const char *name)
{
    MPI_Offset bytes;

    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        write_all(file, i, rank, mark(i, rank));
        MPI_Barrier(MPI_COMM_WORLD);
        need(MPI_File_get_size(file, &bytes), "get_size");
        checked++;
        wrong += bytes != place(i + 1, 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* No message between the ranks: when a collective call has ended for one rank, the I/O of all is done. */
static void over_for_all(MPI_File file, const char *name)
{
    for (int i = 0; i < BLOCKS; i++) {
        delay_in_turn(i);
        write_all(file, i, rank, mark(i, rank));
        check_block(file, ALONE, i, next_rank, mark(i, next_rank));
        delay_in_turn(i + 1);
        check_block(file, COLLECTIVE, i, next_rank, mark(i, next_rank));
        write_alone(file, i, rank, FILL);
    }
}

typedef struct scene {
    const char *name;
    void (*run)(MPI_File file, const char *name);
    int ours; /* 1: more than ROMIO's own drivers do */
} scene_t;

static const scene_t scenes[] = {{"fill-then-write", fill_then_write, 0},
                                 {"one-rank-reads", one_rank_reads, 0},
                                 {"second-handle", second_handle, 0},
                                 {"iwrite-all", iwrite_all, 0},
                                 {"split", split, 0},
                                 {"ordered", ordered, 0},
                                 {"shared", shared, 0},
                                 {"alone-then-collective", alone_then_collective, 0},
                                 {"header", header, 0},
                                 {"header-iread", header_iread, 0},
                                 {"in-turn", in_turn, 1},
                                 {"atomic-header", atomic_header, 0},
                                 {"size", size, 0},
                                 {"over-for-all", over_for_all, 1}};

static int play(const scene_t *scene, const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, MPI_MODE_DELETE_ON_CLOSE);

    wrong = checked = 0;
    scene->run(file, name);
    need(MPI_File_close(&file), "close");
    if (wrong)
        printf("%s: rank %d: %d of %d blocks are wrong\n", scene->name, rank, wrong, checked);
    fflush(stdout);
    return wrong;
}

/* Without names: all scenes; those that only our driver promises, on themis: alone. */
static int is_selected(const scene_t *scene, int count, char **words)
{
    int named = count == 2 && (!scene->ours || strncmp(words[1], "themis:", 7) == 0);

    for (int i = 2; i < count; i++)
        named |= strcmp(scene->name, words[i]) == 0;
    return named;
}

int main(int count, char **words)
{
    int played = 0, sum = 0, all;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next_rank = (rank + 1) % ranks;
    for (size_t i = 0; count > 1 && i < sizeof scenes / sizeof *scenes; i++)
        if (is_selected(&scenes[i], count, words)) {
            played++;
            sum += play(&scenes[i], words[1]);
        }
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("order: %d scenes, %d ranks, %s: %d blocks are wrong\n", played, ranks, words[1], all);
    MPI_Finalize();
    return played == 0 || all != 0;
}
