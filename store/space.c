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
#include <sys/stat.h>
#include <unistd.h>
#include "store/exclusive_use.h"
#include "util/log.h"
#include "util/status.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ORDERS = THEMIS_STORE_SPACE_MAX_ORDER + 1, STEP = 4 << 20, HUGE_PAGE = 2 << 20, LOW_PRIORITY = 19 };
#define NOWHERE UINT32_MAX

/* Links of a free list; used only for the first unit of a free block. */
typedef struct unit {
    uint32_t next, previous;
} unit_t;

/* The last bytes of an arena's file, after its units, which distinguish it from other files. */
static const char file_end[16] = "themis-arena 1\n";

struct themis_store_space {
    uint8_t *base;
    int fd;        /* of the file, locked; -1: memory */
    uint64_t size; /* bytes, a multiple of the unit */
    uint32_t count, step;
    pthread_mutex_t lock;
    unit_t *units;
    uint8_t *orders;         /* 1 + order of the free block that begins at a unit; 0: none does */
    uint32_t heads[ORDERS];  /* of the free lists */
    _Atomic uint32_t opened; /* units below it are in use or in the free lists */
    uint64_t used;           /* units */
    /* The thread that populates pages holds no lock: at its priority it may not run for long, and others would have to
     * wait for it. */
    pthread_t populator;
    int has_populator;
    _Atomic int stop;
    sem_t wanted;
    _Atomic uint32_t populated; /* units below it have populated pages; at least `opened` */
    uint32_t ahead;             /* units to keep populated beyond `opened` */
};

static void list_insert(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    uint32_t head = space->heads[order];

    space->units[unit] = (unit_t){.next = head, .previous = NOWHERE};
    if (head != NOWHERE)
        space->units[head].previous = unit;
    space->heads[order] = unit;
    space->orders[unit] = (uint8_t)(order + 1);
}

static void list_remove(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    unit_t *at = &space->units[unit];

    if (at->previous == NOWHERE)
        space->heads[order] = at->next;
    else
        space->units[at->previous].next = at->next;
    if (at->next != NOWHERE)
        space->units[at->next].previous = at->previous;
    space->orders[unit] = 0;
}

/* Inserts a block into the free lists, merged with its free buddies. */
static void insert_merged(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    while (order < THEMIS_STORE_SPACE_MAX_ORDER) {
        uint32_t buddy = unit ^ (UINT32_C(1) << order);
        if (buddy >= space->opened || space->orders[buddy] != order + 1)
            break;
        list_remove(space, buddy, order);
        unit &= ~(UINT32_C(1) << order);
        order++;
    }
    list_insert(space, unit, order);
}

static void raise_populated(themis_store_space_t *space, uint32_t unit)
{
    uint32_t now = space->populated;

    while (now < unit && !atomic_compare_exchange_weak(&space->populated, &now, unit))
        ;
}

static int needs_populating(const themis_store_space_t *space)
{
    uint32_t populated = space->populated, opened = space->opened;

    return populated < space->count && (populated < opened || populated - opened < space->ahead);
}

/* Takes the next step of the region into use; 0 if there is none. */
static int open_step(themis_store_space_t *space)
{
    uint32_t from = space->opened;
    uint32_t left = space->count - from;
    uint32_t end = from + (left < space->step ? left : space->step);

    if (left == 0)
        return 0;
    space->opened = end;
    while (from < end) {
        unsigned order = from ? (unsigned)__builtin_ctz(from) : THEMIS_STORE_SPACE_MAX_ORDER;
        if (order > THEMIS_STORE_SPACE_MAX_ORDER)
            order = THEMIS_STORE_SPACE_MAX_ORDER;
        while ((UINT32_C(1) << order) > end - from)
            order--;
        insert_merged(space, from, order);
        from += UINT32_C(1) << order;
    }
    raise_populated(space, space->opened);
    if (space->has_populator && needs_populating(space))
        sem_post(&space->wanted);
    return 1;
}

