/* SPDX-License-Identifier: BSD-3-Clause */
/* File descriptors that go from process to process by a local socket. */
#pragma once
#include <sys/types.h>

/* Sends bytes with a file descriptor, which stays the caller's. Does not wait. Returns 0, or -1 with errno. */
int themis_net_passing_send(int socket, const void *bytes, size_t length, int fd);
/* Receives up to `length` bytes; returns as recvmsg, without waiting. *fd is the descriptor that came with them, owned
 * by the caller, or -1; LOST: one came, but this process may have no more open files. */
enum { THEMIS_NET_PASSING_LOST = -2 };
ssize_t themis_net_passing_receive(int socket, void *bytes, size_t length, int *fd);
