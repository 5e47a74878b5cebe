/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "store/space.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "store/log.h"
#include "store/space_file.h"
#include "store/space_memory.h"
#include "store/space_state.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/min.h"
#include "util/status.h"

enum {
    ORDERS = THEMIS_STORE_SPACE_MAX_ORDER + 1,
    STEP = 4 << 20,
    RANGE = THEMIS_STORE_SPACE_MEMORY_HUGE, /* bytes that are populated together */
    RANGE_UNITS = RANGE / THEMIS_STORE_SPACE_UNIT,
    SEGMENTS = 64, /* about so many, unless they would be too small or too large */
    SEGMENT_MIN = RANGE,
    SEGMENT_MAX = 1 << 30,
    UNIT_ORDER = THEMIS_STORE_SPACE_UNIT_ORDER,
    UNIT_USED_BEFORE = THEMIS_STORE_SPACE_UNIT_USED_BEFORE,
    SEGMENT_EMPTY = THEMIS_STORE_SPACE_SEGMENT_EMPTY,
    SEGMENT_READY = THEMIS_STORE_SPACE_SEGMENT_READY,
    SEGMENT_OWNED = THEMIS_STORE_SPACE_SEGMENT_OWNED,
    SEGMENT_CHANGING = THEMIS_STORE_SPACE_SEGMENT_CHANGING
};
#define NOWHERE THEMIS_STORE_SPACE_NOWHERE
enum { PAUSES = 16 }; /* of the populator on a busy machine, in terms of the time that a range took */
#define MAX_PAUSE (100 * THEMIS_NS_PER_MS)

typedef themis_store_space_unit_t unit_t;
typedef themis_store_space_pool_t pool_t;
typedef themis_store_space_segment_t segment_t;
typedef enum range_state { RANGE_UNTOUCHED, RANGE_SMALL, RANGE_HUGE } range_state_t;

/* --- blocks of a pool -------------------------------------------------------------------------------------------- */

static segment_t *segment_of(const themis_store_space_t *space, uint32_t unit)
{
    return &space->segments[unit / space->segment_units];
}

static void list_insert(themis_store_space_t *space, pool_t *pool, uint32_t unit, unsigned order)
{
    uint32_t head = pool->heads[order];

    space->units[unit] = (unit_t){.next = head, .previous = NOWHERE};
    if (head != NOWHERE)
        space->units[head].previous = unit;
    pool->heads[order] = unit;
    space->states[unit] = (uint8_t)((space->states[unit] & UNIT_USED_BEFORE) | (order + 1));
}

static void list_remove(themis_store_space_t *space, pool_t *pool, uint32_t unit, unsigned order)
{
    unit_t *at = &space->units[unit];

    if (at->previous == NOWHERE)
        pool->heads[order] = at->next;
    else
        space->units[at->previous].next = at->next;
    if (at->next != NOWHERE)
        space->units[at->next].previous = at->previous;
    space->states[unit] &= UNIT_USED_BEFORE;
}

void themis_store_space_block_insert(themis_store_space_t *space, const segment_t *segment, uint32_t unit,
                                     unsigned order)
{
    uint32_t end = segment->first + segment->opened;

    while (order < space->max_order) {
        uint32_t buddy = unit ^ (UINT32_C(1) << order);
        if (buddy >= end || (space->states[buddy] & UNIT_ORDER) != order + 1)
            break;
        list_remove(space, segment->pool, buddy, order);
        unit &= ~(UINT32_C(1) << order);
        order++;
    }
    list_insert(space, segment->pool, unit, order);
}

void themis_store_space_blocks_insert(themis_store_space_t *space, const segment_t *segment, uint32_t from,
                                      uint32_t end)
{
    while (from < end) {
        unsigned order = from ? (unsigned)__builtin_ctz(from) : space->max_order;
        if (order > space->max_order)
            order = space->max_order;
        while ((UINT32_C(1) << order) > end - from)
            order--;
        themis_store_space_block_insert(space, segment, from, order);
        from += UINT32_C(1) << order;
    }
}

