/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/memory_limit.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* The number in a file; UINT64_MAX where there is no such file, or "max" in it. */
static uint64_t number_read(const char *path)
{
    uint64_t number = UINT64_MAX;
    FILE *file = fopen(path, "re");

    if (file && fscanf(file, "%" SCNu64, &number) != 1)
        number = UINT64_MAX;
    if (file)
        fclose(file);
    return number;
}

/* The lowest limit of a group and those above it. In a container the groups above may not be there. */
static uint64_t group_limit(const char *mount, char *group, const char *file)
{
    char path[2 * PATH_BYTES];
    uint64_t lowest = UINT64_MAX;

    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
        uint64_t limit = number_read(path);
        if (limit < lowest)
            lowest = limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return lowest;
        *slash = '\0';
    }
}

/* Is `name` one of the names in "a,b,c" of `length` bytes? */
static int is_listed(const char *list, size_t length, const char *name)
{
    const char *end = list + length;

    while (list < end) {
        size_t part = strcspn(list, ",:");
        if (part == strlen(name) && strncmp(list, name, part) == 0)
            return 1;
        list += part + 1;
    }
    return 0;
}

/* `line` of /proc/self/cgroup: "number:controllers:group", without controllers in version 2. */
static uint64_t line_limit(const char *root, char *line)
{
    char mount[PATH_BYTES];
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;

    if (!group)
        return UINT64_MAX;
    size_t length = (size_t)(group++ - controllers);
    group[strcspn(group, "\n")] = '\0';
    if (length > 0 && !is_listed(controllers, length, "memory"))
        return UINT64_MAX;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, length > 0 ? "/memory" : "");
    return group_limit(mount, group, length > 0 ? "memory.limit_in_bytes" : "memory.max");
}

uint64_t themis_util_memory_limit(const char *root, int *cgroup)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t lowest = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    char path[PATH_BYTES], line[PATH_BYTES];

    *cgroup = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t limit = line_limit(root, line);
        if (limit < lowest) {
            lowest = limit;
            *cgroup = 1;
        }
    }
    if (file)
        fclose(file);
    return lowest;
}
