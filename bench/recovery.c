/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/*
 * recovery DIRECTORY: makes arenas there with many files, whose extents are small and apart, and times how long opening
 * them takes: once when the files of the arena are in the page cache, and once when they are not. A part of what is
 * recovered is in the log, the rest in a checkpoint, as a server leaves it that was killed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store/exclusive_use.h"
#include "store/log.h"
#include "store/space.h"
#include "store/store.h"
#include "util/clock.h"

enum { EXTENTS = 10, UNIT = 4096, WORD = sizeof(uint64_t), ENTRIES_OF_FRAME = 1000 };

static const themis_store_identity_t identity = {{7}};

typedef struct arena {
    char path[512];
    int directory, lock_fd;
    uint64_t files, size;
    uint32_t segment_units;
    themis_store_log_t *log;
} arena_t;

static themis_status_t nothing_to_sync(void *arg)
{
    (void)arg;
    return THEMIS_OK;
}

/* A segment, whose file is a hole. */
static themis_status_t segment_make(const arena_t *arena, themis_store_entries_t *entries, uint64_t index)
{
    char name[64];
    themis_store_entry_segment_t *body =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_SEGMENT, index, 0, sizeof *body / WORD);

    snprintf(name, sizeof name, "segment.%016llx", (unsigned long long)index + 1);
    int fd = openat(arena->directory, name, O_RDWR | O_CREAT, 0600);
    if (!body || fd < 0 || ftruncate(fd, (off_t)arena->segment_units * UNIT) != 0)
        return THEMIS_IO;
    close(fd);
    *body = (themis_store_entry_segment_t){
        .serial = index + 1, .owner = THEMIS_STORE_COMMON, .opened = arena->segment_units};
    return THEMIS_OK;
}

/* File `i`: extents of 4 KiB with holes between them, all but the first one wholly written. */
static themis_status_t file_make(themis_store_entries_t *entries, uint64_t i)
{
    uint64_t id = i * 2654435761u + 1;
    themis_store_entry_object_t *object =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_OBJECT, id, 0, sizeof *object / WORD);

    if (!object)
        return THEMIS_NO_MEMORY;
    *object = (themis_store_entry_object_t){
        .end = 2 * EXTENTS * UNIT, .modified = UINT64_C(1700000000000000000) + i, .owner = 1000};
    themis_store_entry_extent_t *extents =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_EXTENTS, id, EXTENTS, EXTENTS * sizeof *extents / WORD);
    for (uint32_t j = 0; extents && j < EXTENTS; j++)
        extents[j] = (themis_store_entry_extent_t){
            .offset = 2 * (uint64_t)j * UNIT, .unit = (uint32_t)(i * EXTENTS + j), .valid = j > 0};
    return extents ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static themis_status_t checkpoint_make(arena_t *arena)
{
    themis_store_checkpoint_t checkpoint;
    themis_status_t status = themis_store_checkpoint_begin(arena->log, &checkpoint);
    uint64_t units = arena->files * EXTENTS;

    for (uint64_t i = 0; i * arena->segment_units < units && status == THEMIS_OK; i++)
        status = segment_make(arena, &checkpoint.entries, i);
    for (uint64_t i = 0; i < arena->files && status == THEMIS_OK; i++) {
        status = file_make(&checkpoint.entries, i);
        if (status == THEMIS_OK)
            status = themis_store_checkpoint_flush(&checkpoint, 0);
    }
    return themis_store_checkpoint_end(&checkpoint, status, nothing_to_sync, NULL);
}

/* The first extent of each file is written afterwards: that is in the log. */
static themis_status_t log_make(arena_t *arena)
{
    themis_store_entries_t entries = {0};
    themis_status_t status = THEMIS_OK;

    for (uint64_t i = 0; i < arena->files && status == THEMIS_OK; i++) {
        themis_store_entry_pages_t *body =
            themis_store_entries_add(&entries, THEMIS_STORE_ENTRY_PAGES, i * 2654435761u + 1, 0, sizeof *body / WORD);
        if (!body)
            return THEMIS_NO_MEMORY;
        *body = (themis_store_entry_pages_t){.offset = 0, .first = 0, .end = 1};
        if (i % ENTRIES_OF_FRAME && i + 1 < arena->files)
            continue;
        status = themis_store_log_append(arena->log, entries.bytes, entries.length);
        entries.length = 0;
    }
    themis_store_entries_free(&entries);
    return status;
}