/* Takes the next step of the pool's growing segment into use; 0 if there is none. */
static int pool_grow(themis_store_space_t *space, const pool_t *pool)
{
    if (pool->growing == NOWHERE)
        return 0;
    segment_t *segment = &space->segments[pool->growing];
    uint32_t from = segment->first + segment->opened, left = segment->units - segment->opened;
    uint32_t end = from + (left < space->step ? left : space->step);

    if (left == 0)
        return 0;
    if (space->fd >= 0 && !themis_store_space_file_grow(space->fd, (uint64_t)from * THEMIS_STORE_SPACE_UNIT,
                                                        (uint64_t)(end - from) * THEMIS_STORE_SPACE_UNIT))
        return 0;
    if (space->log && !themis_store_space_durable_grow(space, segment, from, end - from))
        return 0;
    segment->opened = end - segment->first;
    themis_store_space_blocks_insert(space, segment, from, end);
    space->growing = pool->growing;
    if (space->has_populator)
        sem_post(&space->wanted);
    return 1;
}

static int pool_take(themis_store_space_t *space, pool_t *pool, unsigned order, uint32_t *unit)
{
    unsigned from = order;

    while (from < ORDERS && pool->heads[from] == NOWHERE)
        from++;
    if (from == ORDERS)
        return 0;
    *unit = pool->heads[from];
    list_remove(space, pool, *unit, from);
    while (from > order) {
        from--;
        list_insert(space, pool, *unit + (UINT32_C(1) << from), from);
    }
    segment_of(space, *unit)->used += UINT32_C(1) << order;
    space->used += UINT64_C(1) << order;
    return 1;
}

static pool_t *pool_find(themis_store_space_t *space, uint32_t owner)
{
    pool_t *pool;

    HASH_FIND(hh, space->pools, &owner, sizeof owner, pool);
    return pool;
}

pool_t *themis_store_space_pool_get(themis_store_space_t *space, uint32_t owner)
{
    pool_t *pool = pool_find(space, owner);

    if (pool || !(pool = calloc(1, sizeof *pool)))
        return pool;
    pool->owner = owner;
    pool->growing = NOWHERE;
    for (unsigned i = 0; i < ORDERS; i++)
        pool->heads[i] = NOWHERE;
    HASH_ADD(hh, space->pools, owner, sizeof owner, pool);
    if (pool->hh.tbl)
        return pool;
    free(pool); /* no memory for the table */
    return NULL;
}

/* A block of the owner's, of *order or of the highest lower one that it has, but not below `lowest`. */
static int owner_take(themis_store_space_t *space, uint32_t owner, unsigned lowest, unsigned *order, uint32_t *unit)
{
    int found = 0;

    pthread_mutex_lock(&space->lock);
    pool_t *pool = pool_find(space, owner);
    if (pool)
        for (unsigned i = *order + 1; !found && i-- > lowest;) {
            while (!(found = pool_take(space, pool, i, unit)) && pool_grow(space, pool))
                ;
            if (found)
                *order = i;
        }
    pthread_mutex_unlock(&space->lock);
    return found;
}

/* --- owners of segments ------------------------------------------------------------------------------------------ */

static uint8_t *segment_base(const themis_store_space_t *space, const segment_t *segment)
{
    return themis_store_space_address(space, segment->first);
}

/* The segment that `owner` should get next; NULL if that would leave no more than `reserve` for others. An owner's own
 * ones need not be looked at: they would have served it. */
static segment_t *segment_choose(themis_store_space_t *space, uint32_t owner, uint32_t reserve)
{
    uint32_t available = 0;
    segment_t *best = NULL;
    int best_state = SEGMENT_CHANGING;
    static const int rank[] = {[SEGMENT_READY] = 0, [SEGMENT_EMPTY] = 1, [SEGMENT_OWNED] = 2, [SEGMENT_CHANGING] = 3};

    for (uint32_t i = 0; i < space->segment_count; i++) {
        segment_t *segment = &space->segments[i];
        int state = segment->state;
        if (state == SEGMENT_CHANGING || (state == SEGMENT_OWNED && (segment->used || segment->pool->owner == owner)))
            continue;
        available++;
        if (rank[state] < rank[best_state]) {
            best = segment;
            best_state = state;
        }
    }
    if (owner != THEMIS_STORE_COMMON && reserve < space->reserve && !pool_find(space, owner))
        reserve = space->reserve;
    return available > reserve ? best : NULL;
}

