/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "adio/entry/program_mpi.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in MPICH. */
enum { VERSION_BYTES = 65536 };

/* Profilers define MPI_Init, but not this. */
static const char init[] = "PMPI_Init";

typedef struct search {
    size_t wanted, at;
    char path[PATH_MAX];
} search_t;

static int object_visit(struct dl_phdr_info *object, size_t size, void *arg)
{
    search_t *search = arg;

    if (search->at++ < search->wanted)
        return 0;
    snprintf(search->path, sizeof search->path, "%s", object->dlpi_name ? object->dlpi_name : "");
    return 1;
}

/* Libraries that a program opens by itself, as Python does, are not visible to all: they are looked at one by one, and
 * not inside of dl_iterate_phdr, which holds a lock that dlopen wants. */
static void *hidden_init_find(void)
{
    search_t search = {.wanted = 0};
    void *found = NULL;

    for (; !found; search.wanted++) {
        search.at = 0;
        if (!dl_iterate_phdr(object_visit, &search))
            break;
        void *object = *search.path ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (!object)
            continue;
        found = dlsym(object, init);
        dlclose(object);
    }
    return found;
}

/* MPI 5 has an ABI of its own, which MPICH offers as libmpi_abi beside the other. */
static themis_entry_abi_t abi_of(void *handle, const char *path)
{
    if (dlsym(handle, "ompi_mpi_comm_world"))
        return THEMIS_ENTRY_ABI_OPEN_MPI;
    return dlsym(handle, "MPIR_Err_create_code") && !strstr(path, "libmpi_abi") ? THEMIS_ENTRY_ABI_MPICH
                                                                                : THEMIS_ENTRY_ABI_OTHER;
}

int themis_entry_program_mpi_find(themis_entry_program_mpi_t *mpi)
{
    void *found = dlsym(RTLD_DEFAULT, init);
    Dl_info info;

    if (!found)
        found = hidden_init_find();
    if (!found || !dladdr(found, &info))
        return 0;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return 0;
    mpi->handle = handle;
    mpi->abi = abi_of(handle, info.dli_fname);
    if (mpi->abi != THEMIS_ENTRY_ABI_OTHER)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    return 1;
}

void themis_entry_program_mpi_describe(const themis_entry_program_mpi_t *mpi, char *text, size_t size)
{
    static char version[VERSION_BYTES];
    int (*get)(char *, int *) = NULL;
    int length;

    *(void **)&get = dlsym(mpi->handle, "PMPI_Get_library_version");
    if (!get || get(version, &length) != 0)
        strcpy(version, "an MPI of before MPI 3.0");
    snprintf(text, size, "%.*s", (int)strcspn(version, ",\n"), version);
}
