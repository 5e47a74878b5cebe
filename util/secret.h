/* SPDX-License-Identifier: BSD-3-Clause */
/* Secrets in files, which only their user may be able to read. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_UTIL_SECRET_MAX = 4096 };

/* `length` 0: none. To be wiped by who has it. */
typedef struct themis_util_secret {
    size_t length;
    uint8_t bytes[THEMIS_UTIL_SECRET_MAX];
} themis_util_secret_t;

/* Reads a file of this process's user or of root that no other user may access; at most THEMIS_UTIL_SECRET_MAX bytes,
 * and at least `min`. THEMIS_CONFIG: `why` (`size` bytes) says what is wrong with it. */
themis_status_t themis_util_secret_read(const char *path, size_t min, themis_util_secret_t *secret, char *why,
                                        size_t size);
/* The same of an open file, whoever may access it, from its beginning where that is possible: others may have the same
 * open file. */
themis_status_t themis_util_secret_take(int fd, size_t min, themis_util_secret_t *secret, char *why, size_t size);
/* Hexadecimal digits, with a blank at neither end. */
themis_status_t themis_util_secret_parse(const char *text, size_t min, themis_util_secret_t *secret, char *why,
                                         size_t size);
/* What the environment has: the file that THEMIS_SECRET_FILE names, or else the digits of THEMIS_SECRET; `why` begins
 * with the variable. THEMIS_NO_ENTRY: neither is set. */
themis_status_t themis_util_secret_of_environment(size_t min, themis_util_secret_t *secret, char *why, size_t size);
