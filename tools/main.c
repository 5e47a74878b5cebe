/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `themis`: finds the subcommand and runs it. */
#include <stdio.h>
#include <string.h>
#include "tools/command.h"
#include "tools/creation_mode.h"
#include "tools/sessions.h"

static const themis_tools_command_t *const commands[] = {
    &themis_tools_run,    &themis_tools_start,    &themis_tools_stop,     &themis_tools_status,  &themis_tools_ls,
    &themis_tools_stat,   &themis_tools_cp,       &themis_tools_cat,      &themis_tools_mv,      &themis_tools_rm,
    &themis_tools_ln,     &themis_tools_mkdir,    &themis_tools_rmdir,    &themis_tools_chmod,   &themis_tools_chown,
    &themis_tools_du,     &themis_tools_df,       &themis_tools_find,     &themis_tools_tail,    &themis_tools_mount,
    &themis_tools_umount, &themis_tools_jobs,     &themis_tools_policy,   &themis_tools_top,     &themis_tools_topo,
    &themis_tools_plan,   &themis_tools_periodic, &themis_tools_allocate, &themis_tools_history, &themis_tools_agent,
    &themis_tools_check,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(FILE *out)
{
    fputs("usage: themis COMMAND [ARGUMENTS]\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nPaths on servers are themis:/path or themis://host:port,host:port/path. 'themis help COMMAND' tells "
          "more.\n",
          out);
}

static const themis_tools_command_t *command_find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int wants_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* ls, du and df have -h for sizes, as everywhere. */
static int takes_letter_h(const themis_tools_command_t *command)
{
    return command->options && strstr(command->options, "  -h ") != NULL;
}

/* `themis help` and `themis help COMMAND`. */
static int help(const char *name)
{
    const themis_tools_command_t *command = name ? command_find(name) : NULL;

    if (command) {
        themis_tools_command_help(command, stdout);
    } else if (name) {
        fprintf(stderr, "themis: there is no command '%s'; 'themis help' lists them\n", name);
        return THEMIS_TOOLS_USAGE;
    } else {
        print_commands(stdout);
    }
    return THEMIS_TOOLS_OK;
}

int main(int argc, char **argv)
{
    static char errors[BUFSIZ];
    const themis_tools_command_t *command = argc > 1 ? command_find(argv[1]) : NULL;

    /* A message is one write(2), so that those of several processes do not mix within a line. */
    setvbuf(stderr, errors, _IOLBF, sizeof errors);
    if (argc > 1 && (wants_help(argv[1]) || strcmp(argv[1], "help") == 0))
        return help(argc > 2 ? argv[2] : NULL);
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("themis " THEMIS_VERSION_TEXT);
        return THEMIS_TOOLS_OK;
    }
    if (!command) {
        if (argc > 1)
            fprintf(stderr, "themis: there is no command '%s'\n", argv[1]);
        print_commands(stderr);
        return THEMIS_TOOLS_USAGE;
    }
    if (argc > 2 && wants_help(argv[2]) && (argv[2][1] == '-' || !takes_letter_h(command))) {
        themis_tools_command_help(command, stdout);
        return THEMIS_TOOLS_OK;
    }
    themis_tools_creation_mode_init();
    int status = themis_tools_command_run(command, argc - 1, argv + 1);
    themis_tools_sessions_close();
    if (fflush(stdout) != 0 && status == THEMIS_TOOLS_OK)
        status = THEMIS_TOOLS_FAILED;
    return status;
}
