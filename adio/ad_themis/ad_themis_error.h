/* SPDX-License-Identifier: BSD-3-Clause */
/* From a themis_status_t to an MPI error code. */
#pragma once
#include "ad_themis.h"

enum { AD_THEMIS_TEXT = 512 };

/* An MPI error code for `status`, whose text names the file `name` and the cause `text`; MPI_SUCCESS for THEMIS_OK. The
 * only place where a status becomes an MPI error class. */
int ADIOI_THEMIS_Error(const char *function, int line, themis_status_t status, const char *name, const char *text);
/* The same with the text of the client library's last failure in this thread. */
#define ADIOI_THEMIS_FAILURE(status, name) ADIOI_THEMIS_Error(__func__, __LINE__, (status), (name), themis_last_error())

/* Collective: rank `root` broadcasts the outcome of what it did alone; all ranks of fd->comm get the same code. */
int ADIOI_THEMIS_Error_broadcast(ADIO_File fd, int root, const char *function, themis_status_t status);
/* Collective: MPI_SUCCESS if no rank failed, else the same error on all: the worst status, with the rank, host and
 * cause of it. */
int ADIOI_THEMIS_Error_agree(ADIO_File fd, const char *function, themis_status_t status);
