/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/check_scan.h"
#include <stdlib.h>
#include <string.h>
#include "util/escape.h"

themis_status_t themis_tools_check_scan_init(themis_tools_check_scan_t *scan, uint32_t servers)
{
    *scan = (themis_tools_check_scan_t){.server = calloc(servers, sizeof *scan->server)};
    scan->servers = scan->server ? servers : 0;
    return scan->server ? themis_util_hash_ring_create(servers, &scan->ring) : THEMIS_NO_MEMORY;
}

void themis_tools_check_scan_free(themis_tools_check_scan_t *scan)
{
    for (size_t i = 0; i < scan->name_count; i++)
        free(scan->names[i].path);
    for (size_t i = 0; i < scan->entry_count; i++)
        free(scan->entries[i].path);
    themis_util_hash_ring_destroy(scan->ring);
    free(scan->server);
    free(scan->names);
    free(scan->entries);
    free(scan->objects);
    free(scan->moved);
    free(scan->paths);
    *scan = (themis_tools_check_scan_t){0};
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
    if (result == 0)
        result = other->is_misplaced - one->is_misplaced;
    if (result == 0)
        result = order(one->generation & mask, other->generation & mask);
    return result ? result : strcmp(one->path, other->path); /* the same each time */
}

static int by_path(const void *a, const void *b)
{
    const themis_tools_check_name_t *const *one = a, *const *other = b;

    return strcmp((*one)->path, (*other)->path);
}

static int by_entry(const void *a, const void *b)
{
    const themis_tools_check_entry_t *one = a, *other = b;
    int result = one->is_misplaced - other->is_misplaced;

    return result ? result : strcmp(one->path, other->path);
}

static int by_object(const void *a, const void *b)
{
    const themis_tools_check_object_t *one = a, *other = b;
    int result = order(one->id, other->id);

    return result ? result : order(one->server, other->server);
}

static int by_value(const void *a, const void *b)
{
    return order(*(const uint64_t *)a, *(const uint64_t *)b);
}

static void sort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (count)
        qsort(array, count, size, compare);
}

void themis_tools_check_scan_sort_moved(themis_tools_check_scan_t *scan)
{
    sort(scan->moved, scan->moved_count, sizeof *scan->moved, by_value);
}

themis_status_t themis_tools_check_scan_sort(themis_tools_check_scan_t *scan)
{
    scan->paths = calloc(scan->name_count + 1, sizeof *scan->paths);
    if (!scan->paths)
        return THEMIS_NO_MEMORY;
    sort(scan->names, scan->name_count, sizeof *scan->names, by_id);
    sort(scan->entries, scan->entry_count, sizeof *scan->entries, by_entry);
    sort(scan->objects, scan->object_count, sizeof *scan->objects, by_object);
    themis_tools_check_scan_sort_moved(scan);
    for (size_t i = 0; i < scan->name_count; i++)
        scan->paths[i] = &scan->names[i];
    sort(scan->paths, scan->name_count, sizeof *scan->paths, by_path);
    return THEMIS_OK;
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

uint32_t themis_tools_check_scan_home(const themis_tools_check_scan_t *scan, const char *path, size_t length)
{
    char *word = strndup(path, length);
    size_t bytes = word ? themis_util_escape_undo(word, word) : 0;
    uint32_t home = themis_util_hash_ring_home(scan->ring, bytes ? word : "/", bytes ? bytes : 1);

    free(word);
    return home;
}

size_t themis_tools_check_scan_directory(const char *path)
{
    size_t length = (size_t)(strrchr(path, '/') - path);

    return length ? length : 1;
}

const themis_tools_check_name_t *themis_tools_check_scan_name(const themis_tools_check_scan_t *scan, const char *path)
{
    const themis_tools_check_name_t wanted = {.path = (char *)(uintptr_t)path}, *key = &wanted;
    const themis_tools_check_name_t **found =
        scan->name_count ? bsearch(&key, scan->paths, scan->name_count, sizeof *scan->paths, by_path) : NULL;

    return found ? *found : NULL;
}

const themis_tools_check_entry_t *themis_tools_check_scan_entry(const themis_tools_check_scan_t *scan, const char *path)
{
    const themis_tools_check_entry_t wanted = {.path = (char *)(uintptr_t)path};

    return scan->entry_count ? bsearch(&wanted, scan->entries, scan->entry_count, sizeof *scan->entries, by_entry)
                             : NULL;
}

const themis_tools_check_name_t *themis_tools_check_scan_names_of(const themis_tools_check_scan_t *scan, uint64_t id,
                                                                  size_t *count)
{
    size_t low = 0, high = scan->name_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan->names[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < scan->name_count; (*count)++)
        if (scan->names[low + *count].id != id || scan->names[low + *count].type != THEMIS_TYPE_FILE)
            break;
    return *count ? &scan->names[low] : NULL;
}

int themis_tools_check_scan_has_moved(const themis_tools_check_scan_t *scan, uint64_t id)
{
    return scan->moved_count && bsearch(&id, scan->moved, scan->moved_count, sizeof *scan->moved, by_value) != NULL;
}
