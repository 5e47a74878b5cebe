/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * many DIRECTORY COUNT creates empty files in an existing directory, by four threads: "file-0" and so on.
 * many DIRECTORY list lists it, by itself and while another session asks for the directory's attributes all the time;
 * it fails if names are not in order, and tells how long the parts of the listing and the other session's calls took.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "themis/themis.h"

enum { THREADS = 4 };

static themis_t *session;
static const char *directory;
static long count;
static atomic_long next;
static atomic_int failed;

static void *create_files(void *arg)
{
    const int flags = THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_EXCLUSIVE;
    themis_file_t *file;
    char path[4096];

    for (long i = next++; i < count && !failed; i = next++) {
        snprintf(path, sizeof path, "%s/file-%ld", directory, i);
        if (themis_open(session, path, flags, 0644, NULL, &file) != THEMIS_OK || themis_close(file) != THEMIS_OK) {
            fprintf(stderr, "%s: %s\n", path, themis_last_error());
            failed = 1;
        }
    }
    return NULL;
}

/* --- listing ------------------------------------------------------------------------------------------------------ */

enum { PART = 1024, MAX_TIMES = 1 << 20 }; /* names of one message, as the client asks for them */

typedef struct times {
    double ms[MAX_TIMES];
    size_t count;
} times_t;

static times_t parts, calls;
static atomic_int listed;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void time_add(times_t *times, double ms)
{
    if (times->count < MAX_TIMES)
        times->ms[times->count++] = ms;
}

static int by_size(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

static void times_print(const char *what, times_t *times)
{
    if (times->count == 0)
        return;
    qsort(times->ms, times->count, sizeof *times->ms, by_size);
    printf("%s: %zu, median %.2f ms, 99 %% below %.2f ms, longest %.2f ms\n", what, times->count,
           times->ms[times->count / 2], times->ms[times->count * 99 / 100], times->ms[times->count - 1]);
}

typedef struct listing {
    char last[256];
    long count;
    double since;
} listing_t;

static int name_see(void *arg, const char *name, themis_type_t type)
{
    listing_t *listing = arg;

    (void)type;
    if (listing->count++ % PART == 0) {
        time_add(&parts, now_ms() - listing->since);
    }
    if (strcmp(listing->last, name) >= 0)
        failed = 1;
    snprintf(listing->last, sizeof listing->last, "%s", name);
    if (listing->count % PART == 0)
        listing->since = now_ms();
    return 0;
}

static void *ask(void *arg)
{
    themis_stat_t stat;
    themis_t *other;

    (void)arg;
    if (themis_connect(NULL, &other) != THEMIS_OK)
        return NULL;
    while (!listed) {
        const double begin = now_ms();
        if (themis_stat(other, directory, &stat) != THEMIS_OK)
            failed = 1;
        time_add(&calls, now_ms() - begin);
    }
    themis_disconnect(other);
    return NULL;
}

static void list(void)
{
    listing_t listing = {.since = now_ms()};
    pthread_t thread;

    if (pthread_create(&thread, NULL, ask, NULL) != 0)
        abort();
    if (themis_readdir(session, directory, name_see, &listing) != THEMIS_OK)
        failed = 1;
    listed = 1;
    pthread_join(thread, NULL);
    printf("%ld names\n", listing.count);
    times_print("parts of 1,024 names", &parts);
    times_print("calls of another session meanwhile", &calls);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc != 3 || themis_connect(NULL, &session) != THEMIS_OK) {
        fprintf(stderr, "%s\n", argc != 3 ? "usage: many DIRECTORY COUNT or list" : themis_last_error());
        return 1;
    }
    directory = argv[1];
    if (strcmp(argv[2], "list") == 0) {
        list();
        themis_disconnect(session);
        return failed;
    }
    count = strtol(argv[2], NULL, 10);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, create_files, NULL) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    themis_disconnect(session);
    return failed;
}
