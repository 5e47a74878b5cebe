/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posix DIRECTORY SIDE FILES BYTES: rates of POSIX calls below an empty directory, as JSON rows: small files made,
 * looked at, opened and removed one after the other; a file of so many bytes written and read in pieces of 4 KiB and 1
 * MiB, each pass in order and 4 KiB also at random places. Every byte that is read is compared.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 4096, LARGE = 1 << 20, BLOCKS = 2000, BLOCK_CALLS = 1000 };

static const char *side;
static char buffer[LARGE], expected[LARGE];
static double began;

static void fail(const char *what)
{
    fprintf(stderr, "posix: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void row(const char *operation, double count, const char *unit)
{
    printf("{\"side\": \"%s\", \"operation\": \"%s\", \"rate\": %.0f, \"unit\": \"%s\"}\n", side, operation,
           count / (now() - began), unit);
    fflush(stdout);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void name_make(char name[32], int number)
{
    snprintf(name, 32, "f%07d", number);
}

static void names(int files)
{
    struct stat stats;
    char name[32];

    began = now();
    for (int i = 0; i < files; i++) {
        name_make(name, i);
        const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
        if (fd < 0 || close(fd) != 0)
            fail(name);
    }
    row("create", files, "per_s");
    began = now();
    for (int i = 0; i < files; i++) {
        name_make(name, i);
        if (stat(name, &stats) != 0)
            fail(name);
    }
    row("stat", files, "per_s");
    began = now();
    for (int i = 0; i < files; i++) {
        name_make(name, i);
        const int fd = open(name, O_RDONLY);
        if (fd < 0 || close(fd) != 0)
            fail(name);
    }
    row("open and close", files, "per_s");
    began = now();
    for (int i = 0; i < files; i++) {
        name_make(name, i);
        if (unlink(name) != 0)
            fail(name);
    }
    row("unlink", files, "per_s");
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static off_t place(long long i, long long count, size_t piece, int random)
{
    return (off_t)(random ? i * 7919 % count : i) * (off_t)piece;
}

static void pass(int fd, long long bytes, size_t piece, int writes, int random)
{
    const long long count = bytes / (long long)piece;
    char operation[60];

    began = now();
    for (long long i = 0; i < count; i++) {
        const off_t offset = place(i, count, piece, random);
        const ssize_t done = writes ? pwrite(fd, expected, piece, offset) : pread(fd, buffer, piece, offset);
        if (done != (ssize_t)piece || (!writes && memcmp(buffer, expected, piece) != 0))
            fail("the bytes");
    }
    snprintf(operation, sizeof operation, "%s %s%s", writes ? "write" : "read", piece == SMALL ? "4 KiB" : "1 MiB",
             random ? " at random" : "");
    row(operation, (double)(count * (long long)piece) / LARGE, "MiB_per_s");
}

static void bytes_move(long long bytes)
{
    const int fd = open("bytes", O_CREAT | O_RDWR, 0644);

    if (fd < 0)
        fail("bytes");
    memset(expected, 'x', sizeof expected);
    pass(fd, bytes, LARGE, 1, 0);
    for (int writes = 1; writes >= 0; writes--) {
        pass(fd, bytes, LARGE, writes, 0);
        pass(fd, bytes, SMALL, writes, 0);
        pass(fd, bytes, SMALL, writes, 1);
    }
    close(fd);
    unlink("bytes");
}

/* What a call on a local file costs at least, of no bytes, so that little but the call is measured. */
static void local_calls(void)
{
    const int fd = open("/dev/zero", O_RDONLY);
    double least = 1;

    for (int block = 0; block < BLOCKS; block++) {
        began = now();
        for (int i = 0; i < BLOCK_CALLS; i++)
            if (read(fd, buffer, 0) != 0)
                fail("/dev/zero");
        const double took = (now() - began) / BLOCK_CALLS;
        least = took < least ? took : least;
    }
    printf("{\"side\": \"%s\", \"operation\": \"read of a local file\", \"rate\": %.1f, \"unit\": \"ns\"}\n", side,
           least * 1e9);
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 5 || chdir(argv[1]) != 0)
        fail("usage: posix DIRECTORY SIDE FILES BYTES");
    side = argv[2];
    local_calls();
    names(atoi(argv[3]));
    bytes_move(atoll(argv[4]));
    return 0;
}
