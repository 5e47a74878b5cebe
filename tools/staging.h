/* SPDX-License-Identifier: BSD-3-Clause */
/* What `themis run` copies to the servers before the command, and from them after it. */
#pragma once
#include "tools/options.h"

typedef struct themis_tools_staging {
    themis_tools_texts_t in;  /* "SRC" or "SRC:DST"; DST is a path on the servers */
    themis_tools_texts_t out; /* "SRC:DST"; SRC is a path on the servers */
    const char *keep;         /* directory that gets all files at the end, or NULL */
    int verify, quiet;
} themis_tools_staging_t;

/* One copy, as `themis cp -r` does it. */
typedef struct themis_tools_stage {
    char *from, *to; /* owned */
} themis_tools_stage_t;

/* Splits an operand; THEMIS_TOOLS_USAGE after an error message. Release with themis_tools_stage_free. */
int themis_tools_stage_in_parse(const char *text, themis_tools_stage_t *stage);
int themis_tools_stage_out_parse(const char *text, themis_tools_stage_t *stage);
void themis_tools_stage_free(themis_tools_stage_t *stage);

/* Parses all, and looks whether targets can be written, since after hours of the command it would be too late. Nothing
 * is copied. */
int themis_tools_staging_check(const themis_tools_staging_t *staging);

/* Runs one copy, by whatever runs a command ("PROGRAM cp -r ..."); returns its status. */
typedef int (*themis_tools_stage_fn)(void *arg, char **command);

/* All copies to the servers; ends with the first that fails. */
int themis_tools_staging_begin(const themis_tools_staging_t *staging, themis_tools_stage_fn run, void *arg);
/* All copies from them, whatever fails; returns the first bad status. */
int themis_tools_staging_end(const themis_tools_staging_t *staging, themis_tools_stage_fn run, void *arg);
