/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What serves the calls. In a program of MPICH, or of a library with its ABI, the core libthemis-mpiio-mpich serves
 * all. In a program of Open MPI the core libthemis-mpiio-ompi serves `themis:` files, and the program's own MPI library
 * all else; in a program of another MPI, that serves all. Decided at the first call, since programs may load MPI long
 * after they have started, and once for all. Before it nothing happens in a process. Thread-safe.
 */
#pragma once
#include <stdint.h>

typedef enum themis_entry_side { THEMIS_ENTRY_CORE, THEMIS_ENTRY_PROGRAM } themis_entry_side_t;

/* Which side serves files with such a name, and calls that have none (is_themis 0). */
themis_entry_side_t themis_entry_backend_side(int is_themis);

/* Which side serves the file with this handle of the program's; *handle becomes what that side knows it as. */
themis_entry_side_t themis_entry_backend_side_of_file(uintptr_t *handle);

/* The function of this name on that side, or NULL: there is none, or no MPI library yet. Of a core that has handles of
 * its own, the function of the name `with_handles` if that is not NULL. */
void *themis_entry_backend_function(themis_entry_side_t side, const char *name, const char *with_handles);

/* Why themis_entry_backend_function has just returned NULL, to follow the name. A constant. */
const char *themis_entry_backend_missing(themis_entry_side_t side);

/* Why `themis:` files cannot be served here, and what to do; NULL if they are served. Valid until the process ends. */
const char *themis_entry_backend_refusal(void);

/* A function of the core if that is loaded already, otherwise NULL; loads nothing. */
void *themis_entry_backend_core_function(const char *name);
