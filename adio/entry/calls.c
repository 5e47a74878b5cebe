/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exported functions: each passes its arguments to the function of the same name that serves the program, whatever
 * their types are in its MPI, which is not known here: handles are numbers in MPICH and pointers in others. Arguments
 * of MPI-IO are integers, handles or pointers, at most six, which every 64-bit calling convention of Linux passes in
 * registers of this size; passing more than a function takes does no harm.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stddef.h>
#include <stdint.h>
#include "adio/entry/backend.h"
#include "adio/entry/file_name.h"
#include "util/log.h"

#define EXPORTED __attribute__((visibility("default")))
#define ARGUMENTS uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f

_Static_assert(sizeof(uintptr_t) == 8, "MPI_Offset has to fit into a register");

typedef uintptr_t call_fn(ARGUMENTS);

/* MPI_ERR_INTERN in MPICH, MPI_ERR_OTHER in Open MPI. */
enum { UNKNOWN_CALL = 16 };

static uintptr_t unknown_call(ARGUMENTS)
{
    return UNKNOWN_CALL;
}

/* `known` keeps the function of each side. */
static call_fn *call_find(themis_entry_side_t side, const char *name, const char *with_handles, call_fn **known)
{
    call_fn *function = __atomic_load_n(&known[side], __ATOMIC_ACQUIRE);

    if (function)
        return function;
    *(void **)&function = themis_entry_backend_function(side, name, with_handles);
    if (!function) {
        themis_error("%s: %s", name, themis_entry_backend_missing(side));
        return unknown_call;
    }
    __atomic_store_n(&known[side], function, __ATOMIC_RELEASE);
    return function;
}

/* Which side serves a call, and what its first arguments become there. */
static themis_entry_side_t name_side(uintptr_t *name, const uintptr_t *comm)
{
    *name = (uintptr_t)themis_entry_file_name((const char *)*name, comm);
    return themis_entry_backend_side(themis_entry_file_name_is_themis((const char *)*name));
}

static themis_entry_side_t close_side(const uintptr_t *handle)
{
    uintptr_t copy = handle ? *handle : 0; /* the core's close takes the program's handle, and changes it */

    return themis_entry_backend_side_of_file(&copy);
}

#define DEFINE(name, with_handles, side)                                                                               \
    uintptr_t name(ARGUMENTS);                                                                                         \
    EXPORTED uintptr_t name(ARGUMENTS)                                                                                 \
    {                                                                                                                  \
        static call_fn *known[2];                                                                                      \
        call_fn *function = call_find(side, #name, with_handles, known);                                               \
                                                                                                                       \
        return function(a, b, c, d, e, f);                                                                             \
    }
#define DEFINE_PAIR(name, with_handles, side)                                                                          \
    DEFINE(MPI_##name, with_handles, side) DEFINE(PMPI_##name, with_handles, side)
#define CALL(name) DEFINE_PAIR(name, NULL, themis_entry_backend_side_of_file(&a))
#define COUNTED(name) CALL(name) CALL(name##_c)
#define OPEN(name) DEFINE_PAIR(name, "themis_glue_handle_open", name_side(&b, &a))
#define CLOSE(name) DEFINE_PAIR(name, "themis_glue_handle_close", close_side((const uintptr_t *)a))
#define DELETE(name) DEFINE_PAIR(name, NULL, name_side(&a, NULL))
#define OTHER(name) DEFINE_PAIR(name, NULL, themis_entry_backend_side(0))
#include "adio/entry/calls.def"

/* The core has one that knows its functions, for UCX, which looks for it here. */
EXPORTED char **backtrace_symbols(void *const *addresses, int count)
{
    char **(*function)(void *const *, int) = NULL;

    *(void **)&function = themis_entry_backend_core_function("backtrace_symbols");
    if (!function)
        *(void **)&function = dlsym(RTLD_NEXT, "backtrace_symbols");
    return function ? function(addresses, count) : NULL;
}
