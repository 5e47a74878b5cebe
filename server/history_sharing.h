/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes of a job accessed which files on this server, and from how many hosts: what the history says of
 * sharing. Bounded: of a very large job the first processes and files are known. Threads: the caller serialises.
 */
#pragma once
#include <stdint.h>
#include "history/record.h"

/* Numbers other than 0, by hash; memory is taken with the first one. */
typedef struct themis_server_history_set {
    uint64_t *slot; /* [capacity], owned; 0: free */
    uint32_t count, capacity;
} themis_server_history_set_t;

typedef struct themis_server_history_sharing {
    themis_server_history_set_t accesses; /* of a process, and of a process and a file */
    themis_server_history_set_t hosts;
    struct themis_server_history_file *files; /* uthash */
    uint32_t processes;
} themis_server_history_sharing_t;

/* Zeros are a sharing without an access. */
void themis_server_history_sharing_release(themis_server_history_sharing_t *sharing);

/* `process` and `host`: numbers that tell them from others. */
void themis_server_history_sharing_note(themis_server_history_sharing_t *sharing, uint64_t process, uint64_t host,
                                        uint64_t file);

uint32_t themis_server_history_sharing_files(const themis_server_history_sharing_t *sharing);
uint32_t themis_server_history_sharing_hosts(const themis_server_history_sharing_t *sharing);

/*
 * By what most accesses are, each process counting once for each of its files: N-1 if they are to files that more than
 * half of the processes access, which a program may have several of, one after another; N-N if they are to files of one
 * process; else N-M. 1-1 if there is one process.
 */
themis_history_sharing_t themis_server_history_sharing_kind(const themis_server_history_sharing_t *sharing);
