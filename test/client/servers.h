/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers for the tests of the client library: themisd of the build tree, on loopback; and what these tests share. */
#pragma once
#include <check.h>
#include <stdint.h>
#include "themis/themis.h"

enum { TEST_SERVERS = 3, TEST_STRIPE = 4096 };

#define ck_ok(call) ck_assert_msg((call) == THEMIS_OK, "%s", themis_last_error())

extern char test_server_list[256];
/* Of servers that are started from now on. */
extern const char *test_server_lease, *test_server_capability_lifetime;
/* The servers have posix stores below it, or arenas if it is NULL, as at first. */
extern const char *test_server_directory;

/* Connects to a list of servers, with a timeout of so many ns. */
themis_status_t test_connect(const char *list, uint64_t timeout, themis_t **session);

/* A list of one run, and one piece of memory that *memory gets. */
themis_list_t test_list(void *bytes, const themis_run_t *run, struct iovec *memory);

/* Starts all; they end with this process at the latest. Returns 0, or -1 and prints why if there is no themisd. */
int test_servers_start(void);
void test_servers_stop(void);
/* Ends one at once, as a crash would, or starts it again at the same address; an arena is empty then. */
void test_server_kill(int index);
void test_server_start(int index);
/* Returns at once. Both are for the main thread: a server ends with the thread that started it. */
void test_server_start_after(int index, unsigned delay_ms);
/* SIGSTOP and SIGCONT: a server that is connected and does not reply. */
void test_server_signal(int index, int signal);
