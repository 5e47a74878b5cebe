/* SPDX-License-Identifier: BSD-3-Clause */
/* An operand of cp, cat or mv: a path on servers or on this host. Its attributes, and whether it is below another one.
 */
#pragma once
#include <stdint.h>
#include "themis/themis.h"

typedef struct themis_tools_location {
    char *text;        /* owned; as given, for messages */
    themis_t *session; /* NULL: on this host */
    const char *path;  /* borrowed from `text`, or "/" */
} themis_tools_location_t;

/* Both print their errors; the location is then empty. Release with themis_tools_location_free. */
int themis_tools_location_at(const char *text, themis_tools_location_t *location);
/* `length` bytes of a name below a directory; none: the directory. */
int themis_tools_location_below(const themis_tools_location_t *directory, const char *name, size_t length,
                                themis_tools_location_t *location);
void themis_tools_location_free(themis_tools_location_t *location);

/* The last component of a path, without trailing slashes. *length is 0 for "/" and where it is "." or "..", since such
 * a name below another directory would be that directory, or the one above it. */
const char *themis_tools_location_name(const char *path, size_t *length);

typedef enum themis_tools_kind {
    THEMIS_TOOLS_FILE,
    THEMIS_TOOLS_DIRECTORY,
    THEMIS_TOOLS_SPECIAL, /* FIFO, socket or device of this host */
    THEMIS_TOOLS_LINK     /* symbolic link, where it is not followed */
} themis_tools_kind_t;

typedef struct themis_tools_location_info {
    themis_tools_kind_t kind;
    uint32_t mode;          /* the permissions only */
    uint64_t size;          /* bytes */
    uint64_t modified;      /* ns since 1970 */
    uint32_t uid, gid;      /* owner */
    uint64_t device, inode; /* tell directories apart, and files of this host */
    uint32_t links;         /* names that a file of this host has */
} themis_tools_location_info_t;

/* THEMIS_NO_ENTRY: it does not exist. The cause is in themis_last_error() or, on this host, in errno. */
themis_status_t themis_tools_location_look(const themis_tools_location_t *location,
                                           themis_tools_location_info_t *attributes);

/* The same, of a symbolic link itself. */
themis_status_t themis_tools_location_look_link(const themis_tools_location_t *location,
                                                themis_tools_location_info_t *attributes);

/* 1 for "-", standard input or output. */
int themis_tools_location_is_stream(const themis_tools_location_t *location);

/* *same: 1 if both are one regular file, under whatever names. Prints its errors. */
int themis_tools_location_is_same_file(const themis_tools_location_t *a, const themis_tools_location_t *b, int *same);

/*
 * *within: 1 if `location`, which need not exist yet, is `directory` or lies below it, by identity and not by name.
 * Prints its errors.
 */
int themis_tools_location_is_within(const themis_tools_location_t *location, const themis_tools_location_t *directory,
                                    int *within);
