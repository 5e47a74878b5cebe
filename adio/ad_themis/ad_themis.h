/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ROMIO driver "themis:". It overrides what servers can do better and leaves the rest to ADIOI_GEN_*. ad_themis.c
 * has the table of operations; from there:
 * - _open.c: one rank opens, the others get the handle by broadcast; _control.c: size, sync, locks, delete;
 * - _hints.c, _hint_check.c: hints, which _open.c turns into a session (_session.c, _name.c) and an open file
 * (_file.h);
 * - _io.c, _async.c, _coll.c: independent, non-blocking and collective accesses (_access.h), by way of the view
 *   (_view.h) and lists (_list.h).
 *
 * Functions named after an operation of the table have its signature; *error_code is MPI_SUCCESS or a code of MPICH's.
 */
#pragma once
#include "adio.h"
#include "ad_themis_romio.h"
#include "themis/themis.h"

#ifndef ADIO_THEMIS
#define ADIO_THEMIS 190 /* in ROMIO's numbering of file systems */
#endif

extern struct ADIOI_Fns_struct ADIO_THEMIS_operations;
