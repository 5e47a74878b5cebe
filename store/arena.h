/* SPDX-License-Identifier: BSD-3-Clause */
/* The stores there are; only store.c calls these. */
#ifndef THEMIS_STORE_ARENA_H
#define THEMIS_STORE_ARENA_H
#include "store/store.h"

/* Bytes in a mapped region: arena.c, space.c. */
themis_status_t themis_store_arena_create(const themis_store_options_t *options, themis_store_t **store);
/* A file per object in a directory: posix_store.c. */
themis_status_t themis_store_posix_create(const themis_store_options_t *options, themis_store_t **store);
#endif
