/* SPDX-License-Identifier: BSD-3-Clause */
/* The directories between the root of the tree and the current one are on a list, not on the stack of calls. */
#include "tools/copy_tree.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tools/array.h"
#include "tools/command.h"
#include "tools/creation_mode.h"
#include "tools/interrupt.h"

typedef struct themis_tools_copied_directory {
    themis_tools_location_t to; /* owned */
    themis_tools_location_info_t attributes;
} copied_directory_t;

/* A directory that is being copied. */
typedef struct level {
    themis_tools_location_t from, to; /* owned */
    themis_tools_location_info_t attributes;
    char **names; /* owned; of its entries */
    size_t count, capacity, next;
} level_t;

typedef struct descent {
    themis_tools_copying_t *copying;
    themis_tools_copy_pool_t *pool;
    themis_tools_copied_directories_t *done;
    level_t *levels; /* from the root down */
    size_t depth, capacity;
} descent_t;

static int look_error(const themis_tools_location_t *location)
{
    return location->session ? themis_tools_error_last() : themis_tools_error_errno(location->path);
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

static int name_add(void *arg, const char *name, themis_type_t type)
{
    level_t *level = arg;
    char **names = themis_tools_array_room(level->names, level->count, &level->capacity, sizeof *names);

    if (!names)
        return 1;
    level->names = names;
    names[level->count] = strdup(name);
    return names[level->count] ? (level->count++, 0) : 1;
}

static int names_read_local(level_t *level)
{
    DIR *directory = opendir(level->from.path);
    struct dirent *entry;
    int failed = 0;

    if (!directory)
        return themis_tools_error_errno(level->from.path);
    while (!failed && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            failed = name_add(level, entry->d_name, THEMIS_TYPE_FILE);
    closedir(directory);
    return failed ? themis_tools_error("out of memory") : THEMIS_TOOLS_OK;
}

static int names_read(level_t *level)
{
    if (!level->from.session)
        return names_read_local(level);
    return themis_readdir(level->from.session, level->from.path, name_add, level) == THEMIS_OK
               ? THEMIS_TOOLS_OK
               : themis_tools_error_last();
}

static void level_free(level_t *level)
{
    for (size_t i = 0; i < level->count; i++)
        free(level->names[i]);
    free(level->names);
    themis_tools_location_free(&level->from);
    themis_tools_location_free(&level->to);
}

/* --- directories -------------------------------------------------------------------------------------------------- */

static int directory_make(const themis_tools_location_t *from, const themis_tools_location_t *to, uint32_t mode)
{
    themis_tools_location_info_t existing;

    if (themis_tools_location_look(to, &existing) == THEMIS_OK)
        return existing.kind == THEMIS_TOOLS_DIRECTORY
                   ? THEMIS_TOOLS_OK
                   : themis_tools_error("cannot overwrite non-directory '%s' with directory '%s'", to->text,
                                        from->text);
    if (to->session)
        return themis_mkdir(to->session, to->path, themis_tools_creation_mode(mode)) == THEMIS_OK
                   ? THEMIS_TOOLS_OK
                   : themis_tools_error_last();
    return mkdir(to->path, mode) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno(to->path);
}

/* By a symbolic link a directory may be below itself, or lead to the target. */
static int directory_check(const descent_t *descent, const themis_tools_location_t *from,
                           const themis_tools_location_t *to, const themis_tools_location_info_t *attributes)
{
    int within = 0, result = THEMIS_TOOLS_OK;

    for (size_t i = 0; i < descent->depth; i++)
        if (attributes->inode != 0 && attributes->inode == descent->levels[i].attributes.inode &&
            attributes->device == descent->levels[i].attributes.device)
            return themis_tools_error("%s leads back to %s by a symbolic link; it is not copied", from->text,
                                      descent->levels[i].from.text);
    if (descent->depth == 0 || descent->copying->follow)
        result = themis_tools_location_is_within(to, from, &within);
    if (result == THEMIS_TOOLS_OK && within)
        result = themis_tools_error("cannot copy a directory, '%s', into itself, '%s'", from->text, to->text);
    return result;
}

/* Takes over both locations. */
static int directory_enter(descent_t *descent, themis_tools_location_t *from, themis_tools_location_t *to,
                           const themis_tools_location_info_t *attributes)
{
    level_t *levels, level = {.from = *from, .to = *to, .attributes = *attributes};
    int result = directory_check(descent, from, to, attributes);

    *from = *to = (themis_tools_location_t){0};
    if (result == THEMIS_TOOLS_OK)
        result = directory_make(&level.from, &level.to, attributes->mode | 0700);
    if (result == THEMIS_TOOLS_OK)
        result = names_read(&level);
    levels = themis_tools_array_room(descent->levels, descent->depth, &descent->capacity, sizeof *levels);
    if (levels)
        descent->levels = levels;
    if (result != THEMIS_TOOLS_OK || !levels) {
        level_free(&level);
        return levels ? result : themis_tools_error("out of memory");
    }
    levels[descent->depth++] = level;
    return THEMIS_TOOLS_OK;
}

static void directory_leave(descent_t *descent)
{
    level_t *level = &descent->levels[--descent->depth];
    themis_tools_copied_directories_t *done = descent->done;
    copied_directory_t *list = NULL;

    if (descent->copying->preserve)
        list = themis_tools_array_room(done->list, done->count, &done->capacity, sizeof *list);
    if (list) {
        done->list = list;
        list[done->count++] = (copied_directory_t){level->to, level->attributes};
        level->to = (themis_tools_location_t){0};
    }
    level_free(level);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static int is_special(const themis_tools_location_t *location)
{
    themis_tools_location_info_t attributes;

    return !location->session && themis_tools_location_look(location, &attributes) == THEMIS_OK &&
           attributes.kind == THEMIS_TOOLS_SPECIAL;
}

/* A FIFO in a tree may have no other end, and a device no end of data: neither is copied. Takes over both locations. */
static int entry_copy(descent_t *descent, themis_tools_location_t *from, themis_tools_location_t *to)
{
    themis_tools_location_info_t attributes;
    themis_status_t status = descent->copying->follow ? themis_tools_location_look(from, &attributes)
                                                      : themis_tools_location_look_link(from, &attributes);

    if (status == THEMIS_NO_ENTRY && from->session)
        return THEMIS_TOOLS_OK; /* its creation was interrupted: it does not exist */
    if (status != THEMIS_OK)
        return look_error(from);
    if (attributes.kind == THEMIS_TOOLS_LINK)
        return themis_tools_copy_link(descent->copying, from, to);
    if (attributes.kind == THEMIS_TOOLS_SPECIAL)
        return themis_tools_error("%s is neither a file nor a directory; it is not copied", from->text);
    if (is_special(to))
        return themis_tools_error("%s is neither a file nor a directory; %s is not copied to it", to->text, from->text);
    if (attributes.kind == THEMIS_TOOLS_DIRECTORY)
        return directory_enter(descent, from, to, &attributes);
    themis_tools_copy_pool_add(descent->pool, from, to, &attributes);
    return THEMIS_TOOLS_OK;
}

static int next_copy(descent_t *descent)
{
    level_t *level = &descent->levels[descent->depth - 1];
    const char *name = level->names[level->next++];
    themis_tools_location_t from = {0}, to = {0};
    int result = themis_tools_location_below(&level->from, name, strlen(name), &from);

    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_location_below(&level->to, name, strlen(name), &to);
    if (result == THEMIS_TOOLS_OK)
        result = entry_copy(descent, &from, &to);
    themis_tools_location_free(&from);
    themis_tools_location_free(&to);
    return result;
}

int themis_tools_copy_tree(themis_tools_copying_t *copying, themis_tools_copy_pool_t *pool,
                           const themis_tools_location_t *from, const themis_tools_location_t *to,
                           const themis_tools_location_info_t *attributes, themis_tools_copied_directories_t *done)
{
    descent_t descent = {.copying = copying, .pool = pool, .done = done};
    themis_tools_location_t root, target = {0};
    int result = themis_tools_location_at(from->text, &root);

    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_location_at(to->text, &target);
    if (result == THEMIS_TOOLS_OK)
        result = directory_enter(&descent, &root, &target, attributes);
    while (descent.depth > 0) {
        const level_t *level = &descent.levels[descent.depth - 1];
        if (level->next < level->count && !themis_tools_interrupted())
            result |= next_copy(&descent);
        else
            directory_leave(&descent);
    }
    themis_tools_location_free(&root);
    themis_tools_location_free(&target);
    free(descent.levels);
    return result;
}

int themis_tools_copied_directories_finish(themis_tools_copied_directories_t *done)
{
    int result = THEMIS_TOOLS_OK;

    for (size_t i = 0; i < done->count; i++) {
        result |= themis_tools_copy_attributes(&done->list[i].to, &done->list[i].attributes);
        themis_tools_location_free(&done->list[i].to);
    }
    free(done->list);
    *done = (themis_tools_copied_directories_t){0};
    return result;
}
