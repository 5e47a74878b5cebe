/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups that were released and wait for the next open of the same ranks. Which one serves is agreed on, since ranks
 * that open files on several communicators, or from several threads, may keep different ones. What is kept is never
 * freed: by the time MPI ends, ranks could not do that in the same order.
 */
#include "collective/group_cache.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static themis_collective_group_t *kept;
static int64_t last_id;

static int fits(const themis_collective_group_t *group, MPI_Comm comm, int fake_nodes, size_t staging_bytes)
{
    int result;
    return group->fake_nodes == fake_nodes && group->staging_bytes == staging_bytes &&
           MPI_Comm_compare(group->comm, comm, &result) == MPI_SUCCESS &&
           (result == MPI_CONGRUENT || result == MPI_IDENT);
}

/* Takes the oldest that fits out of the pool; NULL if there is none. */
static themis_collective_group_t *take(MPI_Comm comm, int fake_nodes, size_t staging_bytes)
{
    themis_collective_group_t **oldest = NULL, *found = NULL;
    pthread_mutex_lock(&lock);
    for (themis_collective_group_t **at = &kept; *at; at = &(*at)->next)
        if (fits(*at, comm, fake_nodes, staging_bytes) && (!oldest || (*at)->id < (*oldest)->id))
            oldest = at;
    if (oldest) {
        found = *oldest;
        *oldest = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void themis_collective_group_release(themis_collective_group_t *group)
{
    if (!group)
        return;
    pthread_mutex_lock(&lock);
    group->next = kept;
    kept = group;
    pthread_mutex_unlock(&lock);
}

/* Rank 0 numbers the groups that it is rank 0 of, and no two groups of the same ranks have another rank 0. */
static void number(themis_collective_group_t *group)
{
    if (group->rank == 0) {
        pthread_mutex_lock(&lock);
        group->id = ++last_id;
        pthread_mutex_unlock(&lock);
    }
    MPI_Bcast(&group->id, 1, MPI_INT64_T, 0, group->comm);
}

static themis_status_t make(MPI_Comm comm, int fake_nodes, size_t staging_bytes, themis_collective_group_t *group)
{
    themis_status_t status = themis_collective_group_create(comm, fake_nodes, staging_bytes, group);
    if (status == THEMIS_OK)
        number(group);
    else
        themis_collective_group_destroy(group);
    return status;
}

themis_status_t themis_collective_group_acquire(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                                themis_status_t own, themis_collective_group_t **result)
{
    themis_collective_group_t *found = take(comm, fake_nodes, staging_bytes);
    /* Ranks that found one may have to go along with some that did not. */
    themis_collective_group_t *made = calloc(1, sizeof *made);
    int64_t id = found ? found->id : 0;
    if (!made)
        own = THEMIS_NO_MEMORY;
    /* Least status, least and greatest id. */
    int64_t mine[3] = {own, id, -id}, all[3] = {THEMIS_INTERNAL, 0, 0};
    MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_MIN, comm);
    if (all[0] == THEMIS_OK && found && all[1] == -all[2]) {
        free(made);
        *result = found;
        return THEMIS_OK;
    }
    themis_collective_group_release(found);
    if (all[0] != THEMIS_OK) {
        free(made);
        return (themis_status_t)all[0];
    }
    themis_status_t status = make(comm, fake_nodes, staging_bytes, made);
    if (status == THEMIS_OK)
        *result = made;
    return status;
}
