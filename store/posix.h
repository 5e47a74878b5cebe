/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The posix store, for file systems that cannot be mapped: one file per object in a directory, under 256 x 256
 * subdirectories that are made when first needed. Descriptors of objects that are not open are kept in a list, and the
 * least recently used ones are closed. Bytes go through a staging buffer of the window.
 */
#pragma once
#include "store/store.h"

themis_status_t themis_store_posix_create(const themis_store_options_t *options, themis_store_t **store);
