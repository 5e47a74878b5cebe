/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/backoff.h"
#include <sched.h>
#include <time.h>

/*
 * Below SPIN polls without a system call, below YIELD giving the processor away, then asleep, each time for a sixteenth
 * longer, so for about a sixteenth of what has been waited. A long wait is one for the network or for servers; where
 * ranks outnumber the processors, those that poll take them away from those that move the bytes.
 */
enum { SPIN = 300, YIELD = 500, MPI_EVERY = 64, MIN_SLEEP_NS = 20000, MAX_SLEEP_NS = 1000000 };

void themis_collective_backoff_shorten(unsigned *polls)
{
    if (*polls > YIELD)
        *polls = YIELD;
}

void themis_collective_backoff_wait(const themis_collective_group_t *group, unsigned *polls)
{
    unsigned now = (*polls)++;
    if (now % MPI_EVERY == MPI_EVERY - 1 || now > YIELD) {
        /* A rank that waits here may be the one whose progress another rank's message needs. */
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, THEMIS_COLLECTIVE_TAG_PROBE, group->comm, &flag, MPI_STATUS_IGNORE);
    }
    if (now < SPIN) {
        atomic_signal_fence(memory_order_seq_cst);
    } else if (now < YIELD) {
        sched_yield();
    } else {
        struct timespec time = {0, MIN_SLEEP_NS};
        for (unsigned i = YIELD; i < now && time.tv_nsec < MAX_SLEEP_NS; i++)
            time.tv_nsec += time.tv_nsec / 16;
        nanosleep(&time, NULL);
    }
}
