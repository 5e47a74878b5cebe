/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/staging.h"
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/sessions.h"

static int stage_make(char *from, char *to, themis_tools_stage_t *stage)
{
    *stage = (themis_tools_stage_t){from, to};
    if (from && to)
        return THEMIS_TOOLS_OK;
    themis_tools_stage_free(stage);
    return themis_tools_error("out of memory");
}

/* "themis:/path" of a path on the servers with or without the scheme; NULL if out of memory. */
static char *remote_path(const char *text, size_t length)
{
    char *path;
    const char *scheme = themis_tools_session_is_remote(text) ? "" : "themis:";

    return asprintf(&path, "%s%.*s", scheme, (int)length, text) < 0 ? NULL : path;
}

/* The last "word" in the text, or NULL. */
static const char *last_find(const char *text, const char *word)
{
    const char *found = NULL;

    for (const char *at = text; (at = strstr(at, word)); at++)
        found = at;
    return found;
}

/* A colon before a path on the servers separates, unless all of it is the name of a file. */
int themis_tools_stage_in_parse(const char *text, themis_tools_stage_t *stage)
{
    const char *colon = NULL;

    if (access(text, F_OK) != 0 && !(colon = last_find(text, ":themis:")))
        colon = last_find(text, ":/");
    if (colon == text || !*text)
        return themis_tools_misuse("--stage-in %s: expected FILE or FILE:/PATH-ON-SERVERS", text);
    if (!colon)
        return stage_make(strdup(text), strdup("themis:/"), stage);
    return stage_make(strndup(text, (size_t)(colon - text)), remote_path(colon + 1, strlen(colon + 1)), stage);
}

int themis_tools_stage_out_parse(const char *text, themis_tools_stage_t *stage)
{
    const char *path = themis_tools_session_is_remote(text) ? strchr(text, ':') + 1 : text, *colon = strrchr(path, ':');

    if (*path != '/' || !colon || !colon[1])
        return themis_tools_misuse("--stage-out %s: expected /PATH-ON-SERVERS:FILE", text);
    return stage_make(remote_path(text, (size_t)(colon - text)), strdup(colon + 1), stage);
}

void themis_tools_stage_free(themis_tools_stage_t *stage)
{
    free(stage->from);
    free(stage->to);
    *stage = (themis_tools_stage_t){0};
}

/* Can `to` be written, or be made in its directory? */
static int target_check(const char *option, const char *to)
{
    struct stat info;
    char parent[PATH_MAX], cause[256];

    if (themis_tools_session_is_remote(to))
        return THEMIS_TOOLS_OK;
    if (snprintf(parent, sizeof parent, "%s", to) >= (int)sizeof parent)
        return themis_tools_misuse("%s: the path is too long", option);
    if (stat(to, &info) == 0) {
        int mode = S_ISDIR(info.st_mode) ? W_OK | X_OK : W_OK;
        return access(to, mode) == 0 ? THEMIS_TOOLS_OK
                                     : themis_tools_error("%s: %s: %s; the command is not run", option, to,
                                                          strerror_r(errno, cause, sizeof cause));
    }
    const char *directory = dirname(parent);
    if (access(directory, W_OK | X_OK) != 0)
        return themis_tools_error("%s: cannot make %s: %s: %s; the command is not run", option, to, directory,
                                  strerror_r(errno, cause, sizeof cause));
    return THEMIS_TOOLS_OK;
}

static int in_check(const char *text)
{
    themis_tools_stage_t stage;
    int result = themis_tools_stage_in_parse(text, &stage);

    if (result == THEMIS_TOOLS_OK)
        themis_tools_stage_free(&stage);
    return result;
}

static int out_check(const char *text)
{
    themis_tools_stage_t stage;
    char option[PATH_MAX];
    int result = themis_tools_stage_out_parse(text, &stage);

    if (result != THEMIS_TOOLS_OK)
        return result;
    snprintf(option, sizeof option, "--stage-out %s", text);
    result = target_check(option, stage.to);
    themis_tools_stage_free(&stage);
    return result;
}

int themis_tools_staging_check(const themis_tools_staging_t *staging)
{
    int result = THEMIS_TOOLS_OK;

    for (int i = 0; i < staging->in.count && result == THEMIS_TOOLS_OK; i++)
        result = in_check(staging->in.texts[i]);
    for (int i = 0; i < staging->out.count && result == THEMIS_TOOLS_OK; i++)
        result = out_check(staging->out.texts[i]);
    if (staging->keep && result == THEMIS_TOOLS_OK)
        result = target_check("--keep", staging->keep);
    return result;
}

/* As a process of its own, so that a signal ends it as it would end the command. */
static int copy(const themis_tools_staging_t *staging, const char *from, const char *to, themis_tools_stage_fn run,
                void *arg)
{
    static char self[] = "/proc/self/exe", name[] = "cp", options[] = "-r", verify[] = "--verify", quiet[] = "-q",
                end[] = "--";
    char *command[9] = {self, name, options};
    int count = 3;

    if (staging->verify)
        command[count++] = verify;
    if (staging->quiet)
        command[count++] = quiet;
    command[count++] = end;
    command[count++] = strdup(from);
    command[count++] = strdup(to);
    int result = command[count - 2] && command[count - 1] ? run(arg, command) : themis_tools_error("out of memory");
    free(command[count - 2]);
    free(command[count - 1]);
    return result;
}

int themis_tools_staging_begin(const themis_tools_staging_t *staging, themis_tools_stage_fn run, void *arg)
{
    themis_tools_stage_t stage;
    int result = THEMIS_TOOLS_OK;

    for (int i = 0; i < staging->in.count && result == THEMIS_TOOLS_OK; i++) {
        if ((result = themis_tools_stage_in_parse(staging->in.texts[i], &stage)) != THEMIS_TOOLS_OK)
            return result;
        result = copy(staging, stage.from, stage.to, run, arg);
        if (result != THEMIS_TOOLS_OK)
            themis_tools_error("--stage-in %s failed: the command is not run", staging->in.texts[i]);
        themis_tools_stage_free(&stage);
    }
    return result;
}

int themis_tools_staging_end(const themis_tools_staging_t *staging, themis_tools_stage_fn run, void *arg)
{
    themis_tools_stage_t stage;
    int result = THEMIS_TOOLS_OK;

    for (int i = 0; i < staging->out.count; i++) {
        int copied = themis_tools_stage_out_parse(staging->out.texts[i], &stage);
        if (copied == THEMIS_TOOLS_OK) {
            copied = copy(staging, stage.from, stage.to, run, arg);
            themis_tools_stage_free(&stage);
        }
        if (copied != THEMIS_TOOLS_OK)
            themis_tools_error("--stage-out %s failed", staging->out.texts[i]);
        result = result == THEMIS_TOOLS_OK ? copied : result;
    }
    if (staging->keep) {
        int copied = copy(staging, "themis:/", staging->keep, run, arg);
        if (copied != THEMIS_TOOLS_OK)
            themis_tools_error("--keep %s failed", staging->keep);
        result = result == THEMIS_TOOLS_OK ? copied : result;
    }
    return result;
}
