/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/walk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/array.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/sessions.h"

/* A directory that is being walked. */
typedef struct level {
    size_t length, shown_length; /* of its paths, in front of "/name" */
    themis_stat_t stat;
    char **names; /* owned */
    size_t count, capacity, next;
} level_t;

typedef struct walk {
    themis_t *session;
    const char *operand, *operand_path; /* borrowed */
    unsigned limit;
    themis_tools_walk_fn visit;
    void *arg;
    char path[THEMIS_PATH_BYTES], shown[2 * THEMIS_PATH_BYTES]; /* of what is visited */
    level_t *levels;                                            /* owned; from the operand down */
    size_t depth, capacity;
    int result;
} walk_t;

static void visit(walk_t *walk, const themis_stat_t *stat, unsigned depth, themis_tools_walk_event_t event)
{
    const char *slash = depth > 0 ? strrchr(walk->shown, '/') : NULL;
    const themis_tools_walked_t walked = {.session = walk->session,
                                          .path = walk->path,
                                          .shown = walk->shown,
                                          .name = slash ? slash + 1 : walk->shown,
                                          .depth = depth,
                                          .stat = *stat};

    walk->result |= walk->visit(walk->arg, &walked, event);
}

static int name_add(void *arg, const char *name, themis_type_t type)
{
    level_t *level = arg;

    char **names = themis_tools_array_room(level->names, level->count, &level->capacity, sizeof *names);
    if (!names)
        return 1;
    level->names = names;
    level->names[level->count] = strdup(name);
    return level->names[level->count] ? (level->count++, 0) : 1;
}

static void names_read(walk_t *walk, level_t *level)
{
    if (themis_readdir(walk->session, walk->path, name_add, level) != THEMIS_OK)
        walk->result |= themis_tools_error_last();
    else
        visit(walk, &level->stat, (unsigned)walk->depth, THEMIS_TOOLS_WALK_CONTENTS);
}

/* The paths are those of a directory. */
static void directory_enter(walk_t *walk, const themis_stat_t *stat)
{
    level_t *levels = themis_tools_array_room(walk->levels, walk->depth, &walk->capacity, sizeof *levels);

    if (!levels) {
        walk->result |= themis_tools_error("out of memory");
        return;
    }
    walk->levels = levels;
    level_t *level = &walk->levels[walk->depth];
    *level = (level_t){.length = strlen(walk->path), .shown_length = strlen(walk->shown), .stat = *stat};
    names_read(walk, level);
    level->length -= walk->path[level->length - 1] == '/';
    level->shown_length -= walk->shown[level->shown_length - 1] == '/';
    walk->depth++;
}

static void directory_leave(walk_t *walk)
{
    level_t *level = &walk->levels[--walk->depth];

    for (size_t i = 0; i < level->count; i++)
        free(level->names[i]);
    free(level->names);
    walk->path[level->length] = walk->shown[level->shown_length] = '\0';
    if (walk->depth == 0) { /* with the slashes at the end */
        strcpy(walk->path, walk->operand_path);
        strcpy(walk->shown, walk->operand);
    }
    visit(walk, &level->stat, (unsigned)walk->depth, THEMIS_TOOLS_WALK_AFTERWARDS);
}

/* Of the entry whose paths are set. */
static void entry_walk(walk_t *walk)
{
    themis_stat_t stat;
    themis_status_t status = themis_lstat(walk->session, walk->path, &stat);

    if (status == THEMIS_NO_ENTRY && walk->depth > 0)
        return;
    if (status != THEMIS_OK) {
        walk->result |= themis_tools_error_last();
        return;
    }
    visit(walk, &stat, (unsigned)walk->depth, THEMIS_TOOLS_WALK_ENTRY);
    if (stat.type != THEMIS_TYPE_DIRECTORY)
        return;
    if (walk->depth < walk->limit)
        directory_enter(walk, &stat);
    else
        visit(walk, &stat, (unsigned)walk->depth, THEMIS_TOOLS_WALK_AFTERWARDS);
}

static void next_walk(walk_t *walk)
{
    level_t *level = &walk->levels[walk->depth - 1];
    const char *name = level->names[level->next++];

    if (level->length + 1 + strlen(name) >= sizeof walk->path ||
        level->shown_length + 1 + strlen(name) >= sizeof walk->shown) {
        walk->result |=
            themis_tools_error("%.*s/%s: the path is too long", (int)level->shown_length, walk->shown, name);
        return;
    }
    snprintf(walk->path + level->length, sizeof walk->path - level->length, "/%s", name);
    snprintf(walk->shown + level->shown_length, sizeof walk->shown - level->shown_length, "/%s", name);
    entry_walk(walk);
}

int themis_tools_walk(const char *text, unsigned depth, themis_tools_walk_fn visit_fn, void *arg)
{
    walk_t *walk = calloc(1, sizeof *walk);
    int result = walk ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");

    if (walk) {
        walk->operand = text;
        walk->limit = depth;
        walk->visit = visit_fn;
        walk->arg = arg;
        result = themis_tools_session_resolve(text, &walk->session, &walk->operand_path);
    }
    if (result == THEMIS_TOOLS_OK &&
        (snprintf(walk->shown, sizeof walk->shown, "%s", text) >= (int)sizeof walk->shown ||
         snprintf(walk->path, sizeof walk->path, "%s", walk->operand_path) >= (int)sizeof walk->path))
        result = themis_tools_error("%s: the path is too long", text);
    if (result == THEMIS_TOOLS_OK) {
        entry_walk(walk);
        while (walk->depth > 0) {
            const level_t *level = &walk->levels[walk->depth - 1];
            if (level->next < level->count && !themis_tools_interrupted())
                next_walk(walk);
            else
                directory_leave(walk);
        }
        result = walk->result;
    }
    if (walk)
        free(walk->levels);
    free(walk);
    return result;
}
