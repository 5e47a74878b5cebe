/* SPDX-License-Identifier: BSD-3-Clause */
/* The core: when it is loaded, and who is in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "preload/entry/entry.h"
#include "util/config.h"
#include "util/log.h"
#include "util/mount_point.h"

static const char core_name[] = "libthemis-posix-core.so";

static struct {
    pthread_mutex_t mutex;
    const themis_preload_core_t *core; /* atomic */
    int failed;
    char path[PATH_MAX]; /* of the core; "" not known */
} library = {.mutex = PTHREAD_MUTEX_INITIALIZER};

__thread int themis_preload_inside __attribute__((tls_model("initial-exec")));
/* Of the caller; a thread that is cancelled inside of the core would leave its locks behind. */
static __thread int cancel_state;

/* The core is in the directory of this library. That is found out before the program can change its own. */
static void path_find(void)
{
    char origin[2 * PATH_MAX], loaded[3 * PATH_MAX], own[PATH_MAX];
    struct link_map *map;
    Dl_info info;

    if (!dladdr1(&library, &info, (void **)&map, RTLD_DL_LINKMAP) || dlinfo(map, RTLD_DI_ORIGIN, origin) != 0)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(loaded, sizeof loaded, "%s/%s", origin, slash ? slash + 1 : info.dli_fname);
    if (*origin != '/' || !REAL(realpath)(loaded, own))
        return;
    slash = strrchr(own, '/');
    if (snprintf(library.path, PATH_MAX, "%.*s%s", (int)(slash + 1 - own), own, core_name) >= PATH_MAX)
        library.path[0] = '\0';
}

static void fail(const char *why)
{
    library.failed = 1;
    themis_error("files below %s cannot be used: %s", themis_util_mount_point(), why);
}

/* UCX would handle signals of the program, and put its own functions over mmap and munmap of this library. It looks at
 * the environment when it is loaded; the program's stays as it is. */
static void *core_open(void)
{
    static const char *const variables[][2] = {
        {"UCX_ERROR_SIGNALS", ""}, {"UCX_DEBUG_SIGNO", "0"}, {"UCX_MEM_MMAP_HOOK_MODE", "none"}};
    enum { VARIABLES = sizeof variables / sizeof *variables };
    int were_set[VARIABLES];

    for (int i = 0; i < VARIABLES; i++) {
        were_set[i] = themis_util_config_env(variables[i][0]) != NULL;
        themis_util_config_env_default(variables[i][0], variables[i][1]);
    }
    void *handle = dlopen(library.path, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < VARIABLES; i++)
        if (!were_set[i])
            unsetenv(variables[i][0]);
    return handle;
}

/* With the mutex held, and inside, so that what the loader opens is not looked at. */
static void load(void)
{
    path_find();
    if (!library.path[0]) {
        fail("the directory of libthemis-posix.so is not known");
        return;
    }
    void *handle = core_open();
    const themis_preload_core_t *core = handle ? dlsym(handle, THEMIS_PRELOAD_CORE_SYMBOL) : NULL;
    if (!core)
        fail(dlerror());
    else if (core->interface != THEMIS_PRELOAD_INTERFACE)
        fail("libthemis-posix-core.so is of another version");
    else
        __atomic_store_n(&library.core, core, __ATOMIC_RELEASE);
}

const themis_preload_core_t *themis_preload_loaded(void)
{
    return __atomic_load_n(&library.core, __ATOMIC_ACQUIRE);
}

int themis_preload_may_enter(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    return (core && core->is_connected()) || themis_preload_owns();
}

const themis_preload_core_t *themis_preload_enter(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (themis_preload_inside) {
        errno = EDEADLK;
        return NULL;
    }
    if (themis_preload_is_unseen_child())
        themis_preload_forked();
    if (!themis_preload_may_enter()) { /* a session would be this process's, in the memory of another */
        errno = EIO;
        return NULL;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    themis_preload_inside = 1;
    if (!core) {
        pthread_mutex_lock(&library.mutex);
        if (!library.core && !library.failed)
            load();
        core = library.core;
        pthread_mutex_unlock(&library.mutex);
    }
    if (!core) {
        themis_preload_leave();
        errno = EIO;
    }
    return core;
}

void themis_preload_leave(void)
{
    themis_preload_inside = 0;
    pthread_setcancelstate(cancel_state, NULL);
}