/* Takes a segment without blocks in use out of its pool. */
static void segment_detach(themis_store_space_t *space, segment_t *segment)
{
    pool_t *pool = segment->pool;
    uint32_t end = segment->first + segment->opened;

    for (uint32_t unit = segment->first, order; unit < end; unit += UINT32_C(1) << order) {
        order = (space->states[unit] & UNIT_ORDER) - 1u;
        list_remove(space, pool, unit, order);
    }
    if (pool->growing == (uint32_t)(segment - space->segments))
        pool->growing = NOWHERE;
    if (--pool->segments == 0) {
        HASH_DELETE(hh, space->pools, pool);
        free(pool);
    }
    segment->pool = NULL;
}

void themis_store_space_segment_attach(themis_store_space_t *space, segment_t *segment, pool_t *pool)
{
    segment->pool = pool;
    pool->segments++;
    pool->growing = (uint32_t)(segment - space->segments);
    segment->state = SEGMENT_OWNED;
}

static void segment_reset(themis_store_space_t *space, segment_t *segment)
{
    segment->opened = 0;
    memset(space->states + segment->first, 0, segment->units);
    for (uint32_t i = 0; i < (segment->units + RANGE_UNITS - 1) / RANGE_UNITS; i++)
        space->ranges[segment->first / RANGE_UNITS + i] = RANGE_UNTOUCHED;
}

/* Replaces the memory of a segment, which is in no pool, by new memory; that of a user can be passed on. */
static themis_status_t segment_renew(themis_store_space_t *space, segment_t *segment, uint32_t owner)
{
    int shared = owner != THEMIS_STORE_COMMON;
    uint8_t *at = segment_base(space, segment);
    uint64_t bytes = themis_store_space_segment_bytes(segment);
    int old = segment->fd;

    if (space->log) {
        segment_reset(space, segment);
        return themis_store_space_durable_renew(space, segment, owner);
    }
    segment->fd = -1;
    themis_status_t status = shared ? themis_store_space_memory_map_shared(at, bytes, &segment->fd)
                                    : themis_store_space_memory_map_private(at, bytes);
    if (old >= 0)
        themis_store_space_memory_withdraw(old, bytes);
    segment->serial = ++space->serials;
    segment_reset(space, segment);
    return status;
}

/* Gives memory to segments without, so that the populator can go ahead by what was asked. */
static void make_ready(themis_store_space_t *space)
{
    uint64_t ready = 0, wanted = space->direct ? (uint64_t)space->ahead * RANGE_UNITS : 0;

    for (uint32_t i = 0; i < space->segment_count && ready < wanted; i++) {
        segment_t *segment = &space->segments[i];
        if (segment->state == SEGMENT_EMPTY) {
            if (segment_renew(space, segment, 0) != THEMIS_OK) /* of any user */
                return;
            segment->state = SEGMENT_READY;
        }
        ready += segment->state == SEGMENT_READY ? segment->units : 0;
    }
}

/* 1: the owner has a segment with room, to which its file system gives none. */
static int is_cramped(themis_store_space_t *space, uint32_t owner)
{
    const pool_t *pool = pool_find(space, owner);

    return pool && pool->growing != NOWHERE &&
           space->segments[pool->growing].opened < space->segments[pool->growing].units;
}

