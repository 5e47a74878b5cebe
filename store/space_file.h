/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of an arena: its last bytes say what it is, so that no other file is overwritten. */
#pragma once
#include <stdint.h>
#include "themis/status.h"

/*
 * Maps `size` bytes of the file `path`, which is created, or has been an arena before; any other file is left unchanged
 * (THEMIS_CONFIG), and so is one that another server uses (THEMIS_BUSY). The cause has been logged. *fd, to be closed
 * by the caller, keeps others from using it; it may be set although mapping failed, otherwise it is -1.
 */
themis_status_t themis_store_space_file_map(const char *path, uint64_t size, int *fd, uint8_t **base);

/* Gives bytes of the file blocks of its file system, before they are touched: where there are none that would end the
 * process. 0: there are none. */
int themis_store_space_file_grow(int fd, uint64_t offset, uint64_t bytes);
