/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One copy between this process and another of the same user, by the kernel (process_vm_readv, process_vm_writev). The
 * remote table of segments is read in parts as the copy goes on. What it says is used as addresses in that same process
 * and as lengths that never exceed what is left of the local memory, so a table that lies, or changes meanwhile, harms
 * its owner only.
 */
#pragma once
#include <sys/types.h>
#include "net/transport.h"

/*
 * Copies in the calling thread. THEMIS_UNSUPPORTED: the kernel does not allow it (nothing was moved; errno says why);
 * THEMIS_DISCONNECTED: the process is gone; THEMIS_PROTOCOL: its memory is not what the descriptor says.
 */
themis_status_t themis_net_process_vm_copy(pid_t pid, const themis_net_copy_t *copy);

/* Writes why the kernel does not allow it, given the errno. */
void themis_net_process_vm_cause(int error, char *text, size_t size);
