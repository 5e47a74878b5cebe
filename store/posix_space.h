/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes of a file have space already, as far as its file system tells: what it does not is taken to be a hole
 * where the file ends, and data before. The file's offset is changed. */
#pragma once
#include "store/accounts.h"
#include "store/store.h"

/* Bytes of the range that are in holes. */
uint64_t themis_store_posix_space_missing(int fd, uint64_t offset, uint64_t length);

/* Cuts the extents of a window, which cover window->bytes, to those that have space, and as many more as the account
 * may have. THEMIS_QUOTA: there are none. */
themis_status_t themis_store_posix_space_cut(int fd, const themis_store_account_t *account,
                                             themis_store_window_t *window);
