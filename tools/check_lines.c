/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/check_lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/array.h"
#include "util/escape.h"

enum { STRIPE_UNIT = 4096 };

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Takes a number, and the `end` after it; returns 0 if that is not what is there. */
static int number_take(const char **at, char end, uint64_t *number)
{
    *number = 0;
    if (**at < '0' || **at > '9')
        return 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        unsigned digit = (unsigned)(**at - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return 0;
        *number = 10 * *number + digit;
    }
    if (**at != end)
        return 0;
    *at += end != 0;
    return 1;
}

/* The same of several, separated by blanks. */
static int numbers_take(const char **at, char end, uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!number_take(at, i + 1 < count ? ' ' : end, &numbers[i]))
            return 0;
    return 1;
}

/* Notes the key of a line, and what the next question says; returns 0 if it is not above the last one. */
static int key_pass(themis_tools_check_list_t *list, const char *key, size_t length, const char *after)
{
    size_t common = length < list->key_length ? length : list->key_length;
    int order = memcmp(key, list->key, common);

    if (list->key_length && (order < 0 || (order == 0 && length <= list->key_length)))
        return 0;
    memcpy(list->key, key, length);
    list->key_length = length;
    return (size_t)snprintf(list->after, sizeof list->after, "%s", after) < sizeof list->after;
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

themis_status_t themis_tools_check_line_attributes(const char *line, uint32_t servers, themis_tools_check_name_t *name,
                                                   const char **path)
{
    uint64_t words[6];
    const char *at = line;

    if (!numbers_take(&at, ' ', words, 6) || *at != '/' || words[0] < THEMIS_TYPE_FILE ||
        words[0] > THEMIS_TYPE_SYMLINK || words[3] > UINT32_MAX || words[4] > UINT32_MAX)
        return THEMIS_PROTOCOL;
    if (words[0] == THEMIS_TYPE_FILE && (words[1] == 0 || words[3] == 0 || words[3] > servers || words[4] >= servers ||
                                         words[5] == 0 || words[5] % STRIPE_UNIT))
        return THEMIS_PROTOCOL;
    name->type = (int)words[0];
    name->id = words[1];
    name->generation = words[2];
    name->layout = (themis_layout_t){.stripe_size = words[5], .count = (uint32_t)words[3], .first = (uint32_t)words[4]};
    *path = at;
    return THEMIS_OK;
}

themis_status_t themis_tools_check_line_name(themis_tools_check_list_t *list, const char *line)
{
    themis_tools_check_scan_t *scan = list->scan;
    themis_tools_check_name_t name = {.server = list->server}, *more;
    char key[THEMIS_TOOLS_CHECK_LINE_BYTES];
    const char *path;

    if (strlen(line) >= sizeof key ||
        themis_tools_check_line_attributes(line, scan->servers, &name, &path) != THEMIS_OK)
        return THEMIS_PROTOCOL;
    size_t length = themis_util_escape_undo(path, key);
    if (length == 0 || !key_pass(list, key, length, path))
        return THEMIS_PROTOCOL;
    more = themis_tools_array_room(scan->names, scan->name_count, &scan->name_capacity, sizeof *more);
    if (!more)
        return THEMIS_NO_MEMORY;
    scan->names = more;
    name.is_misplaced = themis_util_hash_ring_home(scan->ring, key, length) != list->server;
    name.path = strdup(path);
    scan->names[scan->name_count] = name;
    scan->name_count += name.path != NULL;
    return name.path ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* The path of a name in a directory, owned by the caller. */
static char *path_join(const char *directory, size_t length, const char *name)
{
    size_t bytes = length + strlen(name) + 2;
    char *path = malloc(bytes);

    if (path)
        snprintf(path, bytes, "%.*s/%s", length > 1 ? (int)length : 0, directory, name);
    return path;
}

themis_status_t themis_tools_check_line_entry(themis_tools_check_list_t *list, const char *line)
{
    themis_tools_check_scan_t *scan = list->scan;
    themis_tools_check_entry_t entry = {.server = list->server}, *more;
    char directory[THEMIS_TOOLS_CHECK_LINE_BYTES], key[THEMIS_TOOLS_CHECK_LINE_BYTES];
    const char *at = line, *blank;
    uint64_t type;

    if (!number_take(&at, ' ', &type) || type < THEMIS_TYPE_FILE || type > THEMIS_TYPE_SYMLINK || *at != '/' ||
        strlen(line) >= sizeof key || !(blank = strchr(at, ' ')) || strchr(blank, '/'))
        return THEMIS_PROTOCOL;
    snprintf(directory, sizeof directory, "%.*s", (int)(blank - at), at);
    size_t length = themis_util_escape_undo(directory, key);
    size_t rest = length ? themis_util_escape_undo(blank + 1, key + length + 1) : 0;
    key[length] = 0; /* as in the server's database */
    if (rest == 0 || !key_pass(list, key, length + 1 + rest, at))
        return THEMIS_PROTOCOL;
    more = themis_tools_array_room(scan->entries, scan->entry_count, &scan->entry_capacity, sizeof *more);
    if (!more)
        return THEMIS_NO_MEMORY;
    scan->entries = more;
    entry.type = (int)type;
    entry.is_misplaced = themis_util_hash_ring_home(scan->ring, key, length) != list->server;
    entry.path = path_join(directory, strlen(directory), blank + 1);
    scan->entries[scan->entry_count] = entry;
    scan->entry_count += entry.path != NULL;
    return entry.path ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t themis_tools_check_line_object(themis_tools_check_list_t *list, const char *line)
{
    themis_tools_check_scan_t *scan = list->scan;
    themis_tools_check_object_t *more;
    uint64_t words[3];
    const char *at = line;

    if (!strchr(line, ' ')) { /* the last line of a page */
        if (!number_take(&at, 0, &words[0]) || words[0] <= list->position)
            return THEMIS_PROTOCOL;
        list->position = words[0];
        snprintf(list->after, sizeof list->after, "%s", line);
        return THEMIS_OK;
    }
    if (!numbers_take(&at, 0, words, 3) || words[0] == 0 || words[1] > INT64_MAX)
        return THEMIS_PROTOCOL;
    more = themis_tools_array_room(scan->objects, scan->object_count, &scan->object_capacity, sizeof *more);
    if (!more)
        return THEMIS_NO_MEMORY;
    scan->objects = more;
    scan->objects[scan->object_count++] = (themis_tools_check_object_t){words[0], words[1], words[2], list->server};
    return THEMIS_OK;
}

themis_status_t themis_tools_check_line_moved(themis_tools_check_list_t *list, const char *line)
{
    themis_tools_check_scan_t *scan = list->scan;
    const char *at = line;
    uint64_t *more, id;

    if (!number_take(&at, 0, &id))
        return THEMIS_PROTOCOL;
    more = themis_tools_array_room(scan->moved, scan->moved_count, &scan->moved_capacity, sizeof *more);
    if (!more)
        return THEMIS_NO_MEMORY;
    scan->moved = more;
    scan->moved[scan->moved_count++] = id;
    return THEMIS_OK;
}

themis_status_t themis_tools_check_line_server(const char *line, themis_tools_check_server_t *server)
{
    uint64_t words[6];
    const char *at = line;

    if (!numbers_take(&at, 0, words, 6))
        return THEMIS_PROTOCOL;
    *server = (themis_tools_check_server_t){.open = words[0],
                                            .failing = words[1],
                                            .moves = words[2],
                                            .incarnation = words[3],
                                            .clock = words[4],
                                            .first_id = words[5]};
    return THEMIS_OK;
}
