/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ROMIO's lock for MPI_THREAD_MULTIPLE. ROMIO takes it round whole calls. Held through a blocking collective it would
 * let two threads that are in collectives on two files, in the opposite order on another rank, wait for each other for
 * ever; so it is given away in every MPI call that can block: the linker sends ROMIO's calls of those to the functions
 * below, and of Comm_dup to init.c (--wrap in local.mk, which has the same list).
 */
#include <pthread.h>
#include <sched.h>
#include "adio/ad_themis/ad_themis_hooks.h"
#include "adio/glue/glue.h"
#include "mpir_ext.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int this_thread_holds;
static enum { UNKNOWN, SINGLE, MULTIPLE } threads = UNKNOWN;

void themis_glue_lock_init(void)
{
    int level = MPI_THREAD_SINGLE;

    PMPI_Query_thread(&level);
    __atomic_store_n(&threads, level == MPI_THREAD_MULTIPLE ? MULTIPLE : SINGLE, __ATOMIC_RELAXED);
}

/* Before the level is known all calls lock; files can be used before MPI_Init by mistake only. */
static int lock_needed(void)
{
    return __atomic_load_n(&threads, __ATOMIC_RELAXED) != SINGLE;
}

void MPIR_Ext_cs_enter(void)
{
    if (!lock_needed())
        return;
    pthread_mutex_lock(&mutex);
    this_thread_holds = 1;
}

void MPIR_Ext_cs_exit(void)
{
    themis_glue_lock_release();
}

int themis_glue_lock_release(void)
{
    if (!this_thread_holds)
        return 0;
    this_thread_holds = 0;
    pthread_mutex_unlock(&mutex);
    return 1;
}

void themis_glue_lock_acquire(int held)
{
    if (!held)
        return;
    pthread_mutex_lock(&mutex);
    this_thread_holds = 1;
}

void MPIR_Ext_cs_yield(void)
{
    int held = themis_glue_lock_release();

    sched_yield();
    themis_glue_lock_acquire(held);
}

/* WRAP(name, parameters, arguments): PMPI_name without the lock. */
#define WRAP(name, parameters, arguments)                                                                              \
    int __real_PMPI_##name parameters;                                                                                 \
    int __wrap_PMPI_##name parameters;                                                                                 \
    int __wrap_PMPI_##name parameters                                                                                  \
    {                                                                                                                  \
        int held = themis_glue_lock_release();                                                                         \
        int rc = __real_PMPI_##name arguments;                                                                         \
        themis_glue_lock_acquire(held);                                                                                \
        return rc;                                                                                                     \
    }

WRAP(Allgather, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
     (s, sn, st, r, rn, rt, c))
WRAP(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (s, r, n, t, op, c))
WRAP(Alltoall, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
     (s, sn, st, r, rn, rt, c))
WRAP(Alltoallw,
     (const void *s, const int sn[], const int sd[], const MPI_Datatype st[], void *r, const int rn[], const int rd[],
      const MPI_Datatype rt[], MPI_Comm c),
     (s, sn, sd, st, r, rn, rd, rt, c))
WRAP(Barrier, (MPI_Comm c), (c))
WRAP(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
WRAP(Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *made), (c, g, made))
WRAP(Comm_free, (MPI_Comm * c), (c))
WRAP(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *made), (c, color, key, made))
WRAP(Gather, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     (s, sn, st, r, rn, rt, root, c))
WRAP(Gatherv,
     (const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, int root,
      MPI_Comm c),
     (s, sn, st, r, rn, rd, rt, root, c))
WRAP(Recv, (void *b, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Status *status),
     (b, n, t, source, tag, c, status))
WRAP(Send, (const void *b, int n, MPI_Datatype t, int target, int tag, MPI_Comm c), (b, n, t, target, tag, c))
WRAP(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
WRAP(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses))
WRAP(Waitany, (int n, MPI_Request requests[], int *which, MPI_Status *status), (n, requests, which, status))
WRAP(Win_create, (void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm c, MPI_Win *win),
     (base, bytes, unit, info, c, win))
WRAP(Win_free, (MPI_Win * win), (win))
WRAP(Win_unlock, (int rank, MPI_Win win), (rank, win))
