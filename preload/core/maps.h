/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files mapped into memory. A private map, and one of a program that cannot write, gets the file's bytes when it is
 * made. A shared map is memory that all maps of the file in this process and its children share; what was changed there
 * is written at msync, fsync, munmap, before this process reads the file, and at its end. What other processes write is
 * not seen; that of this process is. So who has record locks of a file gets no shared map of it (ENODEV): such programs
 * use it to share memory with others, as SQLite's write-ahead log and LMDB do.
 */
#pragma once
#include "posix/filesystem.h"

/* In a call: writes what has changed in shared maps of the file. 0 or an errno. */
int themis_preload_maps_flush(const themis_posix_node_t *node);
/* These bytes were written to the file. */
void themis_preload_maps_update(const themis_posix_node_t *node, const void *bytes, size_t length, off_t offset);
/* The file's end or its bytes have changed otherwise; what maps have, and had not been written, is kept. */
void themis_preload_maps_refresh(const themis_posix_node_t *node);

/* At the end of the process, in a call: writes what has changed in all maps. */
void themis_preload_maps_flush_all(void);
/* In a child: whoever held the lock is not here. */
void themis_preload_maps_reset(void);