/* A segment for `owner`, of new memory; 0 if that would leave no more than `reserve` for others. With `change`. */
static int segment_acquire(themis_store_space_t *space, uint32_t owner, uint32_t reserve)
{
    int is_new;

    pthread_mutex_lock(&space->lock);
    segment_t *segment = is_cramped(space, owner) ? NULL : segment_choose(space, owner, reserve);
    if (segment) {
        is_new = segment->state == SEGMENT_READY;
        if (segment->state == SEGMENT_OWNED)
            segment_detach(space, segment);
        segment->state = SEGMENT_CHANGING;
    }
    pthread_mutex_unlock(&space->lock);
    if (!segment)
        return 0;
    themis_status_t status = is_new ? THEMIS_OK : segment_renew(space, segment, owner);
    if (status != THEMIS_OK && !space->warned) {
        space->warned = 1;
        themis_warn("no memory for another part of the arena: %s", themis_status_string(status));
    }
    pthread_mutex_lock(&space->lock);
    pool_t *pool = status == THEMIS_OK ? themis_store_space_pool_get(space, owner) : NULL;
    if (pool)
        themis_store_space_segment_attach(space, segment, pool);
    else
        segment->state = SEGMENT_EMPTY;
    pthread_mutex_unlock(&space->lock);
    make_ready(space);
    return pool != NULL;
}

/* As owner_take; where the owner has none, it gets further segments while more than `reserve` are left. */
static int owner_take_or_acquire(themis_store_space_t *space, uint32_t owner, uint32_t reserve, unsigned lowest,
                                 unsigned *order, uint32_t *unit)
{
    do {
        if (owner_take(space, owner, lowest, order, unit))
            return 1;
    } while (segment_acquire(space, owner, reserve));
    return 0;
}

/* --- populated memory -------------------------------------------------------------------------------------------- */

static void range_populate(themis_store_space_t *space, uint32_t range)
{
    uint64_t at = (uint64_t)range * RANGE;
    uint8_t small = RANGE_SMALL;

    if (themis_store_space_memory_populate(space->base + at, themis_util_min(RANGE, space->size - at)))
        atomic_compare_exchange_strong(&space->ranges[range], &small, RANGE_HUGE);
}

/* Blocks of a file are left to the first access, which may find the device full. */
void themis_store_space_populate(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    uint32_t last = (unit + (UINT32_C(1) << order) - 1) / RANGE_UNITS;

    for (uint32_t range = unit / RANGE_UNITS; range <= last; range++) {
        uint8_t untouched = RANGE_UNTOUCHED;
        if (atomic_compare_exchange_strong(&space->ranges[range], &untouched, RANGE_SMALL) && space->populates)
            range_populate(space, range);
    }
}

/* The first range of a segment beyond what is in use that is not populated. *ahead: counts those that are. */
static int segment_untouched(themis_store_space_t *space, const segment_t *segment, uint32_t *ahead, uint32_t *range)
{
    uint32_t first = (segment->first + segment->opened + RANGE_UNITS - 1) / RANGE_UNITS;
    uint32_t end = (segment->first + segment->units + RANGE_UNITS - 1) / RANGE_UNITS;

    for (; first < end && *ahead < space->ahead; first++, (*ahead)++)
        if (space->ranges[first] == RANGE_UNTOUCHED) {
            *range = first;
            return 1;
        }
    return 0;
}

/* What the populator does next: the segment that is in use first, then those for any owner. */
static int next_untouched(themis_store_space_t *space, uint32_t *range)
{
    uint32_t ahead = 0, growing = space->growing;

    if (growing != NOWHERE && segment_untouched(space, &space->segments[growing], &ahead, range))
        return 1;
    for (uint32_t i = 0; i < space->segment_count && ahead < space->ahead; i++)
        if (space->segments[i].state == SEGMENT_READY && segment_untouched(space, &space->segments[i], &ahead, range))
            return 1;
    return 0;
}

/*
 * While it makes pages the kernel holds a lock of the address space, for which each thread of the server that needs a
 * page, or maps memory, waits. So this is done with the priority of those threads: one of a low priority keeps the lock
 * for seconds where others want the processor, and the server hangs. Where they do, which shows in less processor time
 * than time, it pauses instead.
 */
