/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into MPI ranks of the emulated cluster. MPICH 4.0.2 over UCX and TCP sometimes hangs in MPI_Finalize, with
 * or without Themis: one rank waits for the disconnect of a peer that has stopped making progress (mended upstream by
 * MPICH's pull request 6596). This makes the disconnect a bounded time of progress instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static ucp_worker_h mpi_worker; /* the first of the process */

__attribute__((visibility("default"))) ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params,
                                                                  ucp_ep_h *ep)
{
    ucs_status_t (*create)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *) =
        (ucs_status_t(*)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *))dlsym(RTLD_NEXT, "ucp_ep_create");

    if (mpi_worker == NULL)
        mpi_worker = worker;
    return create(worker, params, ep);
}

__attribute__((visibility("default"))) ucs_status_ptr_t ucp_disconnect_nb(ucp_ep_h ep)
{
    static int done;
    double end = seconds() + 0.1;

    while (!done && mpi_worker != NULL && seconds() < end)
        ucp_worker_progress(mpi_worker);
    done = 1;
    return NULL;
}