static themis_status_t arena_make(arena_t *arena)
{
    themis_store_log_options_t options = {.size = arena->size, .identity = identity};

    mkdir(arena->path, 0700);
    themis_status_t status = themis_store_exclusive_use_directory("directory", arena->path, "arena of server 0",
                                                                  &identity, NULL, &arena->lock_fd);
    if (status != THEMIS_OK)
        return status;
    options.directory = arena->directory = open(arena->path, O_RDONLY | O_DIRECTORY);
    options.segment_units = arena->segment_units = themis_store_space_segment_units(arena->size);
    themis_store_identity_of_boot(&options.boot);
    status = themis_store_log_open(&options, &arena->log);
    if (status == THEMIS_OK)
        status = themis_store_log_start(arena->log);
    if (status == THEMIS_OK)
        status = checkpoint_make(arena);
    if (status == THEMIS_OK)
        status = log_make(arena);
    themis_store_log_destroy(arena->log);
    close(arena->directory);
    close(arena->lock_fd);
    return status;
}

/* Bytes of the files of the log, which are dropped from the page cache if `drop`. */
static uint64_t log_bytes(const arena_t *arena, int drop)
{
    char name[600];
    struct stat stat;
    uint64_t bytes = 0;

    for (int i = 1; i < 1000; i++)
        for (int kind = 0; kind < 2; kind++) {
            snprintf(name, sizeof name, "%s/%s.%016x", arena->path, kind ? "checkpoint" : "log", i);
            int fd = open(name, O_RDONLY);
            if (fd < 0)
                continue;
            bytes += fstat(fd, &stat) == 0 ? (uint64_t)stat.st_size : 0;
            if (drop) {
                fdatasync(fd);
                posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            }
            close(fd);
        }
    return bytes;
}

/* In a process of its own, which ends as a killed server does. */
static int open_timed(const arena_t *arena, int drop, const char *before)
{
    const themis_store_options_t options = {
        .type = "arena", .size = arena->size, .directory = arena->path, .identity = &identity};
    uint64_t bytes = log_bytes(arena, drop), start = themis_util_clock_now();
    themis_store_t *store;
    themis_store_usage_t usage;
    struct rusage used;

    if (themis_store_create(&options, &store) != THEMIS_OK)
        return EXIT_FAILURE;
    double seconds = (double)(themis_util_clock_now() - start) / 1e9;
    getrusage(RUSAGE_SELF, &used);
    themis_store_usage(store, &usage);
    printf("%s{\"files\": %llu, \"extents\": %llu, \"log_MiB\": %.0f, \"log\": \"%s\", \"open_s\": %.2f, "
           "\"processor_s\": %.2f, \"memory_MiB\": %.0f}",
           before, (unsigned long long)usage.objects, (unsigned long long)(usage.used / UNIT),
           (double)bytes / (1 << 20), drop ? "not cached" : "cached", seconds,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
           (double)used.ru_maxrss / 1024);
    fflush(stdout);
    return usage.objects == arena->files && usage.used == arena->files * EXTENTS * UNIT ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const uint64_t files[] = {10000, 100000, 1000000};
    int status = 0;

    if (argc != 2)
        return EXIT_FAILURE;
    for (size_t i = 0; i < sizeof files / sizeof *files && status == 0; i++) {
        arena_t arena = {.files = files[i], .size = files[i] * EXTENTS * UNIT * 5 / 4};
        snprintf(arena.path, sizeof arena.path, "%.400s/%llu", argv[1], (unsigned long long)files[i]);
        if (arena_make(&arena) != THEMIS_OK)
            return EXIT_FAILURE;
        for (int drop = 0; drop < 2 && status == 0; drop++) {
            pid_t child = fork();
            if (child == 0)
                _exit(open_timed(&arena, drop, i || drop ? ",\n" : "[\n"));
            if (child < 0 || waitpid(child, &status, 0) < 0)
                return EXIT_FAILURE;
        }
    }
    printf("\n]\n");
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
