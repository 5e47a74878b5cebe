/* SPDX-License-Identifier: BSD-3-Clause */
/* A name that a command is given, on servers or on this host: what is there, and whether two names mean the same. */
#ifndef THEMIS_TOOLS_LOCATION_H
#define THEMIS_TOOLS_LOCATION_H
#include <stdint.h>
#include "tools/command.h"

typedef struct themis_tools_place {
    char *text;        /* owned; as given, for messages */
    themis_t *session; /* NULL: on this host */
    const char *path;  /* there; borrowed from `text`, or "/" */
} themis_tools_place_t;

/* Both complain by themselves; the place is then empty. Each place is given to themis_tools_place_free. */
int themis_tools_place_at(const themis_tools_command_t *self, const char *text, themis_tools_place_t *place);
/* `length` bytes of a name below a directory; none: the directory. */
int themis_tools_place_below(const themis_tools_command_t *self, const themis_tools_place_t *directory,
                             const char *name, size_t length, themis_tools_place_t *place);
void themis_tools_place_free(themis_tools_place_t *place);

/* The last component of a path, without the slashes behind it. *length is 0 for "/" and where it is "." or "..", since
 * such a name below another directory would be that directory, or the one above it. */
const char *themis_tools_place_name(const char *path, size_t *length);

typedef enum themis_tools_kind {
    THEMIS_TOOLS_FILE,
    THEMIS_TOOLS_DIRECTORY,
    THEMIS_TOOLS_SPECIAL /* FIFO, socket or device of this host */
} themis_tools_kind_t;

typedef struct themis_tools_attributes {
    themis_tools_kind_t kind;
    uint32_t mode; /* the permissions only */
    uint64_t size; /* bytes */
} themis_tools_attributes_t;

/* THEMIS_NO_ENTRY: nothing is there. The cause is in themis_last_error() or, of a place on this host, in errno. */
themis_status_t themis_tools_place_look(const themis_tools_place_t *place, themis_tools_attributes_t *attributes);

/*
 * *within: 1 if `place`, which need not be there yet, is `directory` or lies below it, by identity and not by name.
 * Complains by itself.
 */
int themis_tools_place_is_within(const themis_tools_command_t *self, const themis_tools_place_t *place,
                                 const themis_tools_place_t *directory, int *within);
#endif
