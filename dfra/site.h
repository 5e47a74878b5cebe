/* SPDX-License-Identifier: BSD-3-Clause */
/* What administrators and jobs write: the site as an INI file, [servers] and [thresholds] (doc/dfra.md), and nodes as a
 * list of numbers. */
#pragma once
#include "dfra/dfra.h"

typedef struct themis_dfra_named_site {
    themis_dfra_site_t site;
    char **name;     /* [site.servers], owned */
    char reason[96]; /* why an entry of the file was refused */
} themis_dfra_named_site_t;

/* Reads a file into zeros, which are to be released also after a failure. `error` (`size` bytes) names file, line and
 * key. */
themis_status_t themis_dfra_site_read(themis_dfra_named_site_t *site, const char *path, char *error, size_t size);
void themis_dfra_site_release(themis_dfra_named_site_t *site);

/* The number of the server of this name; UINT32_MAX: none. */
uint32_t themis_dfra_site_find(const themis_dfra_named_site_t *site, const char *name);

/* "0-255,600,700-710", in ascending order, as at most `most` ranges; *nodes is how many nodes these are. INVALID: it is
 * no such list. */
themis_status_t themis_dfra_nodes_parse(const char *text, themis_dfra_range_t *range, uint32_t most, uint32_t *ranges,
                                        uint32_t *nodes);
