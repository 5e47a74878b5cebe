/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/launcher.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"

/* Words before the program; "%h" stands for the host, "%i" for its number. */
typedef struct launcher {
    const char *name;
    const char *words[20];
    int by_shell; /* 1: the words of the program are put together for a shell on the other host */
} launcher_t;

static const launcher_t launchers[] = {
    /* beside the steps of the job, and without what the job's options would ask for */
    {"srun",
     {"srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--nodelist=%h", "--mpi=none",
      "--cpu-bind=none", "--job-name=themis-servers", "--kill-on-bad-exit=0", "--unbuffered", "--quiet"},
     0},
    {"ssh",
     {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3", "%h"},
     1},
    {"mpirun", {"mpirun", "-n", "1", "-host", "%h"}, 0},
    {"flux", {"flux", "exec", "-r", "%i"}, 0},
};

const char *themis_tools_launcher_default(const themis_tools_hosts_t *hosts)
{
    if (hosts->source && strcmp(hosts->source, "Slurm") == 0)
        return "srun";
    return hosts->source && strcmp(hosts->source, "Flux") == 0 ? "flux" : "ssh";
}

static int word_add(themis_tools_launcher_command_t *command, char *word)
{
    if (!word)
        return themis_tools_error("out of memory");
    if (command->count == THEMIS_TOOLS_LAUNCHER_WORDS) {
        free(word);
        return themis_tools_misuse("--launcher: more than %d words", THEMIS_TOOLS_LAUNCHER_WORDS);
    }
    command->words[command->count++] = word;
    return THEMIS_TOOLS_OK;
}

/* As one word of a shell. */
static char *quoted(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@";
    char *word = malloc(4 * strlen(text) + 3), *at = word;

    if (!word || text[strspn(text, plain)] == '\0')
        return word ? strcpy(word, text) : NULL;
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'')
            at = stpcpy(at, "'\\'");
        *at++ = *text;
    }
    strcpy(at, "'");
    return word;
}

static int words_add(const launcher_t *launcher, const char *host, int index, themis_tools_launcher_command_t *command)
{
    int result = THEMIS_TOOLS_OK;

    for (const char *const *word = launcher->words; *word && result == THEMIS_TOOLS_OK; word++) {
        const char *hole = strchr(*word, '%');
        char *text = NULL;
        if (!hole)
            text = strdup(*word);
        else if (hole[1] == 'h' ? asprintf(&text, "%.*s%s", (int)(hole - *word), *word, host) < 0
                                : asprintf(&text, "%.*s%d", (int)(hole - *word), *word, index) < 0)
            text = NULL;
        result = word_add(command, text);
    }
    return result;
}

/* A command of the user's, split at blanks. */
static int custom_add(const char *text, const char *host, themis_tools_launcher_command_t *command)
{
    int result = THEMIS_TOOLS_OK;

    for (text += strspn(text, " "); *text && result == THEMIS_TOOLS_OK; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        result = word_add(command, strndup(text, length));
        text += length;
    }
    if (result == THEMIS_TOOLS_OK && command->count == 0)
        return themis_tools_misuse("--launcher: expected srun, ssh, mpirun, flux or a command");
    return result == THEMIS_TOOLS_OK ? word_add(command, strdup(host)) : result;
}

int themis_tools_launcher_build(const char *launcher, const themis_tools_hosts_t *hosts, int index,
                                const char *const program[2], themis_tools_launcher_command_t *command)
{
    const launcher_t *known = NULL;
    const char *host = hosts->names[index];

    *command = (themis_tools_launcher_command_t){.count = 0};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(launchers[i].name, launcher) == 0)
            known = &launchers[i];
    int result = known ? words_add(known, host, index, command) : custom_add(launcher, host, command);
    for (int i = 0; i < 2 && result == THEMIS_TOOLS_OK; i++)
        result = word_add(command, !known || known->by_shell ? quoted(program[i]) : strdup(program[i]));
    return result;
}

void themis_tools_launcher_free(themis_tools_launcher_command_t *command)
{
    while (command->count > 0)
        free(command->words[--command->count]);
}
