/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of `themis allocate`: a file with one JSON object a line for each job that has run (doc/dfra.md), or the
 * directory that servers write (doc/history.md). */
#pragma once
#include "dfra/dfra.h"

typedef struct themis_tools_allocate_history {
    const char *path; /* borrowed */
    int is_directory; /* 1: it has no text, and is read anew by each question */
    char *text;       /* [size], mapped */
    size_t size;
} themis_tools_allocate_history_t;

/* Opens a file or directory into zeros. Prints errors and returns THEMIS_TOOLS_FAILED. */
int themis_tools_allocate_history_open(themis_tools_allocate_history_t *history, const char *path);
void themis_tools_allocate_history_close(themis_tools_allocate_history_t *history);

/*
 * The run of an application (and of a user, unless NULL) with this number of nodes that ended last; `records` is how
 * many there are, 0 for none. Only lines that may be of this application are parsed, and the whole file is read once.
 * Prints errors, with file and line, and returns THEMIS_TOOLS_USAGE.
 */
int themis_tools_allocate_history_find(const themis_tools_allocate_history_t *history, const char *application,
                                       const char *user, uint32_t nodes, themis_dfra_application_t *known);
