/* SPDX-License-Identifier: BSD-3-Clause */
/* Independent accesses through a cache, which the hint themis_cache=on asks for. */
#pragma once
#include "ad_themis.h"
#include "util/direction.h"

typedef struct ADIOI_THEMIS_Cache ADIOI_THEMIS_Cache;

/* 1: the hint asks for a cache. */
int ADIOI_THEMIS_Cache_asked(ADIO_File fd);
/* 1: the hint asks for it, the file is not in atomic mode, and its shared pointer was not used; the file has its cache
 * then. With ROMIO's lock. */
int ADIOI_THEMIS_Cache_wanted(ADIO_File fd);
/* Reads or writes a list through the file's cache, which it has. */
themis_status_t ADIOI_THEMIS_Cache_transfer(ADIO_File fd, themis_direction_t direction, const themis_list_t *list,
                                            size_t *done);
/* Local: what was written goes to the servers, what was read is forgotten. */
themis_status_t ADIOI_THEMIS_Cache_flush(ADIO_File fd);
/* The same, and frees the cache. */
themis_status_t ADIOI_THEMIS_Cache_end(ADIO_File fd);
