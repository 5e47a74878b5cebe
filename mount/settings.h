/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a mount: those of `-o`, of which some are for the kernel and libfuse. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "mount/fuse.h"
#include "themis/status.h"

typedef struct themis_mount_settings {
    double attr_timeout, entry_timeout; /* s; how long the kernel believes attributes and names of files */
    double directory_timeout;           /* s; both, of directories */
    int cache;                          /* 1: bytes of files go through the page cache */
    int allow_other;                    /* 1: for all users */
    uint64_t timeout;                   /* ns; as of themis_options_t */
    char *timeout_text;                 /* owned; as given */
    struct fuse_args fuse;              /* owned; what libfuse gets */
} themis_mount_settings_t;

/* `options`: the values of all -o, "a,b=c"; `count` of them. THEMIS_INVALID: `error` says which is wrong. Release with
 * themis_mount_settings_free, also after a failure. */
themis_status_t themis_mount_settings_parse(const char *const *options, int count, themis_mount_settings_t *settings,
                                            char *error, size_t size);
void themis_mount_settings_free(themis_mount_settings_t *settings);
