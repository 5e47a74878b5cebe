/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/check_scan.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/array.h"
#include "tools/command.h"
#include "tools/json.h"

enum { QUESTION_BYTES = 4 * 4096, OBJECTS_PER_SLICE = 4000 };

/* Takes a line of an answer; returns 0 if it is none that is known. */
typedef int (*line_fn)(themis_tools_check_scan_t *scan, uint32_t server, char *line);

/* --- lines -------------------------------------------------------------------------------------------------------- */

static int name_take(themis_tools_check_scan_t *scan, uint32_t server, char *line)
{
    themis_tools_check_name_t name = {.server = server};
    int at = 0;

    if (sscanf(line, "%d %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %n", &name.type, &name.id,
               &name.generation, &name.layout.count, &name.layout.first, &name.layout.stripe_size, &at) != 6 ||
        at == 0 || line[at] != '/')
        return 0;
    themis_tools_check_name_t *more =
        themis_tools_array_room(scan->names, scan->name_count, &scan->name_capacity, sizeof *more);
    if (!more)
        return 0;
    scan->names = more;
    name.path = strdup(line + at);
    scan->names[scan->name_count] = name;
    scan->name_count += name.path != NULL;
    return name.path != NULL;
}

static int entry_take(themis_tools_check_scan_t *scan, uint32_t server, char *line)
{
    themis_tools_check_entry_t entry = {.server = server};
    char *blank = strchr(line, ' ');

    if (!blank || *line != '/')
        return 0;
    *blank = 0;
    themis_tools_check_entry_t *more =
        themis_tools_array_room(scan->entries, scan->entry_count, &scan->entry_capacity, sizeof *more);
    if (!more)
        return 0;
    scan->entries = more;
    if (asprintf(&entry.path, "%s/%s", line[1] ? line : "", blank + 1) < 0)
        return 0;
    scan->entries[scan->entry_count++] = entry;
    *blank = ' ';
    return 1;
}

static int object_take(themis_tools_check_scan_t *scan, uint32_t server, char *line)
{
    themis_tools_check_object_t object = {.server = server};

    if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &object.id, &object.end, &object.modified) != 3)
        return 0;
    themis_tools_check_object_t *more =
        themis_tools_array_room(scan->objects, scan->object_count, &scan->object_capacity, sizeof *more);
    if (!more)
        return 0;
    scan->objects = more;
    scan->objects[scan->object_count++] = object;
    return 1;
}

static int intents_take(themis_tools_check_scan_t *scan, uint32_t server, char *line)
{
    uint64_t open, failing;

    (void)server;
    if (sscanf(line, "%" SCNu64 " %" SCNu64, &open, &failing) != 2)
        return 0;
    scan->open += open;
    scan->failing += failing;
    return 1;
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

/* Asks, and takes the lines; *last (of QUESTION_BYTES; NULL: not wanted) gets the last one, or "". */
static int question_ask(themis_t *session, themis_tools_check_scan_t *scan, uint32_t server, const char *question,
                        line_fn take, char *last)
{
    char *text, *rest = NULL;
    int known = 1;

    if (themis_check(session, server, question, &text) != THEMIS_OK)
        return themis_tools_error("server %u: %s", server, themis_last_error());
    if (last)
        *last = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && known; line = strtok_r(NULL, "\n", &rest)) {
        known = take(scan, server, line);
        if (last)
            snprintf(last, QUESTION_BYTES, "%s", line);
    }
    free(text);
    return known ? THEMIS_TOOLS_OK : themis_tools_error("server %u: out of memory, or an answer that is none", server);
}

/* Asks until the answer is empty, each time for what comes after the last line; of that from its word number `skip` on.
 */
static int pages_ask(themis_t *session, themis_tools_check_scan_t *scan, uint32_t server, const char *word, int skip,
                     line_fn take)
{
    char last[QUESTION_BYTES], question[QUESTION_BYTES + 16];
    int result;

    snprintf(question, sizeof question, "%s", word);
    while ((result = question_ask(session, scan, server, question, take, last)) == THEMIS_TOOLS_OK && *last) {
        const char *after = last;
        for (int i = 0; i < skip; i++)
            after = strchr(after, ' ') + 1;
        snprintf(question, sizeof question, "%s %s", word, after);
    }
    return result;
}

