/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread inside of the core is left alone by the function that stands in front of the C library's. */
#define _GNU_SOURCE
#include "preload/kernel.h"
#include <unistd.h>

long themis_preload_kernel(long number, ...)
{
    long argument[6];
    va_list list;

    va_start(list, number);
    themis_preload_kernel_arguments(list, argument);
    va_end(list);
    return syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
