/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers for the live tests of the client library: themisd of the build tree, on loopback. */
#ifndef THEMIS_TEST_CLIENT_SERVERS_H
#define THEMIS_TEST_CLIENT_SERVERS_H
#include <sys/types.h>

enum { TEST_SERVERS = 3, TEST_STRIPE = 4096 };

extern char test_server_list[256];

/* Starts all; they end with this process at the latest. Returns 0, or -1 if there is no themisd. */
int test_servers_start(void);
void test_servers_stop(void);
/* Ends one at once, as a crash would, or starts it anew at the same address, empty. */
void test_server_kill(int index);
void test_server_start(int index);
/* Returns at once. Both belong to the main thread: what they start ends with the thread that called. */
void test_server_start_after(int index, unsigned delay_ms);
/* SIGSTOP and SIGCONT: a server that is there and says nothing. */
void test_server_signal(int index, int signal);
#endif
