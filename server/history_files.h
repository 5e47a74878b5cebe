/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one server in a directory of the history: their names, who may read them, how they are written and
 * which of them are to go. Internal to history_store.c. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_SERVER_HISTORY_NAME = 128, THEMIS_SERVER_HISTORY_PATH = 4096 };

typedef enum themis_server_history_kind {
    THEMIS_SERVER_HISTORY_OTHER,   /* not of this server */
    THEMIS_SERVER_HISTORY_LOG,     /* number: s since 1970 when it was begun */
    THEMIS_SERVER_HISTORY_RUNNING, /* number: of the job */
    THEMIS_SERVER_HISTORY_FRESH,   /* the same, not complete */
} themis_server_history_kind_t;

/* What a file of this name is to the server `name`. */
themis_server_history_kind_t themis_server_history_files_kind(const char *name, const char *file, uint64_t *number);

/* Calls `found` for each user's directory, in no order. A missing directory has none. */
void themis_server_history_files_users(const char *directory, void (*found)(void *arg, uint32_t user), void *arg);

/* Makes the directory `path` of a user, or changes who may read it. errno says what went wrong. */
themis_status_t themis_server_history_files_admit(const char *path, uint32_t user, int is_public);

/* Appends a line as a whole or not at all; what an earlier server left of a line is ended first. *bytes: written. errno
 * says what went wrong. */
themis_status_t themis_server_history_files_append(const char *path, const char *line, size_t *bytes);
/* The file's content is the line from then on, or what it was. */
themis_status_t themis_server_history_files_replace(const char *path, const char *fresh, const char *line,
                                                    size_t *bytes);
/* The first line of a file, without its newline, owned by the caller; NULL: it has none of up to `most` bytes. */
char *themis_server_history_files_first_line(const char *path, size_t most);

/* Removes files of the server that were last written before `oldest` (s since 1970), and then, while all of them have
 * more than `size` bytes, the oldest one of the user that has most. */
void themis_server_history_files_prune(const char *directory, const char *name, uint64_t oldest, uint64_t size);
