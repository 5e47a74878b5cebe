/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files are the driver's, and errors of calls on them. */
#pragma once
#include "adio/ad_themis/ad_themis_hooks.h"

/* 1: an open file of the driver; calls on other files go to ROMIO unchanged. */
int themis_glue_file_is_ours(MPI_File file);

/* 1: the name of a file of the driver, by its prefix or by ROMIO_FSTYPE_FORCE. NULL is allowed. */
int themis_glue_file_name_is_ours(const char *name);

/* An error whose text has no arguments, passed to the error handler of `file` (MPI_FILE_NULL: the default one); returns
 * what the handler returns. */
int themis_glue_file_fail(MPI_File file, const char *function, int class, const char *fault);
