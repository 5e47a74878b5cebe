/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts of a job: those that the user names, or those that a batch system has given to it. */
#pragma once
#include <stddef.h>

enum { THEMIS_TOOLS_MAX_HOSTS = 200000 };

typedef struct themis_tools_hosts {
    char **names; /* owned, each once, in the job's order */
    int count;
    size_t capacity;    /* of names */
    const char *source; /* "Slurm", "PBS", "LSF", "Flux" or "--hosts"; NULL: none */
} themis_tools_hosts_t;

/* All functions but the last two print their errors, and return THEMIS_TOOLS_OK or another status; on failure the hosts
 * are to be freed, too. */

/* "a,b[0-3,07-09]c,d": as Slurm and Flux write lists, with several brackets in a name, too. */
int themis_tools_hosts_parse(const char *list, themis_tools_hosts_t *hosts);

/* A file with a host in each line: what follows the first blank or colon does not count, nor do comments after '#'. */
int themis_tools_hosts_read(const char *path, themis_tools_hosts_t *hosts);

/* `given`: a file or a list; NULL: those of the batch system's job that this process belongs to, none outside of one.
 */
int themis_tools_hosts_find(const char *given, themis_tools_hosts_t *hosts);

/* 1: the name is this host's, with or without its domain, or "localhost". */
int themis_tools_host_is_this(const char *name);

void themis_tools_hosts_free(themis_tools_hosts_t *hosts);