static int allocate_free(themis_store_space_t *space, unsigned order, uint32_t *unit)
{
    unsigned from = order;

    while (from < ORDERS && space->heads[from] == NOWHERE)
        from++;
    if (from == ORDERS)
        return 0;
    *unit = space->heads[from];
    list_remove(space, *unit, from);
    while (from > order) {
        from--;
        list_insert(space, *unit + (UINT32_C(1) << from), from);
    }
    space->used += UINT64_C(1) << order;
    return 1;
}

themis_status_t themis_store_space_allocate(themis_store_space_t *space, unsigned order, unsigned *got, uint32_t *unit)
{
    int found;

    pthread_mutex_lock(&space->lock);
    while (!(found = allocate_free(space, order, unit)))
        if (!open_step(space) && order-- == 0)
            break;
    pthread_mutex_unlock(&space->lock);
    if (!found)
        return THEMIS_NO_SPACE;
    *got = order;
    return THEMIS_OK;
}

void themis_store_space_free(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    pthread_mutex_lock(&space->lock);
    space->used -= UINT64_C(1) << order;
    insert_merged(space, unit, order);
    pthread_mutex_unlock(&space->lock);
}

uint8_t *themis_store_space_address(const themis_store_space_t *space, uint32_t unit)
{
    return space->base + (uint64_t)unit * THEMIS_STORE_SPACE_UNIT;
}

void themis_store_space_usage(themis_store_space_t *space, themis_store_usage_t *usage)
{
    pthread_mutex_lock(&space->lock);
    usage->capacity = (uint64_t)space->count * THEMIS_STORE_SPACE_UNIT;
    usage->used = space->used * THEMIS_STORE_SPACE_UNIT;
    usage->warm = (space->populated - space->used) * THEMIS_STORE_SPACE_UNIT;
    pthread_mutex_unlock(&space->lock);
}

static void populate_pages(themis_store_space_t *space, uint32_t from, uint32_t end)
{
    uint8_t *first = themis_store_space_address(space, from);
    size_t length = (size_t)(end - from) * THEMIS_STORE_SPACE_UNIT;

    if (madvise(first, length, MADV_POPULATE_WRITE) == 0)
        return;
    /* Older kernels: a write that changes nothing, even if the page has been allocated meanwhile. */
    for (size_t i = 0; i < length; i += THEMIS_STORE_SPACE_UNIT)
        __atomic_fetch_or(first + i, 0, __ATOMIC_RELAXED);
}