static int objects_ask(themis_t *session, themis_tools_check_scan_t *scan, uint32_t server)
{
    const char *error;
    char question[64];
    int result = THEMIS_TOOLS_OK;
    json_t *known = themis_tools_json_query(session, server, "server", &error);

    if (!known)
        return themis_tools_error("server %u: %s", server, error);
    uint32_t slices = 1 + (uint32_t)(themis_tools_json_number(known, "objects") / OBJECTS_PER_SLICE);
    json_decref(known);
    for (uint32_t i = 0; i < slices && result == THEMIS_TOOLS_OK; i++) {
        snprintf(question, sizeof question, "objects %u %u", i, slices);
        result = question_ask(session, scan, server, question, object_take, NULL);
    }
    return result;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_id(const void *a, const void *b)
{
    const themis_tools_check_name_t *one = a, *other = b;
    const uint64_t mask = (UINT64_C(1) << THEMIS_TOOLS_CHECK_SERVER_SHIFT) - 1;
    int result = order(one->id, other->id);

    if (result == 0)
        result = (one->type != THEMIS_TYPE_FILE) - (other->type != THEMIS_TYPE_FILE);
    return result ? result : order(one->generation & mask, other->generation & mask);
}

static int by_path(const void *a, const void *b)
{
    const themis_tools_check_name_t *const *one = a, *const *other = b;

    return strcmp((*one)->path, (*other)->path);
}

static int by_entry(const void *a, const void *b)
{
    const themis_tools_check_entry_t *one = a, *other = b;

    return strcmp(one->path, other->path);
}

static int by_object(const void *a, const void *b)
{
    const themis_tools_check_object_t *one = a, *other = b;
    int result = order(one->id, other->id);

    return result ? result : order(one->server, other->server);
}

static void sort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (count)
        qsort(array, count, size, compare);
}

int themis_tools_check_scan(themis_t *session, themis_tools_check_scan_t *scan)
{
    themis_session_info_t info;
    int result = THEMIS_TOOLS_OK;

    themis_session_info(session, &info);
    *scan = (themis_tools_check_scan_t){.servers = info.servers};
    for (uint32_t i = 0; i < info.servers && result == THEMIS_TOOLS_OK; i++)
        result = question_ask(session, scan, i, "intents", intents_take, NULL);
    for (uint32_t i = 0; i < info.servers && result == THEMIS_TOOLS_OK; i++)
        result = objects_ask(session, scan, i);
    for (uint32_t i = 0; i < info.servers && result == THEMIS_TOOLS_OK; i++)
        result = pages_ask(session, scan, i, "names", 6, name_take);
    for (uint32_t i = 0; i < info.servers && result == THEMIS_TOOLS_OK; i++)
        result = pages_ask(session, scan, i, "entries", 0, entry_take);
    scan->paths = result == THEMIS_TOOLS_OK ? calloc(scan->name_count + 1, sizeof *scan->paths) : NULL;
    if (!scan->paths)
        return result == THEMIS_TOOLS_OK ? themis_tools_error("out of memory") : result;
    sort(scan->names, scan->name_count, sizeof *scan->names, by_id);
    sort(scan->entries, scan->entry_count, sizeof *scan->entries, by_entry);
    sort(scan->objects, scan->object_count, sizeof *scan->objects, by_object);
    for (size_t i = 0; i < scan->name_count; i++)
        scan->paths[i] = &scan->names[i];
    sort(scan->paths, scan->name_count, sizeof *scan->paths, by_path);
    return result;
}

void themis_tools_check_scan_free(themis_tools_check_scan_t *scan)
{
    for (size_t i = 0; i < scan->name_count; i++)
        free(scan->names[i].path);
    for (size_t i = 0; i < scan->entry_count; i++)
        free(scan->entries[i].path);
    free(scan->names);
    free(scan->entries);
    free(scan->objects);
    free(scan->paths);
}

const themis_tools_check_name_t *themis_tools_check_name_at(const themis_tools_check_scan_t *scan, const char *path)
{
    const themis_tools_check_name_t wanted = {.path = (char *)(uintptr_t)path}, *key = &wanted;
    const themis_tools_check_name_t **found =
        scan->name_count ? bsearch(&key, scan->paths, scan->name_count, sizeof *scan->paths, by_path) : NULL;

    return found ? *found : NULL;
}

const themis_tools_check_entry_t *themis_tools_check_entry_at(const themis_tools_check_scan_t *scan, const char *path)
{
    const themis_tools_check_entry_t wanted = {.path = (char *)(uintptr_t)path};

    return scan->entry_count ? bsearch(&wanted, scan->entries, scan->entry_count, sizeof *scan->entries, by_entry)
                             : NULL;
}

const themis_tools_check_name_t *themis_tools_check_name_of(const themis_tools_check_scan_t *scan, uint64_t id)
{
    size_t low = 0, high = scan->name_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan->names[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scan->name_count && scan->names[low].id == id && scan->names[low].type == THEMIS_TYPE_FILE
               ? &scan->names[low]
               : NULL;
}
