/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/clock.h"
#include <stdatomic.h>
#include <time.h>

static _Atomic int manual;
static _Atomic uint64_t manual_now;

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * THEMIS_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t themis_util_clock_now(void)
{
    return manual ? manual_now : read_clock(CLOCK_MONOTONIC);
}

uint64_t themis_util_clock_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t themis_util_clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t themis_util_clock_wall_coarse(void)
{
    return read_clock(CLOCK_REALTIME_COARSE);
}

void themis_util_clock_set_manual(uint64_t now)
{
    manual_now = now;
    manual = 1;
}

void themis_util_clock_advance(uint64_t delta)
{
    manual_now += delta;
}

void themis_util_clock_set_real(void)
{
    manual = 0;
}
