/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands with * and ?, which no shell expands on servers. */
#pragma once

/*
 * Arguments in which each "themis:..." whose path has such characters, and does not exist, stands for the paths that
 * match, in byte order, as in a shell: a name that begins with a dot is matched by a dot only, a slash at the end
 * matches directories only, and what matches nothing stays as it is. [] counts beside * or ? only, so that a name such
 * as x[1] is never another. `but_last`: the last argument stays as it is. *argc is the number of arguments and becomes
 * the new one. Returns `argv` if there is nothing to do, else an array that lasts as long as the process; NULL, and the
 * error was printed, if a directory cannot be read or memory is short.
 */
char **themis_tools_patterns_expand(int *argc, char **argv, int but_last);
