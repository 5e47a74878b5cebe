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

/* `known` keeps the function. */
static call_fn *call_find(const char *name, call_fn **known)
{
    call_fn *function = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (function)
        return function;
    *(void **)&function = themis_entry_backend_function(name);
    if (!function) {
        themis_error("%s: %s", name, themis_entry_backend_missing());
        return unknown_call;
    }
    __atomic_store_n(known, function, __ATOMIC_RELEASE);
    return function;
}

#define DEFINE(name, first, second)                                                                                    \
    uintptr_t name(ARGUMENTS);                                                                                         \
    EXPORTED uintptr_t name(ARGUMENTS)                                                                                 \
    {                                                                                                                  \
        static call_fn *known;                                                                                         \
        return call_find(#name, &known)(first, second, c, d, e, f);                                                    \
    }
#define DEFINE_PAIR(name, first, second) DEFINE(MPI_##name, first, second) DEFINE(PMPI_##name, first, second)
#define CALL(name) DEFINE_PAIR(name, a, b)
#define COUNTED(name) DEFINE_PAIR(name, a, b) DEFINE_PAIR(name##_c, a, b)
#define OPEN(name) DEFINE_PAIR(name, a, (uintptr_t)themis_entry_file_name((const char *)b, &a))
#define DELETE(name) DEFINE_PAIR(name, (uintptr_t)themis_entry_file_name((const char *)a, NULL), b)
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
