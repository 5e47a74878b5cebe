/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_request.h"
#include "util/clock.h"

static const uint64_t quick_succession = 20 * THEMIS_NS_PER_US; /* between two polls of MPI_Wait */
enum { POLLS_BEFORE_WAITING = 100 };

int ADIOI_THEMIS_Request_is_waited_for(ADIOI_THEMIS_Request *state)
{
    uint64_t now = themis_util_clock_now();

    state->poll_count = now - state->polled < quick_succession ? state->poll_count + 1 : 0;
    state->polled = now;
#ifdef AD_THEMIS_POLLS_ARE_SHARED
    return 0;
#else
    return state->poll_count > POLLS_BEFORE_WAITING;
#endif
}

static int query_fn(void *arg, MPI_Status *status)
{
    ADIOI_THEMIS_Request *state = arg;

    MPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)state->done);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return state->code;
}

/* Neither a transfer nor a call that other ranks take part in can be cancelled. */
static int cancel_fn(void *arg, int done)
{
    return MPI_SUCCESS;
}

void ADIOI_THEMIS_Request_start(ADIOI_THEMIS_Request_class *class, ADIOI_THEMIS_Request *state, MPI_Request *request)
{
    if (!class->made)
        MPIX_Grequest_class_create(query_fn, class->free, cancel_fn, class->poll, class->wait, &class->class);
    class->made = 1;
    /* Another thread's poll may complete it at once. */
    MPIX_Grequest_class_allocate(class->class, state, &state->mpi);
    *request = state->mpi;
}

int ADIOI_THEMIS_Request_run(const ADIOI_THEMIS_Access *access,
                             int (*run)(const ADIOI_THEMIS_Access *access, ADIO_Status *result), MPI_Request *request)
{
    ADIO_File fd = access->fd;
    ADIO_Status status;
    MPI_Count moved;
    int code = run(access, &status);

    if (code != MPI_SUCCESS)
        return code;
    if (MPI_Get_elements_x(&status, MPI_BYTE, &moved) != MPI_SUCCESS)
        moved = (MPI_Count)ADIOI_THEMIS_Access_bytes(access);
    MPIO_Completed_request_create(&fd, moved, &code, request);
    return code;
}
