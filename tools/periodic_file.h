/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applications and the platform of `themis periodic`, from a file like those that configure a server (INI):
 * [platform] with nodes, bandwidth, node_bandwidth; [application NAME] with compute, volume, nodes, number, confidence.
 */
#pragma once
#include "persched/persched.h"

typedef struct themis_tools_periodic_file {
    themis_persched_problem_t problem;
    themis_persched_application_t *application; /* [problem.applications] as problem.application; owned, names too */
    int *line;                                  /* [problem.applications] where each begins; owned */
    uint32_t capacity;
    int last_line;
    char reason[96]; /* why the entry read last is wrong */
} themis_tools_periodic_file_t;

/*
 * Reads a file into zeros. `platform` (NULL: the file's [platform]) is "NODES,BANDWIDTH,NODE_BANDWIDTH" and counts
 * instead of it. Prints errors, with file and line, and returns THEMIS_TOOLS_USAGE for what is wrong in either.
 */
int themis_tools_periodic_read(themis_tools_periodic_file_t *file, const char *path, const char *platform);
void themis_tools_periodic_release(themis_tools_periodic_file_t *file);
