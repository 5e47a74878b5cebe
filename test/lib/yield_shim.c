/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into MPI ranks that outnumber the processors. MPICH's ch4 polls without ever giving up its processor, so
 * that with more ranks than processors one measures how long others spin. This gives the processor away whenever a poll
 * found nothing to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <ucp/api/ucp.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(ucp_worker_h worker)
{
    static unsigned (*progress)(ucp_worker_h);
    unsigned events;

    if (progress == NULL)
        progress = (unsigned (*)(ucp_worker_h))dlsym(RTLD_NEXT, "ucp_worker_progress");
    events = progress(worker);
    if (events == 0)
        sched_yield();
    return events;
}
