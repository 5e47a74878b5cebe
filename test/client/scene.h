/* SPDX-License-Identifier: BSD-3-Clause */
/* A session at all servers, and files with stripes on each; for tests of servers that end and come back. */
#pragma once
#include "test/client/servers.h"

extern themis_t *session;

/* Each test is a process of its own, which starts its servers: with arenas, or with posix stores in the scratch
 * directory. */
void start_servers(void);
void stop_servers(void);
void start_posix_servers(void);
void stop_posix_servers(void);

/* Stripes on all servers, beginning with the first. */
themis_file_t *open_file(const char *path);
/* Zeros, a stripe on each server. */
themis_status_t write_all(themis_file_t *file);
