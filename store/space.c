/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "store/space.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "store/space_file.h"
#include "store/space_memory.h"
#include "util/log.h"
#include "util/min.h"
#include "util/status.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum {
    ORDERS = THEMIS_STORE_SPACE_MAX_ORDER + 1,
    STEP = 4 << 20,
    RANGE = THEMIS_STORE_SPACE_MEMORY_HUGE, /* bytes that are populated together */
    RANGE_UNITS = RANGE / THEMIS_STORE_SPACE_UNIT,
    SEGMENTS = 64, /* about so many, unless they would be too small or too large */
    SEGMENT_MIN = RANGE,
    SEGMENT_MAX = 1 << 30,
    LOW_PRIORITY = 19
};
#define NOWHERE UINT32_MAX

/* Links of a free list; used only for the first unit of a free block. */
typedef struct unit {
    uint32_t next, previous;
} unit_t;

/* Bits of a unit's state: the lower ones have 1 + the order of the free block that begins there, 0: none does. */
enum { UNIT_ORDER = 0x7f, UNIT_USED_BEFORE = 0x80 };

typedef enum range_state { RANGE_UNTOUCHED, RANGE_SMALL, RANGE_HUGE } range_state_t;

/* What an owner has: the free blocks of its segments. */
typedef struct pool {
    uint32_t owner;
    uint32_t heads[ORDERS]; /* of the free lists */
    uint32_t segments;      /* how many */
    uint32_t growing;       /* the segment that is partly in use, or NOWHERE */
    UT_hash_handle hh;
} pool_t;

typedef enum segment_state {
    SEGMENT_EMPTY,   /* addresses only */
    SEGMENT_READY,   /* with new memory that can be passed on, for any owner */
    SEGMENT_OWNED,   /* in a pool */
    SEGMENT_CHANGING /* neither: its memory is being replaced */
} segment_state_t;

typedef struct segment {
    _Atomic int state;       /* segment_state_t */
    pool_t *pool;            /* if owned */
    int fd;                  /* of memory that can be passed on, or -1 */
    uint64_t serial;         /* of that memory */
    uint32_t first, units;   /* place and size */
    _Atomic uint32_t opened; /* units from the first on that are in use or in the free lists */
    uint32_t used;           /* units */
} segment_t;

struct themis_store_space {
    uint8_t *base;
    int fd;        /* of the file, locked; -1: memory */
    uint64_t size; /* bytes, a multiple of the unit */
    uint32_t count, step;
    int direct;
    unsigned max_order;
    uint32_t segment_count, segment_units, reserve; /* segments that owners leave for others while they can */
    pthread_mutex_t change; /* taken before the lock, by who gives a segment to another owner; also of what follows */
    uint64_t serials;
    int warned; /* that a segment got no memory */
    pthread_mutex_t lock;
    segment_t *segments;
    pool_t *pools; /* uthash, by owner */
    unit_t *units;
    uint8_t *states;       /* of units */
    _Atomic uint64_t used; /* units */
    /* The thread that populates pages holds no lock: at its priority it may not run for long, and others would have to
     * wait for it. */
    pthread_t populator;
    int has_populator;
    _Atomic int stop;
    sem_t wanted;
    _Atomic uint8_t *ranges;  /* range_state_t */
    uint32_t ahead;           /* ranges to keep populated ahead of use */
    _Atomic uint32_t growing; /* the segment that grew last */
};

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

/* Inserts a block into its pool's free lists, merged with its free buddies. */
static void insert_merged(themis_store_space_t *space, const segment_t *segment, uint32_t unit, unsigned order)
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
    segment->opened = end - segment->first;
    while (from < end) {
        unsigned order = from ? (unsigned)__builtin_ctz(from) : space->max_order;
        if (order > space->max_order)
            order = space->max_order;
        while ((UINT32_C(1) << order) > end - from)
            order--;
        insert_merged(space, segment, from, order);
        from += UINT32_C(1) << order;
    }
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

static pool_t *pool_get(themis_store_space_t *space, uint32_t owner)
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

