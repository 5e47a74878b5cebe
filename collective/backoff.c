/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/backoff.h"
#include <sched.h>
#include <time.h>

/*
 * First some polls without a system call, then YIELDS that give the processor away, then asleep, each time for a
 * sixteenth longer, so for about a sixteenth of what has been waited. A long wait is one for the network or for
 * servers. Where ranks outnumber the processors, those that poll take them away from those that move the bytes. Where
 * they do not, ranks that yield or sleep soon look idle to the kernel, which lets two share one processor.
 */
enum { SPINS = 4000, CROWDED_SPINS = 300, YIELDS = 200, MPI_EVERY = 64, MIN_SLEEP_NS = 20000, MAX_SLEEP_NS = 1000000 };

static unsigned spins(const themis_collective_group_t *group)
{
    return group->crowded ? CROWDED_SPINS : SPINS;
}

void themis_collective_backoff_shorten(const themis_collective_group_t *group, unsigned *polls)
{
    unsigned first_sleep = spins(group) + YIELDS;
    if (*polls > first_sleep)
        *polls = first_sleep;
}

void themis_collective_backoff_wait(const themis_collective_group_t *group, unsigned *polls)
{
    unsigned now = (*polls)++, spin = spins(group), first_sleep = spin + YIELDS;
    if (now % MPI_EVERY == MPI_EVERY - 1 || now > first_sleep) {
        /* A rank that waits here may be the one whose progress another rank's message needs. */
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, THEMIS_COLLECTIVE_TAG_PROBE, group->comm, &flag, MPI_STATUS_IGNORE);
    }
    if (now < spin) {
        atomic_signal_fence(memory_order_seq_cst);
    } else if (now < first_sleep) {
        sched_yield();
    } else {
        struct timespec time = {0, MIN_SLEEP_NS};
        for (unsigned i = first_sleep; i < now && time.tv_nsec < MAX_SLEEP_NS; i++)
            time.tv_nsec += time.tv_nsec / 16;
        nanosleep(&time, NULL);
    }
}
