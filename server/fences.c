/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/fences.h"
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "util/clock.h"

static const uint64_t max_ahead = 300 * THEMIS_NS_PER_S;

typedef struct fence {
    uint64_t object;
    uint64_t epoch; /* above 1 */
    UT_hash_handle hh;
} fence_t;

struct themis_server_fences {
    fence_t *fences; /* the one that was raised last is the last */
    uint64_t floor;
};

themis_status_t themis_server_fences_create(uint64_t floor, themis_server_fences_t **fences)
{
    themis_server_fences_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->floor = floor ? floor : 1;
    *fences = made;
    return THEMIS_OK;
}

static void fence_remove(themis_server_fences_t *fences, fence_t *fence)
{
    HASH_DELETE(hh, fences->fences, fence);
    free(fence);
}

void themis_server_fences_destroy(themis_server_fences_t *fences)
{
    if (!fences)
        return;
    while (fences->fences)
        fence_remove(fences, fences->fences);
    free(fences);
}

static fence_t *fence_find(const themis_server_fences_t *fences, uint64_t object)
{
    fence_t *fence;

    HASH_FIND(hh, fences->fences, &object, sizeof object, fence);
    return fence;
}

uint64_t themis_server_fences_epoch(const themis_server_fences_t *fences, uint64_t object)
{
    const fence_t *fence = fence_find(fences, object);

    return fence && fence->epoch > fences->floor ? fence->epoch : fences->floor;
}

static void floor_raise(themis_server_fences_t *fences, uint64_t epoch)
{
    fences->floor = epoch > fences->floor ? epoch : fences->floor;
}

/* The oldest makes room. */
static void fence_forget_oldest(themis_server_fences_t *fences, uint64_t now)
{
    uint64_t epoch = fences->fences->epoch;

    floor_raise(fences, epoch < now ? epoch : now);
    fence_remove(fences, fences->fences);
}

/* Remembers a higher epoch. */
static themis_status_t fence_set(themis_server_fences_t *fences, uint64_t object, uint64_t epoch, uint64_t now)
{
    fence_t *fence = fence_find(fences, object);

    if (fence)
        HASH_DELETE(hh, fences->fences, fence);
    else
        fence = calloc(1, sizeof *fence);
    if (!fence)
        return THEMIS_NO_MEMORY;
    if (HASH_COUNT(fences->fences) >= THEMIS_SERVER_FENCES_MAX)
        fence_forget_oldest(fences, now);
    fence->object = object;
    fence->epoch = epoch;
    HASH_ADD(hh, fences->fences, object, sizeof fence->object, fence);
    if (fence->hh.tbl)
        return THEMIS_OK;
    free(fence);
    return THEMIS_NO_MEMORY;
}

void themis_server_fences_raise(themis_server_fences_t *fences, uint64_t object, uint64_t now)
{
    uint64_t epoch = themis_server_fences_epoch(fences, object) + 1;

    epoch = epoch > now ? epoch : now;
    if (fence_set(fences, object, epoch, now) != THEMIS_OK)
        floor_raise(fences, epoch); /* the next holder's accesses raise the fence */
}

themis_status_t themis_server_fences_pass(themis_server_fences_t *fences, uint64_t object, uint64_t epoch, uint64_t now)
{
    if (epoch == 0)
        return THEMIS_OK;
    const fence_t *fence = fence_find(fences, object);
    uint64_t known = fence ? fence->epoch : 1;
    if (epoch == known)
        return THEMIS_OK;
    if (epoch < known)
        return THEMIS_LOCKED;
    /* clocks that differ by so much, or an invention: it passes, but others' do, too */
    return epoch > now && epoch - now > max_ahead ? THEMIS_OK : fence_set(fences, object, epoch, now);
}

void themis_server_fences_forget(themis_server_fences_t *fences, uint64_t object)
{
    fence_t *fence = fence_find(fences, object);

    if (fence)
        fence_remove(fences, fence);
}

uint32_t themis_server_fences_count(const themis_server_fences_t *fences)
{
    return HASH_COUNT(fences->fences);
}
