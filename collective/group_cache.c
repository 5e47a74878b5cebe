/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks have to take the same group, and they may keep different ones, since they open files on several
 * communicators or from several threads; so they compare the ids of what they found.
 */
#include "collective/group_cache.h"
#include <pthread.h>
#include <stdlib.h>
#include "collective/node_info.h"

/*
 * Groups that are kept: each has four communicators, of which MPICH has 2,048, and shared memory. Open MPI's
 * MPI_Finalize frees windows that are left, each with a barrier and in the order of their creation, which differs
 * between ranks that opened files in several threads; and before the attributes of MPI_COMM_WORLD are deleted. So it
 * keeps none.
 */
#ifdef OMPI_MAJOR_VERSION
enum { MAX_KEPT = 0, MAX_ALIKE = 0 };
#else
enum { MAX_KEPT = 64, MAX_ALIKE = 8 };
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static themis_collective_group_t *kept;
static _Atomic int64_t last_id;

static int group_fits(const themis_collective_group_t *group, MPI_Comm comm, int fake_nodes, size_t staging_bytes)
{
    int result;
    return group->fake_nodes == fake_nodes && group->staging_bytes == staging_bytes &&
           MPI_Comm_compare(group->comm, comm, &result) == MPI_SUCCESS &&
           (result == MPI_CONGRUENT || result == MPI_IDENT);
}

/* Takes out the oldest that fits; NULL if there is none. */
static themis_collective_group_t *take_oldest(MPI_Comm comm, int fake_nodes, size_t staging_bytes)
{
    themis_collective_group_t **oldest = NULL, *found = NULL;
    pthread_mutex_lock(&lock);
    for (themis_collective_group_t **at = &kept; *at; at = &(*at)->next)
        if (group_fits(*at, comm, fake_nodes, staging_bytes) && (!oldest || (*at)->id < (*oldest)->id))
            oldest = at;
    if (oldest) {
        found = *oldest;
        *oldest = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void group_keep(themis_collective_group_t *group)
{
    pthread_mutex_lock(&lock);
    group->next = kept;
    kept = group;
    pthread_mutex_unlock(&lock);
}

/* This rank keeps enough groups, of these ranks or in all. */
static int has_enough(const themis_collective_group_t *group)
{
    int all = 0, alike = 0;
    pthread_mutex_lock(&lock);
    for (const themis_collective_group_t *other = kept; other; other = other->next) {
        all++;
        alike += group_fits(other, group->comm, group->fake_nodes, group->staging_bytes);
    }
    pthread_mutex_unlock(&lock);
    return all >= MAX_KEPT || alike >= MAX_ALIKE;
}

/* Ranks may keep different ones, so they agree. */
void themis_collective_group_cache_release(themis_collective_group_t *group)
{
    if (!group)
        return;
    int enough = has_enough(group), any = 0;
    MPI_Allreduce(&enough, &any, 1, MPI_INT, MPI_MAX, group->comm);
    if (!any) {
        group_keep(group);
        return;
    }
    themis_collective_node_info_free(group);
    themis_collective_group_destroy(group);
}

themis_status_t themis_collective_group_cache_acquire(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                                      themis_status_t own, themis_collective_group_t **result)
{
    themis_collective_group_t *found = take_oldest(comm, fake_nodes, staging_bytes);
    /* Allocated even so: ranks that found one may have to make one with ranks that did not. */
    themis_collective_group_t *made = calloc(1, sizeof *made);
    int64_t id = found ? found->id : 0;
    if (!made)
        own = THEMIS_NO_MEMORY;
    /* The worst status, and the lowest and the highest id. */
    int64_t mine[3] = {own, id, -id}, all[3] = {THEMIS_INTERNAL, 0, 0};
    MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_MIN, comm);
    themis_status_t status = (themis_status_t)all[0];
    if (status == THEMIS_OK && found && all[1] == -all[2]) {
        free(made);
        *result = found;
        return THEMIS_OK;
    }
    if (found)
        group_keep(found);
    if (status != THEMIS_OK) {
        free(made);
        return status;
    }
    status = themis_collective_group_create(comm, fake_nodes, staging_bytes, made);
    if (status != THEMIS_OK) {
        themis_collective_group_destroy(made);
        return status;
    }
    /* Numbered by its rank 0, which all groups of the same ranks have in common. */
    made->id = made->rank == 0 ? ++last_id : 0;
    MPI_Bcast(&made->id, 1, MPI_INT64_T, 0, made->comm);
    *result = made;
    return THEMIS_OK;
}
