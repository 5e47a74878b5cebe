/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rights of open files. The client library renews those that have expired by the name that a file was opened with; here
 * a file may have got another name since.
 */
#pragma once
#include "posix/file.h"

/* After a call about `file` that ended with `status`: 1 if it was for rights that could not be renewed by the old name,
 * and they have been renewed by the present one, so that the call is worth repeating. 0 once *renewals, which begins
 * with 0, is used up. No claim of the file's name may be held. */
int themis_posix_rights_renew(themis_posix_file_t *file, unsigned *renewals, themis_status_t status);
