/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "store/space_durable.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/log_state.h"
#include "store/space_file.h"
#include "store/space_state.h"
#include "util/log.h"
#include "util/status.h"

enum {
    UNIT = THEMIS_STORE_SPACE_UNIT,
    USED_BEFORE = THEMIS_STORE_SPACE_UNIT_USED_BEFORE,
    IN_USE = THEMIS_STORE_SPACE_UNIT_ORDER, /* of a unit's state, during recovery: it is in a block that is in use */
    FIRST_FREED = 1024
};

typedef themis_store_space_t space_t;
typedef themis_store_space_segment_t segment_t;

static segment_t *segment_of(const space_t *space, uint32_t unit)
{
    return &space->segments[unit / space->segment_units];
}

static void name_of(char name[THEMIS_STORE_LOG_NAME], uint64_t serial)
{
    themis_store_log_name(name, "segment", serial);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void entry_fill(themis_store_entry_segment_t *body, const segment_t *segment, uint32_t owner)
{
    *body = (themis_store_entry_segment_t){
        .serial = segment->serial, .owner = owner, .opened = segment->opened, .exported = (uint64_t)segment->exported};
}

themis_status_t themis_store_space_durable_log(space_t *space, const segment_t *segment, uint32_t owner)
{
    struct {
        themis_store_entry_t head;
        themis_store_entry_segment_t body;
    } entry = {.head = {.type = THEMIS_STORE_ENTRY_SEGMENT,
                        .words = sizeof entry.body / sizeof(uint64_t),
                        .subject = (uint64_t)(segment - space->segments)}};

    entry_fill(&entry.body, segment, owner);
    return themis_store_log_append(space->log, (const uint8_t *)&entry, sizeof entry);
}

int themis_store_space_durable_grow(space_t *space, segment_t *segment, uint32_t from, uint32_t count)
{
    uint32_t first = from - segment->first, opened = segment->opened;

    if (!themis_store_log_has_room(space->log) ||
        !themis_store_space_file_grow(segment->fd, (uint64_t)first * UNIT, (uint64_t)count * UNIT)) {
        if (!space->full)
            themis_warn("the arena's file system is full: no more than %llu MiB can be used",
                        (unsigned long long)(space->used * UNIT >> 20));
        space->full = 1;
        return 0;
    }
    space->full = 0;
    segment->opened = first + count;
    themis_status_t status = themis_store_space_durable_log(space, segment, segment->pool->owner);
    segment->opened = opened;
    return status == THEMIS_OK;
}

static themis_status_t file_map(const space_t *space, const segment_t *segment, int fd)
{
    uint8_t *at = themis_store_space_address(space, segment->first);

    if (mmap(at, themis_store_space_segment_bytes(segment), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
        return themis_util_status_from_errno(errno);
    if (!themis_store_log_is_on_device(space->log))
        madvise(at, themis_store_space_segment_bytes(segment), MADV_HUGEPAGE);
    return THEMIS_OK;
}

themis_status_t themis_store_space_durable_renew(space_t *space, segment_t *segment, uint32_t owner)
{
    char name[THEMIS_STORE_LOG_NAME], old_name[THEMIS_STORE_LOG_NAME];
    segment_t old = {.fd = segment->fd, .serial = segment->serial};
    uint64_t serial = ++space->serials;

    name_of(name, serial);
    name_of(old_name, old.serial);
    int fd = openat(space->directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return themis_util_status_from_errno(errno);
    themis_status_t status = ftruncate(fd, (off_t)themis_store_space_segment_bytes(segment)) == 0
                                 ? file_map(space, segment, fd)
                                 : themis_util_status_from_errno(errno);
    segment->serial = serial;
    segment->exported = segment->held = 0;
    if (status == THEMIS_OK)
        status = themis_store_space_durable_log(space, segment, owner);
    if (old.fd >= 0) {
        unlinkat(space->directory, old_name, 0);
        close(old.fd);
    }
    segment->fd = fd;
    segment->dirty = 1;
    return status;
}

themis_status_t themis_store_space_durable_export(space_t *space, segment_t *segment)
{
    if (segment->exported)
        return THEMIS_OK;
    segment->exported = 1;
    themis_status_t status = themis_store_space_durable_log(space, segment, segment->pool->owner);
    if (status != THEMIS_OK)
        segment->exported = 0;
    return status;
}

/* --- what is durable ---------------------------------------------------------------------------------------------- */

void themis_store_space_durable_note(space_t *space, const void *address)
{
    const uint8_t *at = address;

    if (!space->log || at < space->base || at >= space->base + space->size)
        return;
    segment_t *segment = segment_of(space, themis_store_space_unit(space, address));
    if (!atomic_load_explicit(&segment->dirty, memory_order_relaxed))
        atomic_store(&segment->dirty, 1);
}

/* *fd: a descriptor of the segment's file, if there is anything to sync; or -1. */
static themis_status_t unsynced_file(space_t *space, segment_t *segment, int *fd)
{
    themis_status_t status = THEMIS_OK;

    *fd = -1;
    pthread_mutex_lock(&space->lock);
    if (segment->state == THEMIS_STORE_SPACE_SEGMENT_OWNED && (segment->dirty || segment->exported)) {
        *fd = fcntl(segment->fd, F_DUPFD_CLOEXEC, 0);
        if (*fd < 0)
            status = themis_util_status_from_errno(errno);
        else
            segment->dirty = 0; /* before the sync, as what is written during it may miss it */
    }
    pthread_mutex_unlock(&space->lock);
    return status;
}

static themis_status_t segment_sync(space_t *space, segment_t *segment)
{
    int fd;
    themis_status_t status = unsynced_file(space, segment, &fd);

    if (fd < 0)
        return status;
    status = themis_store_log_fd_sync(space->log, fd);
    close(fd);
    if (status != THEMIS_OK)
        segment->dirty = 1;
    return status;
}

themis_status_t themis_store_space_durable_sync(void *arg)
{
    space_t *space = arg;
    themis_status_t status = THEMIS_OK;

    for (uint32_t i = 0; i < space->segment_count; i++) {
        themis_status_t synced = segment_sync(space, &space->segments[i]);
        status = status == THEMIS_OK ? synced : status;
    }
    return status;
}

/* --- what is free, but not yet durably ------------------------------------------------------------------------------
 */

static int freed_reserve(space_t *space)
{
    if (space->freed_count < space->freed_capacity)
        return 1;
    size_t capacity = space->freed_capacity ? space->freed_capacity * 2 : FIRST_FREED;
    themis_store_space_freed_t *grown = malloc(capacity * sizeof *grown);
    if (!grown)
        return 0;
    for (size_t i = 0; i < space->freed_count; i++)
        grown[i] = space->freed[(space->freed_first + i) % space->freed_capacity];
    free(space->freed);
    space->freed = grown;
    space->freed_first = 0;
    space->freed_capacity = capacity;
    return 1;
}

int themis_store_space_durable_free(space_t *space, uint32_t unit, unsigned order)
{
    if (segment_of(space, unit)->held)
        return 1;
    if (!themis_store_log_is_on_device(space->log))
        return 0;
    if (!freed_reserve(space))
        return 1; /* without memory it stays in use until the next start */
    space->freed[(space->freed_first + space->freed_count++) % space->freed_capacity] =
        (themis_store_space_freed_t){.position = themis_store_log_position(space->log), .unit = unit, .order = order};
    return 1;
}

void themis_store_space_durable_release(space_t *space)
{
    uint64_t committed = themis_store_log_committed(space->log);

    pthread_mutex_lock(&space->lock);
    while (space->freed_count && space->freed[space->freed_first].position <= committed) {
        const themis_store_space_freed_t *freed = &space->freed[space->freed_first];
        themis_store_space_block_release(space, freed->unit, freed->order);
        space->freed_first = (space->freed_first + 1) % space->freed_capacity;
        space->freed_count--;
    }
    pthread_mutex_unlock(&space->lock);
}

int themis_store_space_durable_reclaim(space_t *space)
{
    if (!space->log)
        return 0;
    pthread_mutex_lock(&space->lock);
    int has = space->freed_count > 0;
    pthread_mutex_unlock(&space->lock);
    if (!has || themis_store_log_commit(space->log, themis_store_space_durable_sync, space) != THEMIS_OK)
        return 0;
    themis_store_space_durable_release(space);
    return 1;
}

/* --- checkpoints and recovery ---------------------------------------------------------------------------------------
 */

themis_status_t themis_store_space_durable_entries(space_t *space, themis_store_entries_t *entries)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&space->change);
    pthread_mutex_lock(&space->lock);
    for (uint32_t i = 0; i < space->segment_count && status == THEMIS_OK; i++) {
        const segment_t *segment = &space->segments[i];
        if (segment->state != THEMIS_STORE_SPACE_SEGMENT_OWNED)
            continue;
        themis_store_entry_segment_t *body =
            themis_store_entries_add(entries, THEMIS_STORE_ENTRY_SEGMENT, i, 0, sizeof *body / sizeof(uint64_t));
        if (body)
            entry_fill(body, segment, segment->pool->owner);
        else
            status = THEMIS_NO_MEMORY;
    }
    pthread_mutex_unlock(&space->lock);
    pthread_mutex_unlock(&space->change);
    return status;
}

static themis_status_t too_small(void)
{
    themis_error("size: the arena has become too small for what is in it; nothing was changed");
    return THEMIS_CONFIG;
}

themis_status_t themis_store_space_recover_segment(space_t *space, uint64_t index,
                                                   const themis_store_entry_segment_t *entry)
{
    if (index >= space->segment_count)
        return too_small();
    segment_t *segment = &space->segments[index];
    if (entry->opened > space->segment_units)
        return THEMIS_CORRUPT;
    segment->serial = entry->serial;
    segment->opened = entry->opened;
    segment->exported = entry->exported != 0;
    segment->pool = themis_store_space_pool_get(space, entry->owner);
    if (space->serials < entry->serial)
        space->serials = entry->serial;
    return segment->pool ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* Who may write to the file may have given it another size. */
static themis_status_t file_check(const segment_t *segment, int fd, const char *name)
{
    uint64_t bytes = themis_store_space_segment_bytes(segment);
    struct stat stat;

    if (fstat(fd, &stat) != 0)
        return themis_util_status_from_errno(errno);
    if ((uint64_t)stat.st_size == bytes)
        return THEMIS_OK;
    if ((uint64_t)stat.st_size < bytes)
        themis_warn("the arena's file %s has become shorter: what was behind reads as zeros", name);
    if (ftruncate(fd, (off_t)bytes) != 0)
        return themis_util_status_from_errno(errno);
    int has_room = !segment->opened || themis_store_space_file_grow(fd, 0, (uint64_t)segment->opened * UNIT);
    return has_room ? THEMIS_OK : THEMIS_NO_SPACE;
}

static themis_status_t segment_open(space_t *space, segment_t *segment)
{
    char name[THEMIS_STORE_LOG_NAME];
    themis_store_space_pool_t *pool = segment->pool;

    segment->pool = NULL;
    name_of(name, segment->serial);
    segment->fd = openat(space->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (segment->fd < 0 && errno == ENOENT) { /* nothing is in it, or that is an error later */
        segment->serial = 0;
        segment->opened = 0;
        return THEMIS_OK;
    }
    themis_status_t status =
        segment->fd < 0 ? themis_util_status_from_errno(errno) : file_check(segment, segment->fd, name);
    if (status == THEMIS_OK)
        status = file_map(space, segment, segment->fd);
    if (status != THEMIS_OK) {
        themis_error("cannot use the arena's file %s: %s", name, themis_status_string(status));
        return status;
    }
    uint32_t growing = pool->growing;
    themis_store_space_segment_attach(space, segment, pool);
    if (segment->opened == segment->units && growing != THEMIS_STORE_SPACE_NOWHERE)
        pool->growing = growing;
    segment->dirty = 1; /* as far as is known */
    return THEMIS_OK;
}

/* Before any file is changed. */
static themis_status_t segments_check(const space_t *space)
{
    for (uint32_t i = 0; i < space->segment_count; i++)
        if (space->segments[i].serial && space->segments[i].opened > space->segments[i].units)
            return too_small();
    return THEMIS_OK;
}

themis_status_t themis_store_space_recover_files(space_t *space)
{
    themis_status_t status = segments_check(space);

    for (uint32_t i = 0; i < space->segment_count && status == THEMIS_OK; i++)
        if (space->segments[i].serial)
            status = segment_open(space, &space->segments[i]);
    return status;
}

void themis_store_space_recover_hold(space_t *space)
{
    for (uint32_t i = 0; i < space->segment_count; i++)
        space->segments[i].held = space->segments[i].exported;
}

int themis_store_space_recover_is_held(const space_t *space, uint32_t unit)
{
    return segment_of(space, unit)->held;
}

int themis_store_space_recover_is_block(const space_t *space, uint64_t unit, unsigned order)
{
    if (order > space->max_order || unit >= space->count || unit % (UINT64_C(1) << order))
        return 0;
    const segment_t *segment = segment_of(space, (uint32_t)unit);
    return segment->state == THEMIS_STORE_SPACE_SEGMENT_OWNED &&
           unit + (UINT64_C(1) << order) <= (uint64_t)segment->first + segment->opened;
}

themis_status_t themis_store_space_recover_block(space_t *space, uint64_t unit, unsigned order)
{
    uint32_t count = UINT32_C(1) << order;

    if (!themis_store_space_recover_is_block(space, unit, order))
        return THEMIS_CORRUPT;
    for (uint32_t i = 0; i < count; i++)
        if (space->states[unit + i] & IN_USE)
            return THEMIS_CORRUPT;
    memset(space->states + unit, IN_USE, count);
    segment_of(space, (uint32_t)unit)->used += count;
    space->used += count;
    return THEMIS_OK;
}

/* What is in no block becomes free. */
static void segment_recover(space_t *space, segment_t *segment)
{
    uint32_t end = segment->first + segment->opened;

    if (themis_store_log_is_after_restart(space->log)) /* what was opened later may have been written to */
        memset(space->states + end, USED_BEFORE, segment->units - segment->opened);
    for (uint32_t from = segment->first, to; from < end; from = to) {
        int in_use = (space->states[from] & IN_USE) == IN_USE;
        for (to = from; to < end && ((space->states[to] & IN_USE) == IN_USE) == in_use;)
            to++;
        memset(space->states + from, USED_BEFORE, to - from);
        if (in_use)
            continue;
        if (segment->held) {
            segment->used += to - from;
            space->used += to - from;
        } else {
            themis_store_space_blocks_insert(space, segment, from, to);
        }
    }
}

static int serial_is_known(const space_t *space, uint64_t serial)
{
    for (uint32_t i = 0; i < space->segment_count; i++)
        if (space->segments[i].serial == serial)
            return 1;
    return 0;
}

static int is_unused(void *arg, uint64_t serial)
{
    space_t *space = arg;

    if (serial_is_known(space, serial))
        return 0;
    if (space->serials < serial)
        space->serials = serial;
    return 1;
}

themis_status_t themis_store_space_recover_end(space_t *space)
{
    for (uint32_t i = 0; i < space->segment_count; i++)
        if (space->segments[i].state == THEMIS_STORE_SPACE_SEGMENT_OWNED)
            segment_recover(space, &space->segments[i]);
    for (uint32_t i = 0; i < space->segment_count; i++)
        space->segments[i].exported = space->segments[i].held;
    return themis_store_log_remove_files(space->directory, "segment", is_unused, space);
}
