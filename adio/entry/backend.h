/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What serves the calls: the core libthemis-mpiio-mpich in a program of MPICH or of a library with its ABI, the
 * program's own MPI library in any other. Decided at the first call, since programs may load MPI long after they have
 * started, and once for all. Before it nothing happens in a process. Thread-safe.
 */
#pragma once

/* The function of this name that serves the program, or NULL: there is none, or no MPI library yet. */
void *themis_entry_backend_function(const char *name);

/* Why themis_entry_backend_function has just returned NULL, to follow the name. A constant. */
const char *themis_entry_backend_missing(void);

/* Why `themis:` files cannot be served here, and what to do; NULL if they are served. Valid until the process ends. */
const char *themis_entry_backend_refusal(void);

/* A function of the core if that is loaded already, otherwise NULL; loads nothing. */
void *themis_entry_backend_core_function(const char *name);
