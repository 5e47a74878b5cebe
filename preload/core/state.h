/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session of this process and its file system. It is opened by the first call that needs it, and given up without a
 * word in a child after a fork, which opens its own: handles of files then come from their descriptors.
 */
#pragma once
#include <sys/stat.h>
#include "posix/filesystem.h"
#include "preload/core.h"

/* What stat shows as the device of all files on servers. */
enum { THEMIS_PRELOAD_DEVICE = 0x7468 };

/*
 * Begins a call: opens the session if there is none. 0 or an errno; then *filesystem stays until the call ends. Each
 * thread makes one call at a time.
 */
int themis_preload_begin(themis_posix_t **filesystem);
void themis_preload_end(void);

int themis_preload_is_connected(void);

/* Grows with each session of the process; handles of an earlier one are of no use. */
uint64_t themis_preload_generation(void);

/* Who makes calls: the process. */
const themis_posix_caller_t *themis_preload_caller(void);

/* 1 if no call is under way; then none begins until themis_preload_resume. */
int themis_preload_pause(void);
void themis_preload_resume(void);
/* While paused, in a child: the session is the parent's. */
void themis_preload_abandon(void);
/* While paused: ends the session. */
void themis_preload_disconnect(void);

/* Waits until no call is under way; none begins until themis_preload_resume. Before a fork. */
void themis_preload_await_pause(void);

/* For results: sets errno and returns -1, or returns 0 if `error` is 0. */
int themis_preload_result(int error);
