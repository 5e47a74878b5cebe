/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `themis`: a table of subcommands and what they share. A subcommand is a themis_tools_command_t in a file
 * of its own, named in the table of tools/main.c. Results go to standard output, everything else to standard error.
 */
#ifndef THEMIS_TOOLS_COMMAND_H
#define THEMIS_TOOLS_COMMAND_H
#include <stddef.h>
#include "themis/themis.h"

/* What a subcommand returns, and the exit status of `themis`. */
enum { THEMIS_TOOLS_OK = 0, THEMIS_TOOLS_FAILED = 1, THEMIS_TOOLS_USAGE = 2 };

typedef struct themis_tools_command {
    const char *name;
    const char *usage;                                                          /* arguments, "[-r] FROM... TO" */
    const char *summary;                                                        /* one line */
    const char *options;                                                        /* one line for each, or NULL */
    int (*run)(const struct themis_tools_command *self, int argc, char **argv); /* argv[0] is the name */
} themis_tools_command_t;

extern const themis_tools_command_t themis_tools_run, themis_tools_start, themis_tools_stop, themis_tools_status;
extern const themis_tools_command_t themis_tools_ls, themis_tools_stat, themis_tools_cp, themis_tools_cat;
extern const themis_tools_command_t themis_tools_jobs, themis_tools_policy, themis_tools_top;
extern const themis_tools_command_t themis_tools_rm, themis_tools_mkdir, themis_tools_rmdir, themis_tools_mv;
extern const themis_tools_command_t themis_tools_topo, themis_tools_plan;

/* "themis NAME: text" on standard error; returns THEMIS_TOOLS_FAILED. */
__attribute__((format(printf, 2, 3))) int themis_tools_complain(const themis_tools_command_t *self, const char *format,
                                                                ...);
/* The same for a mistake in the command line; returns THEMIS_TOOLS_USAGE. */
__attribute__((format(printf, 2, 3))) int themis_tools_misused(const themis_tools_command_t *self, const char *format,
                                                               ...);
/* "themis NAME: text" with the text of the library's last error. */
int themis_tools_failed(const themis_tools_command_t *self);
/* Prints how the subcommand is called; returns THEMIS_TOOLS_USAGE. */
int themis_tools_usage(const themis_tools_command_t *self);

/*
 * Takes the options before the operands: "-r", "-rf", "--json", "-s 2", "-s2", "--store DIR", "--store=DIR"; "--" ends
 * them. The array ends with an entry that has neither flag nor text. Returns the index of the first operand, or -1
 * after a complaint.
 */
typedef struct themis_tools_option {
    char letter;       /* 0: none */
    const char *name;  /* NULL: none */
    int *flag;         /* set to 1; NULL if the option takes a value */
    const char **text; /* set to the value */
} themis_tools_option_t;
int themis_tools_options(const themis_tools_command_t *self, int argc, char **argv,
                         const themis_tools_option_t *options);

/* 1 for "themis:/path" and "themis://host:port,host:port/path". */
int themis_tools_is_remote(const char *text);

/*
 * The session and the path of such a text. Sessions are shared by all paths of the same servers and end with
 * themis_tools_close; *path points into `text`, or is "/" where that names none. Complains by itself.
 */
int themis_tools_resolve(const themis_tools_command_t *self, const char *text, themis_t **session, const char **path);

/* The session of a server list; NULL: that of the environment and the configuration. */
int themis_tools_session(const themis_tools_command_t *self, const char *servers, themis_t **session);
void themis_tools_close(void);

/*
 * *same: 1 if the sessions have a server in common, whatever it is called in their lists, so that a path means the same
 * file or directory in both. Complains by itself where no server tells.
 */
int themis_tools_same_servers(const themis_tools_command_t *self, themis_t *a, themis_t *b, int *same);
#endif
