/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates empty files in an existing directory, by four threads: many DIRECTORY COUNT; "file-0" and so on. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc != 3 || themis_connect(NULL, &session) != THEMIS_OK) {
        fprintf(stderr, "%s\n", argc != 3 ? "usage: many DIRECTORY COUNT" : themis_last_error());
        return 1;
    }
    directory = argv[1];
    count = strtol(argv[2], NULL, 10);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, create_files, NULL) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    themis_disconnect(session);
    return failed;
}
