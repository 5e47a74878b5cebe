/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include "preload/entry/entry.h"
#include "preload/kernel.h"

static const struct {
    const char *name;
    int eager;
} functions[THEMIS_PRELOAD_REALS] = {
#define EAGER(name) {#name, 1},
#define LAZY(name) {#name, 0},
#include "preload/entry/real.def"
#undef EAGER
#undef LAZY
};

void *themis_preload_reals[THEMIS_PRELOAD_REALS];

/* For a function that this C library does not have. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Before version 2.34 of glibc asynchronous accesses are in a library of their own, which this one does not need. */
static void *asynchronous(const char *name)
{
    void *library =
        strncmp(name, "aio_", 4) == 0 || strncmp(name, "lio_", 4) == 0 ? dlopen("librt.so.1", RTLD_LAZY) : NULL;

    return library ? dlsym(library, name) : NULL;
}

void *themis_preload_real_find(int index)
{
    void *real = dlsym(RTLD_NEXT, functions[index].name);

    if (!real)
        real = asynchronous(functions[index].name);
    if (!real)
        *(long (**)(void)) & real = missing;
    __atomic_store_n(&themis_preload_reals[index], real, __ATOMIC_RELEASE);
    return real;
}

void themis_preload_real_begin(void)
{
    for (int i = 0; i < THEMIS_PRELOAD_REALS; i++)
        if (functions[i].eager && !themis_preload_reals[i])
            themis_preload_real_find(i);
}

long themis_preload_kernel(long number, ...)
{
    long argument[6];
    va_list list;

    va_start(list, number);
    themis_preload_kernel_arguments(list, argument);
    va_end(list);
    return REAL(syscall)(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
