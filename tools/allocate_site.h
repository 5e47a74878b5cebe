/* SPDX-License-Identifier: BSD-3-Clause */
/* The site of `themis allocate`, from an INI file: [servers] and [thresholds] (doc/dfra.md). */
#pragma once
#include "dfra/dfra.h"

typedef struct themis_tools_allocate_site {
    themis_dfra_site_t site;
    char **name; /* [site.servers], owned */
    char reason[96];
} themis_tools_allocate_site_t;

/* Reads a file into zeros. Prints errors, with file and line, and returns THEMIS_TOOLS_USAGE for what is wrong in it.
 */
int themis_tools_allocate_site_read(themis_tools_allocate_site_t *site, const char *path);
void themis_tools_allocate_site_release(themis_tools_allocate_site_t *site);

/* The number of the server of this name; UINT32_MAX: none. */
uint32_t themis_tools_allocate_server_find(const themis_tools_allocate_site_t *site, const char *name);
