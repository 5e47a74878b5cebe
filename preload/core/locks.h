/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record locks (fcntl) belong to the process: all of a file are taken by one handle, whatever descriptor asks, and
 * closing any descriptor of the file gives them up, as POSIX says. Those of flock belong to an open file description.
 */
#pragma once
#include "posix/filesystem.h"

/* In a call: gives up all record locks of the file. */
void themis_preload_locks_drop(const themis_posix_node_t *node);
/* Paused: forgets all; their handles are about to be closed, or are the parent's. */
void themis_preload_locks_forget(void);
/* 1: this process has record locks of the file. */
int themis_preload_locks_held(const themis_posix_node_t *node);
