/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions with the servers that the operands of a subcommand name. All functions print their errors. */
#pragma once
#include "themis/themis.h"
#include "tools/options.h"

/* The session of a server list; NULL: that of the environment and the configuration. Paths on the same servers share a
 * session; themis_tools_sessions_close ends them all. Any thread but for the latter, which comes when no other uses a
 * session. */
int themis_tools_session_get(const char *servers, themis_t **session);
void themis_tools_sessions_close(void);
/* Sessions that are made from now on wait so long, in ns, for servers that do not answer, unless THEMIS_TIMEOUT says
 * another time. 0: the library's default. */
void themis_tools_sessions_limit(uint64_t timeout);

/* The list that is meant, owned by the caller: as given, configured, or where nothing is, that of `themis start`. NULL:
 * none, or a wrong one, of which themis_connect tells. */
char *themis_tools_session_list(const char *servers);

/* 1 if server `index` could not be reached when the session was made; operations that need it fail after less than a
 * second, unless THEMIS_TIMEOUT is set. *down, which may be NULL: how many there are of them. */
int themis_tools_session_is_down(themis_t *session, uint32_t index, uint32_t *down);

/* 1 for "themis:/path" and "themis://host:port,host:port/path". */
int themis_tools_session_is_remote(const char *text);

/* The session and the path of such a text; *path points into `text`, or is "/" where it has no path. */
int themis_tools_session_resolve(const char *text, themis_t **session, const char **path);

/* Parses the options, then calls act for every operand, which must be remote. Returns the results, combined by or. */
typedef int (*themis_tools_path_fn)(void *arg, themis_t *session, const char *path);
int themis_tools_session_each_path(int argc, char **argv, const themis_tools_option_t *options,
                                   themis_tools_path_fn act, void *arg);

/*
 * *same: 1 if the sessions have a server in common, whatever its name in their lists, so that a path means the same
 * file or directory in both.
 */
int themis_tools_session_same_servers(themis_t *a, themis_t *b, int *same);
