/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth limit of a store (store_bandwidth): a token bucket, kept as the time at which a device of that
 * bandwidth has moved all bytes that it was given. A worker that comes late may still use the last
 * THEMIS_SCHED_BANDWIDTH_BURST ns of the device's time, but only where there was work: an idle device saves nothing up.
 *
 * Pure computation. Threads: the caller serialises.
 */
#pragma once
#include <stdint.h>

#define THEMIS_SCHED_BANDWIDTH_BURST UINT64_C(20000000)

typedef struct themis_sched_bandwidth_limit {
    uint64_t bandwidth; /* bytes/s; 0: no limit */
    double free_at;     /* ns; when all bytes so far are moved */
} themis_sched_bandwidth_limit_t;

/* 1 while the device is still moving what it was given; *wake is then the time at which it has done so. */
int themis_sched_bandwidth_limit_is_busy(themis_sched_bandwidth_limit_t *limit, uint64_t now, uint64_t *wake);
/* The device gets `bytes` more to move; negative: fewer. */
void themis_sched_bandwidth_limit_charge(themis_sched_bandwidth_limit_t *limit, double bytes);
/* Work arrives at an idle device. Returns the ns for which it was idle; the last slice ended at `last_done`. */
uint64_t themis_sched_bandwidth_limit_end_idle(themis_sched_bandwidth_limit_t *limit, uint64_t last_done, uint64_t now);
