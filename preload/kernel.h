/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the kernel itself, as the function `syscall` is intercepted like others of the C library. Each of the two
 * libraries has its own of this name. */
#pragma once
#include <sys/syscall.h>

/* As syscall(2). */
long themis_preload_kernel(long number, ...);
