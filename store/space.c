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
#include "store/lock.h"
#include "util/log.h"
#include "util/status.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ORDERS = THEMIS_STORE_SPACE_MAX_ORDER + 1, STEP = 4 << 20, HUGE = 2 << 20, LOW_PRIORITY = 19 };
#define NOWHERE UINT32_MAX

/* One for each unit; counts only for the first unit of a free block. */
typedef struct unit {
    uint32_t next, previous;
} unit_t;

/* The end of an arena's file, behind its units: so that no other file is taken for one. */
static const char file_end[16] = "themis-arena 1\n";

struct themis_store_space {
    uint8_t *base;
    int fd;        /* of the file, locked; -1: memory */
    uint64_t size; /* bytes, a multiple of the unit */
    uint32_t count, step;
    pthread_mutex_t lock;
    unit_t *units;
    uint8_t *orders; /* 1 + order of the free block that begins at a unit; 0: none does */
    uint32_t heads[ORDERS];
    _Atomic uint32_t opened; /* units below it are in use or in the lists */
    uint64_t used;           /* units */
    /*
     * The toucher takes no lock: at its priority it may not run for long, and whoever waited for it would wait as long.
     */
    pthread_t toucher;
    int has_toucher;
    _Atomic int stop;
    sem_t wanted;
    _Atomic uint32_t touched; /* units below it are warm; at least `opened` */
    uint32_t ahead;           /* units */
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

/* Puts a block into the lists, joined with its free neighbours. */
static void insert_joined(themis_store_space_t *space, uint32_t unit, unsigned order)
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

static void raise_touched(themis_store_space_t *space, uint32_t unit)
{
    uint32_t now = space->touched;

    while (now < unit && !atomic_compare_exchange_weak(&space->touched, &now, unit))
        ;
}

static int wants_touch(const themis_store_space_t *space)
{
    uint32_t touched = space->touched, opened = space->opened;

    return touched < space->count && (touched < opened || touched - opened < space->ahead);
}

/* Opens the next step; 0 if there is none. */
static int open_step(themis_store_space_t *space)
{
    uint32_t from = space->opened;
    uint32_t left = space->count - from;
    uint32_t behind = from + (left < space->step ? left : space->step);

    if (left == 0)
        return 0;
    space->opened = behind;
    while (from < behind) {
        unsigned order = from ? (unsigned)__builtin_ctz(from) : THEMIS_STORE_SPACE_MAX_ORDER;
        if (order > THEMIS_STORE_SPACE_MAX_ORDER)
            order = THEMIS_STORE_SPACE_MAX_ORDER;
        while ((UINT32_C(1) << order) > behind - from)
            order--;
        insert_joined(space, from, order);
        from += UINT32_C(1) << order;
    }
    raise_touched(space, space->opened);
    if (space->has_toucher && wants_touch(space))
        sem_post(&space->wanted);
    return 1;
}

static int take_free(themis_store_space_t *space, unsigned order, uint32_t *unit)
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

themis_status_t themis_store_space_take(themis_store_space_t *space, unsigned order, unsigned least, unsigned *got,
                                        uint32_t *unit)
{
    themis_status_t status = THEMIS_NO_SPACE;

    pthread_mutex_lock(&space->lock);
    for (;;) {
        if (take_free(space, order, unit)) {
            *got = order;
            status = THEMIS_OK;
            break;
        }
        if (open_step(space))
            continue;
        if (order == least)
            break;
        order--;
    }
    pthread_mutex_unlock(&space->lock);
    return status;
}

void themis_store_space_give(themis_store_space_t *space, uint32_t unit, unsigned order)
{
    pthread_mutex_lock(&space->lock);
    space->used -= UINT64_C(1) << order;
    insert_joined(space, unit, order);
    pthread_mutex_unlock(&space->lock);
}

uint8_t *themis_store_space_address(const themis_store_space_t *space, uint32_t unit)
{
    return space->base + (uint64_t)unit * THEMIS_STORE_SPACE_UNIT;
}

void themis_store_space_usage(themis_store_space_t *space, themis_store_space_usage_t *usage)
{
    pthread_mutex_lock(&space->lock);
    usage->size = (uint64_t)space->count * THEMIS_STORE_SPACE_UNIT;
    usage->used = space->used * THEMIS_STORE_SPACE_UNIT;
    usage->warm = (space->touched - space->used) * THEMIS_STORE_SPACE_UNIT;
    pthread_mutex_unlock(&space->lock);
}

static void touch(themis_store_space_t *space, uint32_t from, uint32_t behind)
{
    uint8_t *first = themis_store_space_address(space, from);
    size_t length = (size_t)(behind - from) * THEMIS_STORE_SPACE_UNIT;

    if (madvise(first, length, MADV_POPULATE_WRITE) == 0)
        return;
    /* older kernels: a write that changes nothing, even if the page is in use by now */
    for (size_t i = 0; i < length; i += THEMIS_STORE_SPACE_UNIT)
        __atomic_fetch_or(first + i, 0, __ATOMIC_RELAXED);
}

static void *toucher_main(void *arg)
{
    themis_store_space_t *space = arg;

    /* not SCHED_IDLE: the kernel's lock of the address space is held while a page is cleared */
    setpriority(PRIO_PROCESS, (id_t)gettid(), LOW_PRIORITY);
    while (!space->stop) {
        if (!wants_touch(space)) {
            sem_wait(&space->wanted);
            continue;
        }
        uint32_t from = space->touched, left = space->count - from;
        uint32_t behind = from + (left < HUGE / THEMIS_STORE_SPACE_UNIT ? left : HUGE / THEMIS_STORE_SPACE_UNIT);
        touch(space, from, behind);
        raise_touched(space, behind);
    }
    return NULL;
}

/* A file that is there is empty, or ends as an arena's does. */
static themis_status_t check_file(const char *path, int fd)
{
    char last[sizeof file_end];
    struct stat stat;

    if (fstat(fd, &stat) != 0)
        return themis_util_status_from_errno(errno);
    if (stat.st_size == 0 || (pread(fd, last, sizeof last, stat.st_size - (off_t)sizeof last) == sizeof last &&
                              memcmp(last, file_end, sizeof last) == 0))
        return THEMIS_OK;
    themis_error("file = %s holds something else than an arena of this version, and is left as it is: remove it if "
                 "nobody needs it",
                 path);
    return THEMIS_CONFIG;
}

/* By the mapping where there is no write(), as on hugetlbfs. Once it is there the file is an arena's also after a power
 * failure. */
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
    status = themis_store_lock_file("file", path, space->fd);
    if (status == THEMIS_OK)
        status = check_file(path, space->fd);
    if (status != THEMIS_OK || map_open_file(space) == 0)
        return status;
    status = themis_util_status_from_errno(errno);
    themis_error("cannot map %s: %s", path, strerror(errno));
    if (ftruncate(space->fd, 0) != 0)
        themis_warn("%s is left half made; remove it before the next start", path);
    return status;
}

/* Aligned to huge pages, which an anonymous mapping gets only where it fills them. */
static themis_status_t map_memory(themis_store_space_t *space)
{
    size_t slack = HUGE;
    uint8_t *at =
        mmap(NULL, space->size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        themis_error("cannot map %llu bytes: %s", (unsigned long long)space->size, strerror(errno));
        return THEMIS_NO_MEMORY;
    }
    size_t skip = (HUGE - (uintptr_t)at % HUGE) % HUGE;
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
    uint64_t count = size / THEMIS_STORE_SPACE_UNIT, mark = path && *path; /* a file's last unit holds its mark */
    themis_store_space_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    if (count <= mark || size > THEMIS_STORE_SPACE_MAX_BYTES) {
        free(made);
        themis_error("an arena of %llu bytes cannot be: 4 KiB to 16 TiB are possible", (unsigned long long)size);
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
    made->has_toucher = made->ahead && pthread_create(&made->toucher, NULL, toucher_main, made) == 0;
    *space = made;
    return THEMIS_OK;
}

void themis_store_space_destroy(themis_store_space_t *space)
{
    if (!space)
        return;
    if (space->has_toucher) {
        space->stop = 1;
        sem_post(&space->wanted);
        pthread_join(space->toucher, NULL);
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
