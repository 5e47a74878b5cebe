/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of jobs in directories that servers write (doc/history.md), or in single files of such lines. */
#pragma once
#include "history/merge.h"
#include "tools/options.h"

typedef struct themis_tools_history_filter {
    const char *application, *job; /* NULL: all */
    const char *name;              /* of a job or an application; NULL: all. With a name there are series */
    int series;                    /* 1: there are without a name, too */
    int64_t user;                  /* -1: all */
    double since, until;           /* s since 1970: jobs that ended after, and began before; 0, INFINITY: all */
} themis_tools_history_filter_t;

typedef struct themis_tools_history {
    themis_history_entry_t *entry; /* one for each job, in order of start; owned */
    size_t count, capacity;
    /* Internal to reading. */
    themis_tools_history_filter_t filter;
    char **source; /* names of servers */
    size_t sources, source_capacity;
    char **file; /* paths */
    size_t files, file_capacity;
    size_t skipped; /* lines that are no record */
    int readable;   /* 1: something could be read */
    char fault[512];
} themis_tools_history_t;

/*
 * Reads what the user may read of the directories or files into zeros; without one, that which the configuration file
 * names ([history] history). Lines that are no record are skipped, with one message; a last line without its end is
 * just being written, and skipped without. Prints errors, and returns THEMIS_TOOLS_FAILED or THEMIS_TOOLS_USAGE.
 */
int themis_tools_history_read(themis_tools_history_t *history, const themis_tools_texts_t *directories,
                              const themis_tools_history_filter_t *filter);
void themis_tools_history_release(themis_tools_history_t *history);
