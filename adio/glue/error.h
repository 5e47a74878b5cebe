/* SPDX-License-Identifier: BSD-3-Clause */
/* Error codes and error handlers of files; what ROMIO asks for is declared in mpir_ext.h. */
#pragma once

/* Compares where libmpich and this ROMIO keep a file's error handler; warns if they differ. */
void themis_glue_error_init(void);
