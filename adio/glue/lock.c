/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ROMIO holds its lock during whole calls. Two threads in collective calls on two files, in the opposite order on
 * another rank, would deadlock if it were held while a call blocks; so it is released in every MPI call that can block
 * (interception.def; MPI_Comm_dup is in init.c).
 */
#include "adio/glue/lock.h"
#include <pthread.h>
#include <sched.h>
#include "adio/glue/interception.h"
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

#define UNLOCKED(function, parameters, arguments)                                                                      \
    int __wrap_##function parameters                                                                                   \
    {                                                                                                                  \
        int held = themis_glue_lock_release();                                                                         \
        int rc = __real_##function arguments;                                                                          \
        themis_glue_lock_acquire(held);                                                                                \
        return rc;                                                                                                     \
    }
#include "adio/glue/interception.def"
