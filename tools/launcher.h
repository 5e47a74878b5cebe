/* SPDX-License-Identifier: BSD-3-Clause */
/* How a program gets to another host of the job: srun, ssh, mpirun, flux, or a command of the user's. */
#pragma once
#include "tools/hosts.h"

enum { THEMIS_TOOLS_LAUNCHER_WORDS = 48 };

typedef struct themis_tools_launcher_command {
    char *words[THEMIS_TOOLS_LAUNCHER_WORDS + 1]; /* owned; ends with NULL */
    int count;
} themis_tools_launcher_command_t;

/* That which fits the batch system, as `themis_tools_launcher_build` knows it. */
const char *themis_tools_launcher_default(const themis_tools_hosts_t *hosts);

/*
 * The command that runs `program ARGUMENT` on host number `index`, with its standard input and output passed on.
 * `launcher` is a name from above or "COMMAND WORD...", to which host, program and argument are added, as with ssh.
 * Prints its errors. Release with themis_tools_launcher_free, also after a failure.
 */
int themis_tools_launcher_build(const char *launcher, const themis_tools_hosts_t *hosts, int index,
                                const char *const program[2], themis_tools_launcher_command_t *command);
void themis_tools_launcher_free(themis_tools_launcher_command_t *command);