static uint64_t segment_bytes(const segment_t *segment)
{
    return (uint64_t)segment->units * THEMIS_STORE_SPACE_UNIT;
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

static void segment_attach(themis_store_space_t *space, segment_t *segment, pool_t *pool)
{
    segment->pool = pool;
    pool->segments++;
    pool->growing = (uint32_t)(segment - space->segments);
    segment->state = SEGMENT_OWNED;
}

/* Replaces the memory of a segment, which is in no pool, by new memory; that of `shared` can be passed on. */
static themis_status_t segment_renew(themis_store_space_t *space, segment_t *segment, int shared)
{
    uint8_t *at = segment_base(space, segment);
    uint64_t bytes = segment_bytes(segment);
    int old = segment->fd;

    segment->fd = -1;
    themis_status_t status = shared ? themis_store_space_memory_map_shared(at, bytes, &segment->fd)
                                    : themis_store_space_memory_map_private(at, bytes);
    if (old >= 0)
        themis_store_space_memory_withdraw(old, bytes);
    segment->serial = ++space->serials;
    segment->opened = 0;
    memset(space->states + segment->first, 0, segment->units);
    for (uint32_t i = 0; i < (segment->units + RANGE_UNITS - 1) / RANGE_UNITS; i++)
        space->ranges[segment->first / RANGE_UNITS + i] = RANGE_UNTOUCHED;
    return status;
}

/* Gives memory to segments without, so that the populator can go ahead by what was asked. */
static void make_ready(themis_store_space_t *space)
{
    uint64_t ready = 0, wanted = space->direct ? (uint64_t)space->ahead * RANGE_UNITS : 0;

    for (uint32_t i = 0; i < space->segment_count && ready < wanted; i++) {
        segment_t *segment = &space->segments[i];
        if (segment->state == SEGMENT_EMPTY) {
            if (segment_renew(space, segment, 1) != THEMIS_OK)
                return;
            segment->state = SEGMENT_READY;
        }
        ready += segment->state == SEGMENT_READY ? segment->units : 0;
    }
}

/* A segment for `owner`, of new memory; 0 if that would leave no more than `reserve` for others. With `change`. */
static int segment_acquire(themis_store_space_t *space, uint32_t owner, uint32_t reserve)
{
    int shared = owner != THEMIS_STORE_COMMON, is_new;

    pthread_mutex_lock(&space->lock);
    segment_t *segment = segment_choose(space, owner, reserve);
    if (segment) {
        is_new = segment->state == SEGMENT_READY;
        if (segment->state == SEGMENT_OWNED)
            segment_detach(space, segment);
        segment->state = SEGMENT_CHANGING;
    }
    pthread_mutex_unlock(&space->lock);
    if (!segment)
        return 0;
    themis_status_t status = is_new ? THEMIS_OK : segment_renew(space, segment, shared);
    if (status != THEMIS_OK && !space->warned) {
        space->warned = 1;
        themis_warn("no memory for another part of the arena: %s", themis_status_string(status));
    }
    pthread_mutex_lock(&space->lock);
    pool_t *pool = status == THEMIS_OK ? pool_get(space, owner) : NULL;
    if (pool)
        segment_attach(space, segment, pool);
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
        if (atomic_compare_exchange_strong(&space->ranges[range], &untouched, RANGE_SMALL) && space->fd < 0)
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

static void *populator_main(void *arg)
{
    themis_store_space_t *space = arg;
    uint32_t range;

    /* Not SCHED_IDLE: the kernel holds its lock of the address space while it clears a page. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), LOW_PRIORITY);
    while (!space->stop) {
        uint8_t untouched = RANGE_UNTOUCHED;
        if (!next_untouched(space, &range))
            sem_wait(&space->wanted);
        else if (atomic_compare_exchange_strong(&space->ranges[range], &untouched, RANGE_SMALL))
            range_populate(space, range);
    }
    return NULL;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

themis_status_t themis_store_space_allocate(themis_store_space_t *space, uint32_t owner, unsigned order, unsigned *got,
                                            uint32_t *unit)
{
    if (!space->direct)
        owner = THEMIS_STORE_COMMON;
    if (order > space->max_order)
        order = space->max_order;
    if (!owner_take(space, owner, order, &order, unit)) {
        pthread_mutex_lock(&space->change);
        int found = owner_take_or_acquire(space, owner, space->reserve, order, &order, unit) ||
                    owner_take_or_acquire(space, owner, 0, 0, &order, unit) ||
                    owner_take_or_acquire(space, THEMIS_STORE_COMMON, 0, 0, &order, unit);
        pthread_mutex_unlock(&space->change);
        if (!found)
            return THEMIS_NO_SPACE;
    }
    *got = order;
    return THEMIS_OK;
}

void themis_store_space_free(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    segment_t *segment = segment_of(space, unit);

    pthread_mutex_lock(&space->lock);
    segment->used -= UINT32_C(1) << order;
    space->used -= UINT64_C(1) << order;
    memset(space->states + unit, UNIT_USED_BEFORE, (size_t)1 << order);
    insert_merged(space, segment, unit, order);
    pthread_mutex_unlock(&space->lock);
}

int themis_store_space_is_fresh(const themis_store_space_t *space, uint32_t unit)
{
    return space->fd < 0 && !(space->states[unit] & UNIT_USED_BEFORE);
}

int themis_store_space_locate(const themis_store_space_t *space, uint32_t unit, themis_store_location_t *location)
{
    const segment_t *segment = segment_of(space, unit);

    if (segment->fd < 0 || segment->pool->owner == THEMIS_STORE_COMMON)
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
        const segment_t *segment = &space->segments[i];
        if (segment->state != SEGMENT_OWNED || segment->serial != serial || segment->fd < 0)
            continue;
        if (segment->pool->owner != owner || owner == THEMIS_STORE_COMMON)
            break;
        int copy = fcntl(segment->fd, F_DUPFD_CLOEXEC, 0);
        status = copy < 0 ? themis_util_status_from_errno(errno) : THEMIS_OK;
        *fd = copy;
        *bytes = segment_bytes(segment);
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

/* Without direct access there is one segment, of all. */
static void divide(themis_store_space_t *space)
{
    uint64_t bytes = SEGMENT_MIN;

    space->segment_units = space->count;
    space->max_order = THEMIS_STORE_SPACE_MAX_ORDER;
    space->segment_count = 1;
    if (!space->direct)
        return;
    while (bytes < SEGMENT_MAX && bytes * 2 * SEGMENTS <= space->size)
        bytes *= 2;
    space->segment_units = (uint32_t)(bytes / THEMIS_STORE_SPACE_UNIT);
    space->segment_count = (uint32_t)(((uint64_t)space->count + space->segment_units - 1) / space->segment_units);
    space->reserve = space->segment_count < 16 ? 1 : space->segment_count / 8;
    space->max_order =
        (unsigned)themis_util_min(THEMIS_STORE_SPACE_MAX_ORDER, (uint64_t)__builtin_ctz(space->segment_units));
}

static themis_status_t make_only_segment(themis_store_space_t *space)
{
    themis_status_t status = space->fd < 0 ? segment_renew(space, space->segments, 0) : THEMIS_OK;
    pool_t *pool = pool_get(space, THEMIS_STORE_COMMON);

    if (status == THEMIS_OK && !pool)
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        segment_attach(space, space->segments, pool);
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
    if (!space->direct)
        return make_only_segment(space);
    make_ready(space);
    return THEMIS_OK;
}

themis_status_t themis_store_space_create(const themis_store_options_t *options, themis_store_space_t **space)
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
    made->direct = options->direct && !is_file;
    made->count = (uint32_t)(count - (uint64_t)is_file);
    made->size = count * THEMIS_STORE_SPACE_UNIT;
    made->step = (options->reserve_step ? options->reserve_step : STEP) / THEMIS_STORE_SPACE_UNIT;
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
    if (!made->direct)
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
