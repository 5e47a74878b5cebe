/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPICH's extended generalized requests, whose poll function makes progress while a program waits, over those of MPI.
 * Open MPI calls poll functions in each of its own calls that make progress (opal_progress), so a poll may come from
 * any thread, and also from a call that another poll makes; one at a time polls, and calls from within are ignored.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <mpi.h>
#undef PMPI_Grequest_complete

enum { MAX_CLASSES = 64 };

typedef struct request_class {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *release;
    MPI_Grequest_cancel_function *cancel;
    MPIX_Grequest_poll_function *poll;
    MPIX_Grequest_wait_function *wait;
} request_class_t;

/* Belongs to MPI and, until it is complete, to the list. */
typedef struct request {
    const request_class_t *class;
    void *state; /* the caller's; freed by class->release */
    MPI_Request mpi;
    _Atomic int complete, owners;
    struct request *next;
} request_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and the classes */
static request_class_t classes[MAX_CLASSES];
static int class_count;
static request_t *polled; /* the list */
static _Atomic int polled_count, is_polling;

static void request_let_go(request_t *request)
{
    if (--request->owners == 0)
        free(request);
}

/* --- called by MPI --- */

static int query_fn(void *state, MPI_Status *status)
{
    request_t *request = state;

    return request->class->query(request->state, status);
}

static int free_fn(void *state)
{
    request_t *request = state;
    int rc = request->class->release(request->state);

    request_let_go(request);
    return rc;
}

static int cancel_fn(void *state, int complete)
{
    request_t *request = state;

    return request->class->cancel(request->state, complete);
}

/* The one after `before` in the list, or the first; takes those out that are complete. With the lock. */
static request_t *list_next(request_t *before)
{
    request_t **at = before ? &before->next : &polled, *gone;

    while (*at && (*at)->complete) {
        gone = *at;
        *at = gone->next;
        polled_count--;
        request_let_go(gone);
    }
    return *at;
}

/* Returns how many requests have been completed. */
static int progress(void)
{
    request_t *request = NULL;
    int completed = 0;

    if (polled_count == 0 || atomic_exchange(&is_polling, 1))
        return 0;
    for (;;) {
        MPI_Status unused;

        pthread_mutex_lock(&lock);
        request = list_next(request);
        pthread_mutex_unlock(&lock);
        if (!request)
            break;
        request->class->poll(request->state, &unused);
        completed += request->complete;
    }
    is_polling = 0;
    return completed;
}

static int is_registered;

static void progress_register(void)
{
    int (*add)(int (*)(void)) = NULL;

    *(void **)&add = dlsym(RTLD_NEXT, "opal_progress_register");
    is_registered = add && add(progress) == 0;
}

/* --- called by ROMIO and the driver --- */

int PMPIX_Grequest_class_create(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                                MPI_Grequest_cancel_function *cancel, MPIX_Grequest_poll_function *poll,
                                MPIX_Grequest_wait_function *wait, MPIX_Grequest_class *made)
{
    int rc = MPI_ERR_INTERN;

    pthread_mutex_lock(&lock);
    if (class_count < MAX_CLASSES) {
        classes[class_count] = (request_class_t){query, release, cancel, poll, wait};
        *made = class_count++;
        rc = MPI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static void list_insert(request_t *request)
{
    pthread_mutex_lock(&lock);
    request->next = polled;
    polled = request;
    polled_count++;
    pthread_mutex_unlock(&lock);
}

/* *made is set before the first poll. Where nothing polls, the call is completed here. */
int PMPIX_Grequest_class_allocate(MPIX_Grequest_class number, void *state, MPI_Request *made)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    request_t *request = calloc(1, sizeof *request);
    int rc;

    if (!request)
        return MPI_ERR_NO_MEM;
    pthread_once(&once, progress_register);
    request->class = &classes[number];
    request->state = state;
    request->owners = is_registered ? 2 : 1;
    rc = PMPI_Grequest_start(query_fn, free_fn, cancel_fn, request, &request->mpi);
    if (rc != MPI_SUCCESS) {
        free(request);
        return rc;
    }
    *made = request->mpi;
    if (!is_registered)
        return request->class->wait(1, &state, 0, MPI_STATUS_IGNORE);
    list_insert(request);
    return MPI_SUCCESS;
}

/* It leaves the list at the next walk; as soon as MPI knows that it is complete, the program may free it. */
int themis_glue_grequest_complete(MPI_Request mpi)
{
    pthread_mutex_lock(&lock);
    for (request_t *request = polled; request; request = request->next)
        if (request->mpi == mpi && !request->complete) {
            request->complete = 1;
            break;
        }
    pthread_mutex_unlock(&lock);
    return PMPI_Grequest_complete(mpi);
}
