/* SPDX-License-Identifier: BSD-3-Clause */
/* One copy between this process and another of the same user, by the kernel. */
#ifndef THEMIS_NET_LOCAL_PROCESS_VM_H
#define THEMIS_NET_LOCAL_PROCESS_VM_H
#include "net/core.h"

typedef struct themis_net_copy {
    pid_t pid;
    const themis_net_descriptor_t *remote;
    uint64_t offset; /* in the remote range */
    const struct iovec *local;
    size_t count;
    uint64_t total; /* bytes of local, which the remote range has */
    int push;       /* 1: from local to remote */
} themis_net_copy_t;

/*
 * Copies in the calling thread. THEMIS_UNSUPPORTED: the kernel does not allow it (nothing was moved; errno
 * says why); THEMIS_DISCONNECTED: the process is gone; THEMIS_PROTOCOL: its memory is not what the descriptor says.
 */
themis_status_t themis_net_copy(const themis_net_copy_t *copy);
#endif