static void range_populate_ahead(themis_store_space_t *space, uint32_t range)
{
    uint64_t start = themis_util_clock_now(), processor = themis_util_clock_thread();

    range_populate(space, range);
    uint64_t took = themis_util_clock_now() - start, used = themis_util_clock_thread() - processor;
    uint64_t pause = took > 2 * used ? themis_util_min(PAUSES * took, MAX_PAUSE) : 0;
    struct timespec time = {.tv_nsec = (long)pause};
    if (pause)
        nanosleep(&time, NULL);
}

static void *populator_main(void *arg)
{
    themis_store_space_t *space = arg;
    uint32_t range;

    while (!space->stop) {
        uint8_t untouched = RANGE_UNTOUCHED;
        if (!next_untouched(space, &range))
            sem_wait(&space->wanted);
        else if (atomic_compare_exchange_strong(&space->ranges[range], &untouched, RANGE_SMALL))
            range_populate_ahead(space, range);
    }
    return NULL;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* What owner_take did not find, from further segments or those of all. */
static int owner_find(themis_store_space_t *space, uint32_t owner, unsigned *order, uint32_t *unit)
{
    pthread_mutex_lock(&space->change);
    int found = owner_take_or_acquire(space, owner, space->reserve, *order, order, unit) ||
                owner_take_or_acquire(space, owner, 0, 0, order, unit) ||
                owner_take_or_acquire(space, THEMIS_STORE_COMMON, 0, 0, order, unit);
    pthread_mutex_unlock(&space->change);
    return found;
}

themis_status_t themis_store_space_allocate(themis_store_space_t *space, uint32_t owner, unsigned order, unsigned *got,
                                            uint32_t *unit)
{
    if (!space->direct || (space->log && owner != space->user))
        owner = THEMIS_STORE_COMMON;
    if (order > space->max_order)
        order = space->max_order;
    if (!owner_take(space, owner, order, &order, unit) && !owner_find(space, owner, &order, unit) &&
        !(themis_store_space_durable_reclaim(space) && owner_find(space, owner, &order, unit)))
        return THEMIS_NO_SPACE;
    *got = order;
    return THEMIS_OK;
}

int themis_store_space_has_room(themis_store_space_t *space, uint64_t units)
{
    return units <= space->count &&
           (units <= space->count - space->used ||
            (themis_store_space_durable_reclaim(space) && units <= space->count - space->used));
}

void themis_store_space_block_release(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    segment_t *segment = segment_of(space, unit);

    segment->used -= UINT32_C(1) << order;
    space->used -= UINT64_C(1) << order;
    memset(space->states + unit, UNIT_USED_BEFORE, (size_t)1 << order);
    themis_store_space_block_insert(space, segment, unit, order);
}

void themis_store_space_free(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    pthread_mutex_lock(&space->lock);
    if (!space->log || !themis_store_space_durable_free(space, unit, order))
        themis_store_space_block_release(space, unit, order);
    pthread_mutex_unlock(&space->lock);
}

int themis_store_space_is_fresh(const themis_store_space_t *space, uint32_t unit)
{
    return space->fd < 0 && !(space->states[unit] & UNIT_USED_BEFORE);
}

int themis_store_space_locate(const themis_store_space_t *space, uint32_t unit, themis_store_location_t *location)
{
    const segment_t *segment = segment_of(space, unit);

    if (segment->fd < 0 || !themis_store_space_passes_on(space, segment->pool->owner))
        return 0;
    *location = (themis_store_location_t){.segment = segment->serial,
                                          .at = (uint64_t)(unit - segment->first) * THEMIS_STORE_SPACE_UNIT};
    return 1;
}

uint8_t *themis_store_space_address(const themis_store_space_t *space, uint32_t unit)
{
    return space->base + (uint64_t)unit * THEMIS_STORE_SPACE_UNIT;
}

uint32_t themis_store_space_unit(const themis_store_space_t *space, const void *address)
{
    return (uint32_t)((uint64_t)((const uint8_t *)address - space->base) / THEMIS_STORE_SPACE_UNIT);
}

int themis_store_space_direct(const themis_store_space_t *space)
{
    return space->direct;
}

int themis_store_space_passes_on(const themis_store_space_t *space, uint32_t uid)
{
    return space->direct && uid != THEMIS_STORE_COMMON && (!space->log || uid == space->user);
}

int themis_store_space_has_plenty(const themis_store_space_t *space)
{
    return space->used < space->count / 2;
}

themis_status_t themis_store_space_segment(themis_store_space_t *space, uint64_t serial, uint32_t owner, int *fd,
                                           uint64_t *bytes)
{
    themis_status_t status = THEMIS_ACCESS;

    pthread_mutex_lock(&space->lock);
    for (uint32_t i = 0; i < space->segment_count; i++) {
        segment_t *segment = &space->segments[i];
        if (segment->state != SEGMENT_OWNED || segment->serial != serial || segment->fd < 0)
            continue;
        if (segment->pool->owner != owner || !themis_store_space_passes_on(space, owner))
            break;
        if (space->log && (status = themis_store_space_durable_export(space, segment)) != THEMIS_OK)
            break;
        int copy = fcntl(segment->fd, F_DUPFD_CLOEXEC, 0);
        status = copy < 0 ? themis_util_status_from_errno(errno) : THEMIS_OK;
        *fd = copy;
        *bytes = themis_store_space_segment_bytes(segment);
        break;
    }
    pthread_mutex_unlock(&space->lock);
    return status;
}

void themis_store_space_usage(themis_store_space_t *space, themis_store_usage_t *usage)
{
    uint64_t populated = 0;

    usage->huge = 0;
    usage->segments = 0;
    for (uint64_t i = 0; i * RANGE_UNITS < space->count; i++)
        if (space->ranges[i] != RANGE_UNTOUCHED) {
            populated += themis_util_min(RANGE_UNITS, space->count - i * RANGE_UNITS);
            usage->huge += space->ranges[i] == RANGE_HUGE ? RANGE : 0;
        }
    for (uint32_t i = 0; i < space->segment_count; i++)
        usage->segments += space->segments[i].state == SEGMENT_OWNED;
    uint64_t used = space->used;
    usage->capacity = (uint64_t)space->count * THEMIS_STORE_SPACE_UNIT;
    usage->used = used * THEMIS_STORE_SPACE_UNIT;
    usage->warm = populated > used ? (populated - used) * THEMIS_STORE_SPACE_UNIT : 0;
}

/* --- create and destroy ------------------------------------------------------------------------------------------ */

static void *map_table(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static uint64_t range_count(const themis_store_space_t *space)
{
    return space->size / RANGE + 1;
}

static themis_status_t make_tables(themis_store_space_t *space)
{
    space->units = map_table(space->count * sizeof *space->units);
    space->states = map_table(space->count);
    space->ranges = map_table(range_count(space));
    space->segments = calloc(space->segment_count, sizeof *space->segments);
    if (!space->units || !space->states || !space->ranges || !space->segments)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < space->segment_count; i++) {
        segment_t *segment = &space->segments[i];
        segment->fd = -1;
        segment->first = i * space->segment_units;
        segment->units = (uint32_t)themis_util_min(space->segment_units, space->count - segment->first);
    }
    return THEMIS_OK;
}

uint32_t themis_store_space_segment_units(uint64_t size)
{
    uint64_t bytes = SEGMENT_MIN;

    while (bytes < SEGMENT_MAX && bytes * 2 * SEGMENTS <= size)
        bytes *= 2;
    return (uint32_t)(bytes / THEMIS_STORE_SPACE_UNIT);
}

/* Without owners there is one segment, of all. */
static void divide(themis_store_space_t *space)
{
    space->segment_units = space->count;
    space->max_order = THEMIS_STORE_SPACE_MAX_ORDER;
    space->segment_count = 1;
    if (!space->divided)
        return;
    space->segment_units =
        space->log ? themis_store_log_segment_units(space->log) : themis_store_space_segment_units(space->size);
    space->segment_count = (uint32_t)(((uint64_t)space->count + space->segment_units - 1) / space->segment_units);
    space->reserve = space->segment_count < 16 ? 1 : space->segment_count / 8;
    space->max_order =
        (unsigned)themis_util_min(THEMIS_STORE_SPACE_MAX_ORDER, (uint64_t)__builtin_ctz(space->segment_units));
}

static themis_status_t make_only_segment(themis_store_space_t *space)
{
    themis_status_t status = space->fd < 0 ? segment_renew(space, space->segments, THEMIS_STORE_COMMON) : THEMIS_OK;
    pool_t *pool = themis_store_space_pool_get(space, THEMIS_STORE_COMMON);

    if (status == THEMIS_OK && !pool)
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        themis_store_space_segment_attach(space, space->segments, pool);
    return status;
}

static themis_status_t make_memory(themis_store_space_t *space, const char *path)
{
    themis_status_t status = path && *path ? themis_store_space_file_map(path, space->size, &space->fd, &space->base)
                                           : themis_store_space_memory_reserve(space->size, &space->base);

    if (status == THEMIS_OK)
        status = make_tables(space);
    if (status != THEMIS_OK)
        return status;
    if (!space->divided)
        return make_only_segment(space);
    make_ready(space);
    return THEMIS_OK;
}

themis_status_t themis_store_space_create(const themis_store_options_t *options, themis_store_log_t *log, int directory,
                                          themis_store_space_t **space)
{
    uint64_t size = options->size, count = size / THEMIS_STORE_SPACE_UNIT;
    int is_file = options->path && *options->path; /* then the last unit has the file's end */
    themis_store_space_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    if (count <= (uint64_t)is_file || size > THEMIS_STORE_SPACE_MAX_BYTES) {
        free(made);
        themis_error("an arena of %llu bytes is not possible: the size is 4 KiB to 16 TiB", (unsigned long long)size);
        return THEMIS_CONFIG;
    }
    made->fd = -1;
    made->log = log;
    made->directory = directory;
    made->user = (uint32_t)geteuid();
    made->direct = options->direct && !is_file;
    made->divided = made->direct || log;
    made->populates = log ? !themis_store_log_is_on_device(log) : !is_file;
    made->count = (uint32_t)(count - (uint64_t)is_file);
    made->size = count * THEMIS_STORE_SPACE_UNIT;
    made->step = (options->reserve_step ? options->reserve_step : STEP) / THEMIS_STORE_SPACE_UNIT;
    if (!log) /* what has no room in its file is not touched */
        made->ahead = (uint32_t)((themis_util_min(options->warm, size) + RANGE - 1) / RANGE);
    made->growing = NOWHERE;
    divide(made);
    pthread_mutex_init(&made->change, NULL);
    pthread_mutex_init(&made->lock, NULL);
    sem_init(&made->wanted, 0, 0);
    themis_status_t status = make_memory(made, options->path);
    if (status != THEMIS_OK) {
        themis_store_space_destroy(made);
        return status;
    }
    if (!made->divided)
        made->growing = 0;
    made->has_populator = made->ahead && pthread_create(&made->populator, NULL, populator_main, made) == 0;
    *space = made;
    return THEMIS_OK;
}

void themis_store_space_destroy(themis_store_space_t *space)
{
    pool_t *pool, *next;

    if (!space)
        return;
    if (space->has_populator) {
        space->stop = 1;
        sem_post(&space->wanted);
        pthread_join(space->populator, NULL);
    }
    if (space->base)
        munmap(space->base, space->size);
    if (space->fd >= 0)
        close(space->fd);
    for (uint32_t i = 0; space->segments && i < space->segment_count; i++)
        if (space->segments[i].fd >= 0)
            close(space->segments[i].fd);
    HASH_ITER(hh, space->pools, pool, next)
    {
        HASH_DELETE(hh, space->pools, pool);
        free(pool);
    }
    free(space->segments);
    free(space->freed);
    if (space->units)
        munmap(space->units, space->count * sizeof *space->units);
    if (space->states)
        munmap(space->states, space->count);
    if (space->ranges)
        munmap((void *)space->ranges, range_count(space));
    sem_destroy(&space->wanted);
    pthread_mutex_destroy(&space->lock);
    pthread_mutex_destroy(&space->change);
    free(space);
}
