/* SPDX-License-Identifier: BSD-3-Clause */
/* ROMIO's lock for MPI_THREAD_MULTIPLE; released and acquired by the functions in ad_themis_hooks.h and mpir_ext.h. */
#pragma once

/* Learns whether MPI_THREAD_MULTIPLE was granted; without it the lock does nothing. */
void themis_glue_lock_init(void);
