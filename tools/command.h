/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `themis`: a table of subcommands. Each is a themis_tools_command_t in a file of its name, listed in the
 * table of tools/main.c. Results go to standard output, everything else to standard error.
 */
#pragma once
#include <stdio.h>

/* What a subcommand returns, and the exit status of `themis`. UNSETTLED: of `check`, which could not find out. */
enum { THEMIS_TOOLS_OK = 0, THEMIS_TOOLS_FAILED = 1, THEMIS_TOOLS_USAGE = 2, THEMIS_TOOLS_UNSETTLED = 3 };

/* Which operands such as themis:/d/x*.h5 become the paths that match. Never what is written to. */
typedef enum themis_tools_patterns {
    THEMIS_TOOLS_PATTERNS_NONE,
    THEMIS_TOOLS_PATTERNS_ALL,
    THEMIS_TOOLS_PATTERNS_SOURCES /* all operands but the last */
} themis_tools_patterns_t;

typedef struct themis_tools_command {
    const char *name;
    const char *usage;                 /* arguments, "[-r] FROM... TO" */
    const char *summary;               /* one line */
    const char *options;               /* one line for each, or NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the name */
    themis_tools_patterns_t patterns;
} themis_tools_command_t;

extern const themis_tools_command_t themis_tools_run, themis_tools_start, themis_tools_stop, themis_tools_status;
extern const themis_tools_command_t themis_tools_ls, themis_tools_stat, themis_tools_cp, themis_tools_cat;
extern const themis_tools_command_t themis_tools_jobs, themis_tools_policy, themis_tools_top;
extern const themis_tools_command_t themis_tools_rm, themis_tools_mkdir, themis_tools_rmdir, themis_tools_mv;
extern const themis_tools_command_t themis_tools_ln;
extern const themis_tools_command_t themis_tools_chmod, themis_tools_chown, themis_tools_df, themis_tools_du;
extern const themis_tools_command_t themis_tools_find, themis_tools_tail;
extern const themis_tools_command_t themis_tools_mount, themis_tools_umount;
extern const themis_tools_command_t themis_tools_topo, themis_tools_plan, themis_tools_periodic, themis_tools_allocate;
extern const themis_tools_command_t themis_tools_history, themis_tools_agent, themis_tools_check;

/* Runs a subcommand; the functions below are for it. */
int themis_tools_command_run(const themis_tools_command_t *command, int argc, char **argv);

/* Prints how a subcommand is called. */
void themis_tools_command_help(const themis_tools_command_t *command, FILE *out);

/* The same for the running one, on standard error; returns THEMIS_TOOLS_USAGE. */
int themis_tools_usage(void);

/* "themis NAME: text" on standard error; returns `result`. */
__attribute__((format(printf, 2, 3))) int themis_tools_say(int result, const char *format, ...);
#define themis_tools_note(...) ((void)themis_tools_say(THEMIS_TOOLS_OK, __VA_ARGS__))
#define themis_tools_error(...) themis_tools_say(THEMIS_TOOLS_FAILED, __VA_ARGS__)
/* Of a mistake in the command line. */
#define themis_tools_misuse(...) themis_tools_say(THEMIS_TOOLS_USAGE, __VA_ARGS__)
/* The same with the text of the client library's last error; returns THEMIS_TOOLS_FAILED. */
int themis_tools_error_last(void);
/* The same with the text of errno: "NAME: what: cause"; returns THEMIS_TOOLS_FAILED. */
int themis_tools_error_errno(const char *what);
