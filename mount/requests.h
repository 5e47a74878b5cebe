/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of the kernel that are being worked on, and who answers them.
 *
 * A request is worked on by the thread that has received it. When the process that waits for it gets a signal, and the
 * request has not ended a second later, as its server does not answer, it is answered with EINTR; the thread goes on,
 * and what it finds is dropped. Whoever takes a request off the list, under its lock, answers it.
 */
#pragma once
#include <pthread.h>
#include "mount/fuse.h"
#include "posix/filesystem.h"

typedef struct themis_mount_requests {
    themis_posix_t *filesystem; /* borrowed */
    pthread_mutex_t lock;
    pthread_cond_t interrupted; /* a request was, or it is the end; waits by the monotonic clock */
    pthread_t monitor;          /* answers interrupted requests */
    int ending;
    struct themis_mount_request *first; /* that are not answered */
} themis_mount_requests_t;

typedef struct themis_mount_request {
    themis_mount_requests_t *requests;
    struct themis_mount_request *prev, *next;
    fuse_req_t fuse;           /* valid until it is answered */
    themis_posix_node_t *node; /* that it is about, with a reference; NULL: none */
    themis_posix_caller_t caller;
    uint64_t deadline; /* of an interrupted one; 0: not interrupted */
    int registered;    /* 1: libfuse has been told of it, and does not use `fuse` for that any more */
    int answered;
} themis_mount_request_t;

themis_status_t themis_mount_requests_init(themis_mount_requests_t *requests, themis_posix_t *filesystem);
void themis_mount_requests_free(themis_mount_requests_t *requests);

/* `request` belongs to the caller. `node` 0: none. */
void themis_mount_request_begin(themis_mount_requests_t *requests, themis_mount_request_t *request, fuse_req_t fuse,
                                fuse_ino_t node);
/* Returns 1 if the caller is to answer it. The node is released. */
int themis_mount_request_end(themis_mount_request_t *request);

/* The node of a number of the kernel, which is its address, and the other way round; the root is FUSE_ROOT_ID. */
themis_posix_node_t *themis_mount_node_of(themis_posix_t *filesystem, fuse_ino_t number);
fuse_ino_t themis_mount_number_of(const themis_posix_node_t *node);
