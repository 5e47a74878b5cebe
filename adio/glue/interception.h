/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations of the functions in interception.def: ROMIO's originals, and ours that the linker calls instead. */
#pragma once
#include "adio/ad_themis/ad_themis_hooks.h"

#if AD_THEMIS_RESOLVE_RETURNS
typedef int themis_glue_resolve_t;
#else
typedef void themis_glue_resolve_t;
#endif

#define HOOK(function, result, parameters)                                                                             \
    result __real_##function parameters;                                                                               \
    result __wrap_##function parameters;
#define UNLOCKED(function, parameters, arguments)                                                                      \
    int __real_##function parameters;                                                                                  \
    int __wrap_##function parameters;
#define RENAMED(call, parameters) int themis_romio_File_##call parameters;
#include "adio/glue/interception.def"
