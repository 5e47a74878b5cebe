/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands with *, ? and [], which no shell expands on servers. */
#ifndef THEMIS_TOOLS_PATTERNS_H
#define THEMIS_TOOLS_PATTERNS_H

/*
 * Arguments in which each "themis:..." whose path has such characters, and is none that exists, stands for the paths
 * that match, in byte order, as in a shell: a name that begins with a dot is matched by a dot only, and what matches
 * nothing stays as it is. *argc is the number of arguments and becomes the new one. Returns `argv` if there is nothing
 * to do, else an array that lasts as long as the process.
 */
char **themis_tools_patterns_expand(int *argc, char **argv);
#endif
