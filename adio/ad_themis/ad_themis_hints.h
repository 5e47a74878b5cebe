/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints of an open file, as they are given and shown. */
#pragma once
#include "ad_themis_hint_check.h"

void ADIOI_THEMIS_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code);

/* The checked text of a hint, or NULL. Borrowed. */
const char *ADIOI_THEMIS_Hints_text(ADIO_File fd, ADIOI_THEMIS_Hint hint);
/* 1: `info` (may be MPI_INFO_NULL) has one of our hints with a valid value, which goes to text[MPI_MAX_INFO_VAL + 1];
 * warns of an invalid one, naming the file `name`. */
int ADIOI_THEMIS_Hints_given(MPI_Info info, ADIOI_THEMIS_Hint hint, const char *name, char *text);
/* Shows a hint's value in what MPI_File_get_info returns. */
void ADIOI_THEMIS_Hints_show(ADIO_File fd, const char *key, const char *value);
void ADIOI_THEMIS_Hints_show_number(ADIO_File fd, const char *key, double value);
