/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of MPI-IO that ROMIO's own programs do not test: features CASE FILE. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "cases.h"

static MPI_File open_file(const char *name)
{
    return open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

/* Big-endian bytes in the file, whatever the machine has. */
static void external32(const char *name)
{
    MPI_File file = open_file(name);
    int32_t value = 0x01020304 + rank, back = 0;
    unsigned char bytes[4];

    MPI_File_set_view(file, 0, MPI_INT32_T, MPI_INT32_T, "external32", MPI_INFO_NULL);
    expect(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT32_T, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    expect(MPI_File_read_at_all(file, rank, &back, 1, MPI_INT32_T, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read");
    expect(back == value, "the value comes back");
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    expect(MPI_File_read_at(file, 4 * rank, bytes, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "raw read");
    expect(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4 + rank, "its bytes are big-endian");
    MPI_File_close(&file);
}

/* CPU seconds of this process. */
static double cpu(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* A slow server: MPI_Wait uses little CPU time, and a write makes progress without calls. */
static void waiting(const char *name)
{
    enum { BYTES = 32 << 20 };
    MPI_File file = open_file(name);
    char *data = malloc(BYTES);
    double start, used, took;
    MPI_Request request;

    memset(data, 1, BYTES);
    start = MPI_Wtime();
    used = cpu();
    MPI_File_iwrite_at(file, (MPI_Offset)BYTES * rank, data, BYTES, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took = MPI_Wtime() - start;
    used = cpu() - used;
    fprintf(stderr, "rank %d: MPI_Wait: %.2f s of CPU in %.2f s\n", rank, used, took);
    expect(took > 1 && used < took / 4, "MPI_Wait takes no processor");
    MPI_File_iwrite_at(file, (MPI_Offset)BYTES * rank, data, BYTES, MPI_BYTE, &request);
    sleep((unsigned)(took + 2));
    start = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took = MPI_Wtime() - start;
    fprintf(stderr, "rank %d: MPI_Wait after the write: %.4f s\n", rank, took);
    expect(took < 0.2, "the write is over when it is waited for");
    MPI_File_close(&file);
    free(data);
}

/* A name of the maximum length, and the shared file pointer. */
static void long_name(const char *name)
{
    char longest[512];
    MPI_Offset at = -1;
    size_t start = strlen(name);

    for (size_t length = 234; length <= 255; length += 7) {
        MPI_File file;
        int value = rank;

        snprintf(longest, sizeof longest, "%s", name);
        memset(longest + start, 'n', length);
        longest[start + length] = '\0';
        file = open_ok(longest, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
        expect(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_shared");
        MPI_Barrier(MPI_COMM_WORLD);
        expect(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == 4 * ranks, "where it is");
        MPI_File_close(&file);
    }
}

/* Offsets beyond 2^40, and the holes before them. */
static void sparse(const char *name)
{
    MPI_File file = open_file(name);
    MPI_Offset far = ((MPI_Offset)1 << 41) + 4096 * rank, size = 0;
    int value = 77 + rank, back = 0, hole = -1;

    expect(MPI_File_write_at_all(file, far, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    MPI_File_sync(file); /* sync, barrier, sync: only then are the others' writes visible */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    expect(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == ((MPI_Offset)1 << 41) + 4096 * (ranks - 1) + 4,
           "the size is the largest end");
    expect(MPI_File_read_at(file, far, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && back == value, "read");
    expect(MPI_File_read_at(file, (MPI_Offset)1 << 40, &hole, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               hole == 0,
           "a hole is zeros");
    MPI_File_close(&file);
}

/* More than 2 GiB in one call, from a small buffer: all elements of the type lie in the same 1 MiB. */
static void large_count(const char *name)
{
    enum { MIB = 1 << 20, BLOCKS = 2100 };
    MPI_File file = open_file(name);
    char *block = malloc(MIB), *back = malloc(MIB);
    MPI_Datatype mib, again;
    MPI_Status status;
    MPI_Count bytes = 0;

    memset(block, 'a' + rank, MIB);
    MPI_Type_contiguous(MIB, MPI_BYTE, &mib);
    MPI_Type_create_resized(mib, 0, 0, &again);
    MPI_Type_commit(&again);
    if (rank == 0) {
        expect(MPI_File_write_at(file, 0, block, BLOCKS, again, &status) == MPI_SUCCESS, "write");
        MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        expect(bytes == (MPI_Count)MIB * BLOCKS, "the status counts more than 2 GiB");
        expect(MPI_File_read_at(file, (MPI_Offset)MIB * (BLOCKS - 1), back, MIB, MPI_BYTE, &status) == MPI_SUCCESS &&
                   memcmp(block, back, MIB) == 0,
               "the last block");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&again);
    MPI_Type_free(&mib);
    MPI_File_close(&file);
    free(block);
    free(back);
}

#ifndef OMPI_MAJOR_VERSION /* has no functions for large counts */
/* A buffer of `count` MiB, all of which are the same MiB of memory; NULL: not possible. */
static char *repeated_mib(int count)
{
    enum { MIB = 1 << 20 };
    int memory = memfd_create("mib", 0);
    char *all = mmap(NULL, (size_t)count * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory < 0 || all == MAP_FAILED || ftruncate(memory, MIB) != 0)
        return NULL;
    for (int i = 0; i < count; i++)
        if (mmap(all + (size_t)i * MIB, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == MAP_FAILED)
            return NULL;
    close(memory);
    return all;
}

/* 1 if the status of a call has that number of bytes. */
static int counts(const MPI_Status *status, MPI_Count bytes)
{
    MPI_Count got = -1;

    MPI_Get_elements_x(status, MPI_BYTE, &got);
    return got == bytes;
}

/* More than 2 GiB through the functions for large counts, with nothing to read or write on the last rank. MPICH 4.0
 * stops the program where the count itself is above INT_MAX. */
static void count_c(const char *name)
{
    enum { MIB = 1 << 20, BLOCKS = 2060 };
    MPI_Count bytes = rank == ranks - 1 && ranks > 1 ? 0 : (MPI_Count)MIB * BLOCKS;
    MPI_File file = open_file(name);
    char *all = repeated_mib(BLOCKS), *pattern = malloc(MIB);
    MPI_Status status;
    MPI_Request request;

    expect(all != NULL, "a buffer");
    for (int i = 0; i < MIB; i++)
        pattern[i] = (char)(i * 2654435761u >> 24);
    memcpy(all, pattern, MIB);
    expect(MPI_File_write_at_all_c(file, 0, all, bytes / 4, MPI_INT, &status) == MPI_SUCCESS, "write_at_all_c");
    expect(counts(&status, bytes), "the status of the write");
    memset(all, 0xa5, MIB);
    expect(MPI_File_read_at_all_c(file, 0, all, bytes / 4, MPI_INT, &status) == MPI_SUCCESS, "read_at_all_c");
    expect(counts(&status, bytes), "the status of the read");
    expect(!bytes || memcmp(all, pattern, MIB) == 0, "what is read");
    memset(all, 0xa5, MIB);
    expect(MPI_File_read_at_c(file, 0, all, bytes / 4, MPI_INT, &status) == MPI_SUCCESS, "read_at_c");
    expect(counts(&status, bytes) && (!bytes || memcmp(all, pattern, MIB) == 0), "what is read independently");
    memset(all, 0xa5, MIB);
    expect(MPI_File_iread_at_all_c(file, 0, all, bytes / 4, MPI_INT, &request) == MPI_SUCCESS, "iread_at_all_c");
    expect(MPI_Wait(&request, &status) == MPI_SUCCESS && counts(&status, bytes), "the status of the non-blocking read");
    expect(!bytes || memcmp(all, pattern, MIB) == 0, "what is read without blocking");
    munmap(all, (size_t)MIB * BLOCKS);
    free(pattern);
    MPI_File_close(&file);
}
#endif

/* A name with colons. The last rank has nothing to write, the first one nothing to read. */
static void colons(const char *name)
{
    enum { WORDS = 1000 };
    MPI_File file = open_file(name);
    int last = rank == ranks - 1 && ranks > 1, first = rank == 0 && ranks > 1, values[WORDS], back[WORDS], bytes = -1;
    MPI_Status status;

    for (int i = 0; i < WORDS; i++)
        values[i] = 1000000 * (rank + 1) + i;
    expect(MPI_File_write_at_all(file, (MPI_Offset)sizeof values * rank, values, last ? 0 : WORDS, MPI_INT, &status) ==
               MPI_SUCCESS,
           "write");
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    expect(bytes == (last ? 0 : (int)sizeof values), "the status of the write");
    memset(back, 0xa5, sizeof back);
    expect(MPI_File_read_at_all(file, 0, back, first ? 0 : WORDS, MPI_INT, &status) == MPI_SUCCESS, "read");
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    expect(bytes == (first ? 0 : (int)sizeof back), "the status of the read");
    for (int i = 0; i < WORDS; i++)
        if (back[i] != (first ? (int)0xa5a5a5a5 : 1000000 + i)) {
            expect(0, "what the first rank wrote, and nothing where nothing is read");
            break;
        }
    MPI_File_close(&file);
}

static void modes(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    MPI_Offset position = 0, size = 0;
    int value = rank, amode = 0;

    MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_amode(file, &amode);
    expect(amode == (MPI_MODE_CREATE | MPI_MODE_WRONLY), "the mode is the one that was asked for");
    MPI_File_close(&file);
    file = open_ok(name, MPI_MODE_RDWR | MPI_MODE_APPEND);
    MPI_File_get_position(file, &position);
    expect(position == 4 * ranks, "append begins at the end");
    expect(MPI_File_preallocate(file, 1 << 20) == MPI_SUCCESS, "preallocate");
    MPI_File_get_size(file, &size);
    expect(size == 1 << 20, "it makes the file longer");
    expect(MPI_File_set_size(file, 6) == MPI_SUCCESS, "set_size");
    MPI_File_get_size(file, &size);
    expect(size == 6, "the file is cut");
    MPI_File_close(&file);
    file = open_ok(name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_close(&file);
    expect(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS,
           "a file that is deleted on close is gone");
}

/* Gaps in memory and in the file, at several places of the view, blocking and not. */
static void gaps(const char *name)
{
    enum { ROWS = 50, WIDTH = 7, STRIDE = 11 };
    MPI_File file = open_file(name);
    int *memory = calloc(ROWS * STRIDE, sizeof *memory), *back = calloc(ROWS * STRIDE, sizeof *back);
    MPI_Datatype rows, view;
    MPI_Request request;
    MPI_Status status;
    int count = 0;

    for (int i = 0; i < ROWS * STRIDE; i++)
        memory[i] = 1000000 * rank + i;
    MPI_Type_vector(ROWS, WIDTH, STRIDE, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * ranks, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * rank, MPI_INT, view, "native", MPI_INFO_NULL);
    expect(MPI_File_write(file, memory, 1, rows, &status) == MPI_SUCCESS, "write");
    MPI_Get_count(&status, rows, &count);
    expect(count == 1, "all was written");
    expect(MPI_File_iwrite(file, memory, 1, rows, &request) == MPI_SUCCESS, "iwrite behind it");
    MPI_Wait(&request, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int part = 0; part < 2; part++) {
        memset(back, 0, ROWS * STRIDE * sizeof *back);
        expect(MPI_File_iread_at(file, ROWS * WIDTH * part, back, 1, rows, &request) == MPI_SUCCESS, "iread_at");
        MPI_Wait(&request, &status);
        for (int i = 0; i < ROWS * STRIDE; i++)
            if (back[i] != (i % STRIDE < WIDTH ? memory[i] : 0)) {
                expect(0, "what is read is what was written, and nothing between");
                break;
            }
    }
    MPI_Type_free(&rows);
    MPI_Type_free(&view);
    MPI_File_close(&file);
    free(memory);
    free(back);
}

/* One view after the other on the same handle; each type is freed once its view is set, so that MPI uses its handle and
 * memory for the next one. Then a collective and an independent write must follow the new view. */
static void views(const char *name)
{
    enum { COUNT = 8, STRIDES = 6, REGION = COUNT * STRIDES };
    MPI_File file = open_file(name), plain = open_file(name);
    int memory[2 * COUNT], back[2 * REGION];
    MPI_Offset region = (MPI_Offset)sizeof(back) * rank;

    for (int stride = 2; stride <= STRIDES; stride++) {
        MPI_Datatype view;

        MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * stride, &view);
        MPI_Type_commit(&view);
        MPI_File_set_view(file, region, MPI_INT, view, "native", MPI_INFO_NULL);
        MPI_Type_free(&view);
        for (int i = 0; i < 2 * COUNT; i++)
            memory[i] = 10000 * stride + 100 * rank + i + 1;
        expect(MPI_File_write_all(file, memory, COUNT, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
        expect(MPI_File_write(file, memory + COUNT, COUNT, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
        memset(back, -1, sizeof(back));
        MPI_File_read_at(plain, region, back, 2 * COUNT * stride, MPI_INT, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2 * COUNT; i++)
            expect(back[i * stride] == memory[i], "each int is where the last view puts it");
    }
    MPI_File_close(&plain);
    MPI_File_close(&file);
}

/* Every second int from byte 4096 up to 4096 + 8 * 100 - 4, in atomic mode. Ranks take turns. */
static void atomic(const char *name)
{
    enum { COUNT = 100 };
    MPI_File file = open_file(name);
    int values[COUNT], back[COUNT] = {0};
    MPI_Datatype view;

    for (int i = 0; i < COUNT; i++)
        values[i] = i;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file, 4096, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_set_atomicity(file, 1);
    expect(MPI_File_write_at(file, 0, values, COUNT, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    expect(MPI_File_read_at(file, 0, back, COUNT, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read");
    expect(memcmp(values, back, sizeof back) == 0, "what is read is what was written");
    MPI_Type_free(&view);
    MPI_File_close(&file);
}

/* --- threads --- */

static void *write_both(void *arg)
{
    MPI_File *file = arg;
    int values[256];

    for (int i = 0; i < 256; i++)
        values[i] = rank;
    for (int i = 0; i < 10; i++) {
        expect(MPI_File_write_at_all(*file, 1024 * rank, values, 256, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
               "a collective write of a thread");
        expect(MPI_File_write_at(*file, 1024 * rank, values, 256, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
               "an independent write of a thread");
    }
    return NULL;
}

/* Two threads, each with collectives on a file of its own; on odd ranks the other one starts first. */
static void threads(const char *name)
{
    char other[256];
    MPI_File a = open_file(name), b;
    pthread_t thread;

    snprintf(other, sizeof other, "%s.other", name);
    b = open_file(other);
    pthread_create(&thread, NULL, write_both, rank % 2 ? &b : &a);
    write_both(rank % 2 ? &a : &b);
    pthread_join(thread, NULL);
    MPI_File_close(&a);
    MPI_File_close(&b);
}

typedef struct first_file {
    MPI_Comm comm;
    char name[256];
} first_file_t;

static void *open_and_close(void *arg)
{
    first_file_t *first = arg;
    MPI_File file;

    expect(MPI_File_open(first->comm, first->name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
                   MPI_SUCCESS &&
               MPI_File_close(&file) == MPI_SUCCESS,
           "a thread opens and closes a file");
    return NULL;
}

/* No file was open before. */
static void first_files(const char *name)
{
    first_file_t first[4];
    pthread_t thread[4];

    for (int i = 0; i < 4; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &first[i].comm);
        snprintf(first[i].name, sizeof first[i].name, "%s.%d", name, i);
    }
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, open_and_close, &first[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        MPI_Comm_free(&first[i].comm);
    }
}

enum { BLOCKING, NONBLOCKING, COLLECTIVE, NONBLOCKING_COLLECTIVE, CALLS };

/* themis_direct_used after one write through a new handle. */
static void direct_used_after(const char *name, int call, char value[MPI_MAX_INFO_VAL])
{
    enum { BYTES = 8192 };
    static char data[BYTES];
    MPI_File file = open_file(name);
    MPI_Offset offset = (MPI_Offset)BYTES * rank;
    MPI_Request request;
    MPI_Info info;
    int found = 0;

    if (call == BLOCKING)
        MPI_File_write_at(file, offset, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (call == COLLECTIVE)
        MPI_File_write_at_all(file, offset, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (call == NONBLOCKING)
        MPI_File_iwrite_at(file, offset, data, BYTES, MPI_BYTE, &request);
    else
        MPI_File_iwrite_at_all(file, offset, data, BYTES, MPI_BYTE, &request);
    if (call == NONBLOCKING || call == NONBLOCKING_COLLECTIVE)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_get_info(file, &info);
    MPI_Info_get(info, "themis_direct_used", MPI_MAX_INFO_VAL - 1, value, &found);
    expect(found, "themis_direct_used is shown");
    MPI_Info_free(&info);
    MPI_File_close(&file);
}

static void direct_used(const char *name)
{
    char first[MPI_MAX_INFO_VAL] = "", other[MPI_MAX_INFO_VAL] = "";

    direct_used_after(name, BLOCKING, first);
    for (int call = BLOCKING; call < CALLS; call++) {
        direct_used_after(name, call, other);
        if (strcmp(first, other) != 0)
            fprintf(stderr, "call %d: %s instead of %s\n", call, other, first);
        expect(strcmp(first, other) == 0, "themis_direct_used is the same after all forms of a call");
    }
}

static const test_case_t cases[] = {{"external32", external32},
                                    {"sparse", sparse},
                                    {"large-count", large_count},
#ifndef OMPI_MAJOR_VERSION
                                    {"count-c", count_c},
#endif
                                    {"colons", colons},
                                    {"modes", modes},
                                    {"gaps", gaps},
                                    {"views", views},
                                    {"threads", threads, 1},
                                    {"atomic", atomic},
                                    {"waiting", waiting},
                                    {"long-name", long_name},
                                    {"first-files", first_files, 1},
                                    {"direct-used", direct_used}};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
