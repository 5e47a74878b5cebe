/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/patterns.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "themis/themis.h"
#include "tools/array.h"
#include "tools/command.h"
#include "tools/sessions.h"

typedef struct texts {
    char **array; /* owned, with what is in it */
    size_t count, capacity;
    int failed; /* out of memory */
} texts_t;

/* Takes over `text`, which may be NULL if there was no memory for it. */
static void text_add(texts_t *texts, char *text)
{
    char **array = themis_tools_array_room((void *)texts->array, texts->count, &texts->capacity, sizeof *array);

    if (!array) {
        texts->failed = 1;
        free(text);
        return;
    }
    texts->array = array;
    texts->array[texts->count] = text;
    texts->count += text != NULL;
    texts->failed |= text == NULL;
}

static void texts_free(texts_t *texts)
{
    while (texts->count > 0)
        free(texts->array[--texts->count]);
    free((void *)texts->array);
}

/* One directory of an expansion. */
typedef struct matching {
    const char *directory; /* path without a slash at its end */
    const char *pattern;
    int only_directories;
    texts_t *found;
} matching_t;

static char *path_join(const char *directory, const char *name)
{
    char *path = malloc(strlen(directory) + strlen(name) + 2);

    if (path)
        sprintf(path, "%s/%s", directory, name);
    return path;
}

static int entry_match(void *arg, const char *name, themis_type_t type)
{
    const matching_t *matching = arg;

    if ((!matching->only_directories || type == THEMIS_TYPE_DIRECTORY) &&
        fnmatch(matching->pattern, name, FNM_PERIOD) == 0)
        text_add(matching->found, path_join(matching->directory, name));
    return matching->found->failed;
}

static int is_pattern(const char *text)
{
    return strpbrk(text, "*?") != NULL;
}

/* Every directory of `from` with one more component. What is not there, or no directory, has no entries. */
static int component_match(themis_t *session, const texts_t *from, const char *component, int only_directories,
                           texts_t *to)
{
    for (size_t i = 0; i < from->count && !to->failed; i++) {
        const char *directory = from->array[i];
        matching_t matching = {directory, component, only_directories, to};
        if (!strpbrk(component, "*?[")) {
            text_add(to, path_join(directory, component));
            continue;
        }
        themis_status_t status = themis_readdir(session, *directory ? directory : "/", entry_match, &matching);
        if (status != THEMIS_OK && status != THEMIS_NO_ENTRY && status != THEMIS_NOT_DIRECTORY)
            return themis_tools_error_last();
    }
    return THEMIS_TOOLS_OK;
}

/* The paths that match; without those that do not exist. */
static int path_match(themis_t *session, const char *path, texts_t *found)
{
    char *rest = strdup(path), *next = rest;
    int ends_with_slash = *path && path[strlen(path) - 1] == '/', result = THEMIS_TOOLS_OK;
    themis_stat_t stat;
    texts_t now = {0};

    text_add(&now, strdup(""));
    now.failed |= rest == NULL;
    for (char *component; result == THEMIS_TOOLS_OK && !now.failed && (component = strtok_r(next, "/", &next));) {
        texts_t more = {0};
        result = component_match(session, &now, component, ends_with_slash || next[strspn(next, "/")], &more);
        texts_free(&now);
        now = more;
    }
    free(rest);
    for (size_t i = 0; i < now.count && result == THEMIS_TOOLS_OK; i++)
        if (themis_stat(session, now.array[i], &stat) != THEMIS_NO_ENTRY)
            text_add(found, strdup(now.array[i]));
    found->failed |= now.failed;
    texts_free(&now);
    return result;
}

/* The paths for one argument get its beginning, "themis:" or "themis://host:port". */
static int argument_expand(char *argument, texts_t *arguments)
{
    const char *path = argument;
    size_t before = arguments->count;
    themis_t *session;
    themis_stat_t stat;
    texts_t found = {0};
    int result = THEMIS_TOOLS_OK;

    if (!themis_tools_session_is_remote(argument) || !is_pattern(argument)) {
        text_add(arguments, strdup(argument));
        return THEMIS_TOOLS_OK;
    }
    if (themis_tools_session_resolve(argument, &session, &path) != 0)
        return THEMIS_TOOLS_FAILED;
    if (is_pattern(path) && themis_stat(session, path, &stat) == THEMIS_NO_ENTRY)
        result = path_match(session, path, &found);
    for (size_t i = 0; i < found.count; i++) {
        char *text = malloc((size_t)(path - argument) + strlen(found.array[i]) + 1);
        if (text)
            sprintf(text, "%.*s%s", (int)(path - argument), argument, found.array[i]);
        text_add(arguments, text);
    }
    arguments->failed |= found.failed;
    texts_free(&found);
    if (arguments->count == before)
        text_add(arguments, strdup(argument));
    return result;
}

char **themis_tools_patterns_expand(int *argc, char **argv, int but_last)
{
    static texts_t expanded; /* until the end of the process */
    int any = 0, result = THEMIS_TOOLS_OK, end = *argc - (but_last && *argc > 1);

    for (int i = 0; i < end; i++)
        any |= themis_tools_session_is_remote(argv[i]) && is_pattern(argv[i]);
    if (!any)
        return argv;
    for (int i = 0; i < end && result == THEMIS_TOOLS_OK; i++)
        result = argument_expand(argv[i], &expanded);
    for (int i = end; i < *argc; i++)
        text_add(&expanded, strdup(argv[i]));
    int count = (int)expanded.count;
    text_add(&expanded, strdup("")); /* room for the NULL */
    if (expanded.failed)
        result = themis_tools_error("out of memory for the paths that match");
    if (result != THEMIS_TOOLS_OK) {
        texts_free(&expanded);
        return NULL;
    }
    free(expanded.array[count]);
    expanded.array[count] = NULL;
    *argc = count;
    return expanded.array;
}
