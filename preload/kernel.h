/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the kernel itself, as the function `syscall` is intercepted like others of the C library. Each of the two
 * libraries has its own of this name. */
#pragma once
#include <stdarg.h>
#include <sys/syscall.h>

/* As syscall(2). */
long themis_preload_kernel(long number, ...);

/* Reads six arguments, as many as any call has; the kernel ignores those that a call does not have. */
static inline void themis_preload_kernel_arguments(va_list list, long argument[6])
{
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
}
