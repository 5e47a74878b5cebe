/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/mount_point.h"
#include <string.h>
#include "util/config.h"

enum { MOUNT_BYTES = 1024 };

static struct {
    int state; /* atomic; 0: not looked for, 1: somebody does, 2: what follows does not change */
    size_t length;
    char path[MOUNT_BYTES]; /* "" none */
} point;

int themis_util_mount_point_is_valid(const char *text)
{
    const size_t length = strlen(text);

    if (*text != '/' || length < 2 || length >= MOUNT_BYTES - 1)
        return 0;
    for (const char *at = text; *at; at += strcspn(at, "/")) {
        const size_t component = strcspn(++at, "/");
        if ((component == 0 && *at) || (component == 1 && *at == '.') || (component == 2 && strncmp(at, "..", 2) == 0))
            return 0;
    }
    return 1;
}

static void fix(void)
{
    const char *text = themis_util_config_env(THEMIS_UTIL_MOUNT_POINT_VARIABLE);

    if (!text)
        text = THEMIS_UTIL_MOUNT_POINT_DEFAULT;
    if (!themis_util_mount_point_is_valid(text))
        return;
    point.length = strlen(text);
    memcpy(point.path, text, point.length + 1);
    if (point.path[point.length - 1] == '/')
        point.path[--point.length] = '\0';
}

/* Whoever comes while it is being fixed waits, which takes no time. */
const char *themis_util_mount_point(void)
{
    int expected = 0;

    if (__atomic_load_n(&point.state, __ATOMIC_ACQUIRE) == 2)
        return point.path;
    if (__atomic_compare_exchange_n(&point.state, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        fix();
        __atomic_store_n(&point.state, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&point.state, __ATOMIC_ACQUIRE) != 2)
        ;
    return point.path;
}

const char *themis_util_mount_point_below(const char *path)
{
    const char *mount = themis_util_mount_point();

    if (!*mount || *path != '/')
        return NULL;
    while (path[1] == '/')
        path++;
    if (strncmp(path, mount, point.length) != 0 || (path[point.length] != '/' && path[point.length] != '\0'))
        return NULL;
    return path + point.length;
}