static void *populator_main(void *arg)
{
    themis_store_space_t *space = arg;

    /* Not SCHED_IDLE: the kernel holds its lock of the address space while it clears a page. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), LOW_PRIORITY);
    while (!space->stop) {
        if (!needs_populating(space)) {
            sem_wait(&space->wanted);
            continue;
        }
        uint32_t from = space->populated, left = space->count - from;
        uint32_t end = from + (left < HUGE_PAGE / THEMIS_STORE_SPACE_UNIT ? left : HUGE_PAGE / THEMIS_STORE_SPACE_UNIT);
        populate_pages(space, from, end);
        raise_populated(space, end);
    }
    return NULL;
}

/* Succeeds if the file is empty or that of an arena. */
static themis_status_t check_file(const char *path, int fd)
{
    char last[sizeof file_end];
    struct stat stat;

    if (fstat(fd, &stat) != 0)
        return themis_util_status_from_errno(errno);
    if (stat.st_size == 0 || (pread(fd, last, sizeof last, stat.st_size - (off_t)sizeof last) == sizeof last &&
                              memcmp(last, file_end, sizeof last) == 0))
        return THEMIS_OK;
    themis_error(
        "file = %s holds something else than an arena of this version and is left unchanged: remove it if it is not "
        "needed",
        path);
    return THEMIS_CONFIG;
}

/* Through the mapping where there is no write(), as on hugetlbfs. Durable, so that the file is recognised also after a
 * power failure. */
static int write_end(const themis_store_space_t *space)
{
    uint64_t at = space->size - sizeof file_end;
    ssize_t written = pwrite(space->fd, file_end, sizeof file_end, (off_t)at);

    if (written < 0 && errno == EINVAL) {
        memcpy(space->base + at, file_end, sizeof file_end);
        return 0;
    }
    if (written >= 0 && written < (ssize_t)sizeof file_end)
        errno = ENOSPC;
    return written == (ssize_t)sizeof file_end ? fdatasync(space->fd) : -1;
}

static int map_open_file(themis_store_space_t *space)
{
    if (ftruncate(space->fd, (off_t)space->size) != 0)
        return -1;
    void *base = mmap(NULL, space->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, space->fd, 0);
    if (base == MAP_FAILED)
        return -1;
    space->base = base;
    return write_end(space);
}

static themis_status_t map_file(themis_store_space_t *space, const char *path)
{
    space->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    themis_status_t status = space->fd < 0 ? themis_util_status_from_errno(errno) : THEMIS_OK;
    if (status != THEMIS_OK) {
        themis_error("cannot open %s: %s", path, strerror(errno));
        return status;
    }
    status = themis_store_exclusive_use_file("file", path, space->fd);
    if (status == THEMIS_OK)
        status = check_file(path, space->fd);
    if (status != THEMIS_OK || map_open_file(space) == 0)
        return status;
    status = themis_util_status_from_errno(errno);
    themis_error("cannot map %s: %s", path, strerror(errno));
    if (ftruncate(space->fd, 0) != 0)
        themis_warn("%s is incomplete; remove it before the next start", path);
    return status;
}

/* Aligned to huge pages, as an anonymous mapping gets only those that it covers completely. */
static themis_status_t map_memory(themis_store_space_t *space)
{
    size_t slack = HUGE_PAGE;
    uint8_t *at =
        mmap(NULL, space->size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        themis_error("cannot map %llu bytes: %s", (unsigned long long)space->size, strerror(errno));
        return THEMIS_NO_MEMORY;
    }
    size_t skip = (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
    if (skip)
        munmap(at, skip);
    space->base = at + skip;
    munmap(space->base +
               (space->size + THEMIS_STORE_SPACE_UNIT - 1) / THEMIS_STORE_SPACE_UNIT * THEMIS_STORE_SPACE_UNIT,
           slack - skip);
    return THEMIS_OK;
}

static void *map_table(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static themis_status_t make_maps(themis_store_space_t *space, const char *path)
{
    themis_status_t status = path && *path ? map_file(space, path) : map_memory(space);

    if (status != THEMIS_OK)
        return status;
    madvise(space->base, space->size, MADV_HUGEPAGE);
    space->units = map_table(space->count * sizeof *space->units);
    space->orders = map_table(space->count);
    if (!space->units || !space->orders)
        return THEMIS_NO_MEMORY;
    return THEMIS_OK;
}

themis_status_t themis_store_space_create(uint64_t size, const char *path, uint64_t warm, uint32_t step,
                                          themis_store_space_t **space)
{
    uint64_t count = size / THEMIS_STORE_SPACE_UNIT, mark = path && *path; /* the last unit of a file holds file_end */
    themis_store_space_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    if (count <= mark || size > THEMIS_STORE_SPACE_MAX_BYTES) {
        free(made);
        themis_error("an arena of %llu bytes is not possible: the size is 4 KiB to 16 TiB", (unsigned long long)size);
        return THEMIS_CONFIG;
    }
    made->fd = -1;
    made->count = (uint32_t)(count - mark);
    made->size = count * THEMIS_STORE_SPACE_UNIT;
    made->step = (step ? step : STEP) / THEMIS_STORE_SPACE_UNIT;
    made->ahead = (uint32_t)((warm < size ? warm : size) / THEMIS_STORE_SPACE_UNIT);
    for (unsigned i = 0; i < ORDERS; i++)
        made->heads[i] = NOWHERE;
    pthread_mutex_init(&made->lock, NULL);
    sem_init(&made->wanted, 0, 0);
    themis_status_t status = make_maps(made, path);
    if (status != THEMIS_OK) {
        themis_store_space_destroy(made);
        return status;
    }
    made->has_populator = made->ahead && pthread_create(&made->populator, NULL, populator_main, made) == 0;
    *space = made;
    return THEMIS_OK;
}

void themis_store_space_destroy(themis_store_space_t *space)
{
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
    if (space->units)
        munmap(space->units, space->count * sizeof *space->units);
    if (space->orders)
        munmap(space->orders, space->count);
    sem_destroy(&space->wanted);
    pthread_mutex_destroy(&space->lock);
    free(space);
}
