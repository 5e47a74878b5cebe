/* SPDX-License-Identifier: BSD-3-Clause */
/* Which servers of a list accept connections, found out for all at once and quickly. */
#pragma once
#include <stdint.h>

enum { THEMIS_TOOLS_MAX_REACHED = 4096 };

/*
 * Tries a TCP connection to each server of "host:port,..." for at most `limit` ns in all. down[i]: 1 if server i cannot
 * be reached, `size` elements. Returns how many are down. It is a hint: on networks where servers do not listen by TCP
 * all seem to be down, and none is then reported. *answering: how many accepted a connection.
 */
unsigned themis_tools_reach(const char *list, uint64_t limit, unsigned char *down, unsigned size, unsigned *answering);
