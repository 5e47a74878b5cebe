/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files: plain ones below the mount point, and those of `themis:` files in programs that cannot be served. */
#pragma once
#include <stdint.h>

/*
 * The name that is passed to what serves the program: `name` itself; for a plain name below the mount point it with the
 * prefix, valid until the thread's next call; or for a `themis:` file (by its prefix or by
 * ROMIO_FSTYPE_FORCE) that cannot be served one that no file can have. The program's MPI library then fails with its
 * own error, through its own error handlers. The cause is written to standard error once in a process, and of an open
 * only by rank 0 of `comm`, NULL where there is none, which points to the handle as the program passes it. Names are
 * borrowed; NULL is passed on.
 */
const char *themis_entry_file_name(const char *name, const uintptr_t *comm);

/* 1: a name, as themis_entry_file_name returns it, is one of a `themis:` file: by its prefix or by ROMIO_FSTYPE_FORCE.
 * NULL is allowed. */
int themis_entry_file_name_is_themis(const char *name);
