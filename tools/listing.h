/* SPDX-License-Identifier: BSD-3-Clause */
/* How ls shows the entries of a directory: in columns on a terminal, one a line, or with attributes. */
#pragma once
#include <stddef.h>
#include "themis/themis.h"

typedef struct themis_tools_listed {
    char *name;
    char *target; /* of a symbolic link, or NULL */
    int known;    /* 0: of a server that is down; then only stat.type is */
    themis_stat_t stat;
} themis_tools_listed_t;

typedef struct themis_tools_listing_format {
    int detailed; /* with attributes */
    int human;    /* sizes as 1.5G */
    int numeric;  /* users and groups as numbers */
    int width;    /* of the terminal; 0: one entry a line */
    int colour;
} themis_tools_listing_format_t;

/* What standard output is: width and colour; the rest is 0. */
void themis_tools_listing_detect(themis_tools_listing_format_t *format);

void themis_tools_listing_print(const themis_tools_listed_t *rows, size_t count,
                                const themis_tools_listing_format_t *format);
