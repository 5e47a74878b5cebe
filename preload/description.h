/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands in the memory file of a descriptor: which file it is, for the process that opened it, its children, and
 * the programs that inherit it. It is sealed against every change, and open for writing only, so that programs without
 * this library can neither read nor write it. Shared by both libraries.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Of the memory files, which the kernel shows. */
#define THEMIS_PRELOAD_MEMORY_NAME "themis"

typedef enum themis_preload_kind {
    THEMIS_PRELOAD_NONE = 0,             /* not ours */
    THEMIS_PRELOAD_OPENED = 1,           /* an open file or directory */
    THEMIS_PRELOAD_WORKING_DIRECTORY = 2 /* held by a process whose working directory is below the mount point */
} themis_preload_kind_t;

typedef struct themis_preload_description {
    char magic[8];
    uint32_t kind;
    int32_t flags;         /* of open */
    uint32_t path_bytes;   /* with the final zero; after this structure */
    uint32_t handle_bytes; /* after the path; 0: a directory */
} themis_preload_description_t;

/* A descriptor that says nothing so far. */
typedef struct themis_preload_blank {
    int fd;     /* the lowest number that was free; once it is written, it is for writing only, as programs see it */
    int second; /* of the same file, which it becomes; -1: it is written */
    int status; /* O_CLOEXEC of it */
} themis_preload_blank_t;

/* Makes one; `status`: O_APPEND, O_NONBLOCK and O_CLOEXEC of it. -1, with errno. */
int themis_preload_description_begin(int status, themis_preload_blank_t *blank);
/* Writes it; it then is one of a file. -1, with errno: it is as before. */
int themis_preload_description_end(themis_preload_blank_t *blank, const themis_preload_description_t *description,
                                   const char *path, const void *handle);
void themis_preload_description_close(themis_preload_blank_t *blank);

/* All of that: returns the descriptor; -1, with errno. */
int themis_preload_description_make(const themis_preload_description_t *description, const char *path,
                                    const void *handle, int status);

/* What the descriptor is; costs one system call if it is none of ours. */
themis_preload_kind_t themis_preload_description_look(int fd);

/* Reads what stands behind the descriptor into `buffer`, which path and handle then point into; checks all lengths, and
 * that it cannot change. -1, with errno: EBADF if it is none of ours. */
int themis_preload_description_read(int fd, void *buffer, size_t size, themis_preload_description_t *description,
                                    const char **path, const void **handle);
