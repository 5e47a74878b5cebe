/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calls behind an MPI request have in common; how they go on is theirs. */
#include "ad_themis.h"
#include "util/clock.h"

static const uint64_t quick = 20 * THEMIS_NS_PER_US; /* between two polls of one who does nothing else */
enum { POLLS_BEFORE_WAITING = 100 };

int ADIOI_THEMIS_Pending_waits(ADIOI_THEMIS_Pending *pending)
{
    uint64_t now = themis_util_clock_now();

    pending->impatience = now - pending->polled < quick ? pending->impatience + 1 : 0;
    pending->polled = now;
    return pending->impatience > POLLS_BEFORE_WAITING;
}

static int query_fn(void *state, MPI_Status *status)
{
    ADIOI_THEMIS_Pending *pending = state;

    MPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)pending->done);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return pending->code;
}

/* A transfer cannot be taken back, nor what other ranks take part in. */
static int cancel_fn(void *state, int done)
{
    return MPI_SUCCESS;
}

void ADIOI_THEMIS_Pending_start(ADIOI_THEMIS_Pending_class *class, ADIOI_THEMIS_Pending *pending, MPI_Request *request)
{
    if (!class->made)
        MPIX_Grequest_class_create(query_fn, class->free, cancel_fn, class->poll, class->wait, &class->class);
    class->made = 1;
    MPIX_Grequest_class_allocate(class->class, pending, request);
    pending->mpi = *request;
}
