/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A FUSE mount of Themis servers: the kernel's requests, served through posix/ by the threads of a pool, until it is
 * unmounted or the process gets SIGTERM, SIGINT or SIGHUP.
 */
#pragma once
#include <stddef.h>
#include "mount/settings.h"
#include "themis/status.h"

/* The text of an error, for users. */
typedef struct themis_mount_error {
    char text[1024];
} themis_mount_error_t;

typedef enum themis_mount_end {
    THEMIS_MOUNT_FAILED, /* it was not mounted; the error says why */
    THEMIS_MOUNT_ENDED,
    THEMIS_MOUNT_STUCK /* ended, but threads still wait for servers: the process must not use its session, and end */
} themis_mount_end_t;

/*
 * Mounts the servers of the list at an empty directory, which is an absolute path, calls `ready` once programs can use
 * it, and serves it. To be called by the only thread of the process. `servers` NULL: those that are configured.
 */
themis_mount_end_t themis_mount_serve(const char *servers, const char *directory, themis_mount_settings_t *settings,
                                      void (*ready)(void *arg), void *arg, themis_mount_error_t *error);
