/* SPDX-License-Identifier: BSD-3-Clause */
/* The source or the target of a copy: a file on servers, or a descriptor of this host. All functions print their
 * errors. */
#pragma once
#include <stdint.h>
#include "tools/location.h"

typedef struct themis_tools_endpoint {
    themis_file_t *file; /* NULL: `fd` */
    int fd;
    int is_regular; /* a file from its beginning, not a stream */
    int replaces; /* a regular target that existed: it is emptied as soon as the first bytes of the source were read */
} themis_tools_endpoint_t;

/* "-" is standard input here. */
int themis_tools_endpoint_open_source(const themis_tools_location_t *location, themis_tools_endpoint_t *end);
/* "-" is standard output here. Keeps what the target holds: it may turn out to be the source, or the source to be
 * unreadable. */
int themis_tools_endpoint_open_target(const themis_tools_location_t *location, uint32_t mode,
                                      themis_tools_endpoint_t *end);
/* A new file beside a target, with that layout (NULL: the servers' default). *refused: 1, without a message, where this
 * user may not make files in its directory on this host. */
int themis_tools_endpoint_create(const themis_tools_location_t *location, uint32_t mode, const themis_layout_t *layout,
                                 themis_tools_endpoint_t *end, int *refused);
/* written: what was written to a server is made durable before. */
int themis_tools_endpoint_close(themis_tools_endpoint_t *end, const themis_tools_location_t *location, int written);
