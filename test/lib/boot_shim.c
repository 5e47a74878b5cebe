/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into themisd: the file $BOOT_SHIM_ID is opened instead of the kernel's boot id, as after a restart of the
 * machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    const char *other = getenv("BOOT_SHIM_ID");

    return real(other && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? other : path, mode);
}
