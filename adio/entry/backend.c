/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "adio/entry/backend.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "adio/entry/program_mpi.h"

enum { REFUSAL_BYTES = 800, VERSION_BYTES = 80 };

/* Indexed by ABI. */
static const char *const core_names[] = {NULL, "libthemis-mpiio-mpich.so", "libthemis-mpiio-ompi.so"};

/* The calls that are served in front of MPI carry no state, so it is here. */
static struct {
    pthread_mutex_t mutex; /* guards the decision */
    int decided;           /* atomic; what follows does not change once it is set */
    themis_entry_program_mpi_t mpi;
    void *core; /* handle, or NULL: not served; atomic */
    const char *core_name;
    void *(*file_find)(uintptr_t handle); /* the core's file, or NULL; NULL: the program's handles are the core's */
    char refusal[REFUSAL_BYTES];
} backend = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The core is in the directory of this library, wherever that is; as of when it was loaded, since the program may have
 * changed its directory. Returns 0 if that is not known. */
static int core_path(char path[PATH_MAX])
{
    char origin[2 * PATH_MAX], loaded[3 * PATH_MAX], own[PATH_MAX];
    struct link_map *map;
    Dl_info info;

    if (!dladdr1(&backend, &info, (void **)&map, RTLD_DL_LINKMAP) || dlinfo(map, RTLD_DI_ORIGIN, origin) != 0)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(loaded, sizeof loaded, "%s/%s", origin, slash ? slash + 1 : info.dli_fname);
    if (*origin != '/' || !realpath(loaded, own))
        return 0;
    slash = strrchr(own, '/');
    return snprintf(path, PATH_MAX, "%.*s%s", (int)(slash + 1 - own), own, backend.core_name) < PATH_MAX;
}

static void core_load(const char *path)
{
    void *core = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!core)
        snprintf(backend.refusal, sizeof backend.refusal,
                 "%.350s, which has to be in the directory of libthemis-mpiio.so, cannot be loaded: %.350s", path,
                 dlerror());
    else if (backend.mpi.abi != THEMIS_ENTRY_ABI_MPICH)
        *(void **)&backend.file_find = dlsym(core, "themis_glue_handle_file");
    __atomic_store_n(&backend.core, core, __ATOMIC_RELEASE);
}

static void other_mpi_refuse(void)
{
    char version[VERSION_BYTES];

    themis_entry_program_mpi_describe(&backend.mpi, version, sizeof version);
    snprintf(
        backend.refusal, sizeof backend.refusal,
        "the program runs on %s, and this Themis serves programs of MPICH and of MPI libraries with its ABI; build "
        "the program with MPICH%s",
        version, backend.core_name ? ", or Themis with Open MPI (libthemis-mpiio-ompi.so is not there)" : "");
}

/* Themis can be built without the core for Open MPI. */
static void core_find(void)
{
    char path[PATH_MAX];

    backend.core_name = core_names[backend.mpi.abi];
    if (!backend.core_name)
        other_mpi_refuse();
    else if (!core_path(path))
        snprintf(backend.refusal, sizeof backend.refusal,
                 "the directory of libthemis-mpiio.so, where %s has to be, cannot be found", backend.core_name);
    else if (backend.mpi.abi == THEMIS_ENTRY_ABI_OPEN_MPI && access(path, F_OK) != 0)
        other_mpi_refuse();
    else
        core_load(path);
}

/* Returns 1 if it is known what serves the calls. */
static int decide(void)
{
    if (__atomic_load_n(&backend.decided, __ATOMIC_ACQUIRE))
        return 1;
    pthread_mutex_lock(&backend.mutex);
    int decided = backend.decided;
    if (!decided && themis_entry_program_mpi_find(&backend.mpi)) {
        core_find();
        decided = 1;
        __atomic_store_n(&backend.decided, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&backend.mutex);
    return decided;
}

themis_entry_side_t themis_entry_backend_side(int is_themis)
{
    if (!decide() || !backend.core)
        return THEMIS_ENTRY_PROGRAM;
    return is_themis || !backend.file_find ? THEMIS_ENTRY_CORE : THEMIS_ENTRY_PROGRAM;
}

themis_entry_side_t themis_entry_backend_side_of_file(uintptr_t *handle)
{
    if (!decide() || !backend.core)
        return THEMIS_ENTRY_PROGRAM;
    if (!backend.file_find)
        return THEMIS_ENTRY_CORE;
    void *file = backend.file_find(*handle);
    if (!file)
        return THEMIS_ENTRY_PROGRAM;
    *handle = (uintptr_t)file;
    return THEMIS_ENTRY_CORE;
}

void *themis_entry_backend_function(themis_entry_side_t side, const char *name, const char *with_handles)
{
    void *function;

    if (!decide())
        return NULL;
    if (side == THEMIS_ENTRY_CORE)
        return dlsym(backend.core, backend.file_find && with_handles ? with_handles : name);
    function = dlsym(RTLD_NEXT, name); /* a profiler that was preloaded behind this library comes first */
    return function ? function : dlsym(backend.mpi.handle, name);
}

const char *themis_entry_backend_missing(themis_entry_side_t side)
{
    if (!decide())
        return "no MPI library is loaded";
    return side == THEMIS_ENTRY_CORE ? "the core of libthemis-mpiio does not have it; it may be of another version"
                                     : "the MPI library of this program does not have it";
}

const char *themis_entry_backend_refusal(void)
{
    if (!decide())
        return "no MPI library is loaded";
    return backend.core ? NULL : backend.refusal;
}

void *themis_entry_backend_core_function(const char *name)
{
    void *core = __atomic_load_n(&backend.core, __ATOMIC_ACQUIRE);

    return core ? dlsym(core, name) : NULL;
}
