/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/direct_copy.h"
#include <string.h>
#include <time.h>
#include "client/cursor.h"
#include "client/extent.h"
#include "client/striping.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/min.h"

enum { PAGE = THEMIS_UTIL_DIRECT_PAGE_BYTES };
/* Bytes between two looks at the grant, so that a server that takes it back soon has its memory for itself. */
static const uint64_t look_bytes = 1 << 20;

/* Calls `place` for the runs of the list, split at stripe boundaries. */
static themis_status_t list_walk(const themis_client_direct_access_t *access, themis_client_striping_fn place,
                                 void *arg)
{
    const themis_list_t *list = access->list;
    themis_status_t status = THEMIS_OK;

    for (size_t i = 0; i < list->run_count && status == THEMIS_OK; i++)
        if (list->runs[i].length > 0 && list->runs[i].count > 0)
            status = themis_client_striping_run(access->layout, &list->runs[i], 0, place, arg);
    return status;
}

/* --- before the copy ---------------------------------------------------------------------------------------------- */

static themis_status_t measure_run(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    themis_client_direct_access_t *access = arg;
    themis_client_direct_part_t *part = &access->parts[index];
    uint64_t end = run->offset + (run->count - 1) * run->stride + run->length;

    part->first = part->bytes > 0 ? themis_util_min(part->first, run->offset) : run->offset;
    part->end = end > part->end ? end : part->end;
    part->bytes += run->length * run->count;
    return THEMIS_OK;
}

void themis_client_direct_copy_measure(themis_client_direct_access_t *access)
{
    memset(access->parts, 0, access->layout->count * sizeof *access->parts);
    list_walk(access, measure_run, access);
}

typedef struct checking {
    themis_client_direct_access_t *access;
    themis_client_direct_part_t *part;
} checking_t;

/* Calls `look` for each page with a state that [offset, end) touches; all of the range is known. `whole`: it covers the
 * page. Ends when `look` returns 0, which is then returned. */
typedef int (*page_fn)(themis_client_direct_part_t *part, _Atomic uint8_t *page, int whole);
static int pages_walk(themis_client_direct_part_t *part, uint64_t offset, uint64_t end, page_fn look)
{
    const themis_client_direct_extent_t *extent = themis_client_direct_view_find(part->view, part->near, offset);

    for (uint64_t part_end; offset < end; offset = part_end, extent++) {
        part_end = themis_util_min(end, extent->end);
        if (!extent->pages)
            continue;
        for (uint64_t i = (offset - extent->first) / PAGE; extent->first + i * PAGE < part_end; i++) {
            uint64_t start = extent->first + i * PAGE;
            if (!look(part, &extent->pages[i], start >= offset && start + PAGE <= part_end))
                return 0;
        }
    }
    return 1;
}

static int page_look_read(themis_client_direct_part_t *part, _Atomic uint8_t *page, int whole)
{
    part->is_incomplete = atomic_load_explicit(page, memory_order_acquire) != THEMIS_UTIL_DIRECT_PAGE_VALID;
    return !part->is_incomplete;
}

static int page_look_write(themis_client_direct_part_t *part, _Atomic uint8_t *page, int whole)
{
    if (atomic_load_explicit(page, memory_order_acquire) == THEMIS_UTIL_DIRECT_PAGE_VALID)
        return 1;
    part->invalid += whole != 0;
    part->is_incomplete = !whole;
    return whole;
}

/* May the access touch [offset, end), which the view covers? */
static int pages_allow(const themis_client_direct_access_t *access, themis_client_direct_part_t *part, uint64_t offset,
                       uint64_t end)
{
    return !part->view->has_pages || pages_walk(part, offset, end, access->writing ? page_look_write : page_look_read);
}

static themis_status_t check_run(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    checking_t *checking = arg;
    themis_client_direct_part_t *part = checking->part;

    if (&checking->access->parts[index] != part)
        return THEMIS_OK;
    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t offset = run->offset + i * run->stride;
        const themis_client_direct_extent_t *found = themis_client_direct_view_find(part->view, part->near, offset);
        if (!found || !themis_client_direct_view_covers(part->view, found, offset + run->length))
            return THEMIS_NO_ENTRY;
        part->near = found;
        if (!pages_allow(checking->access, part, offset, offset + run->length))
            return THEMIS_NO_ENTRY;
    }
    return THEMIS_OK;
}

int themis_client_direct_copy_is_known(themis_client_direct_access_t *access, themis_client_direct_part_t *part)
{
    const themis_client_direct_view_t *view = part->view;
    checking_t checking = {access, part};
    uint32_t near = atomic_load_explicit(&part->object->near, memory_order_relaxed);

    part->is_incomplete = 0;
    part->invalid = part->filled = 0;
    part->near = near < view->count ? &view->extents[near] : NULL;
    const themis_client_direct_extent_t *found = themis_client_direct_view_find(view, part->near, part->first);
    if (!found)
        return 0;
    if (found != part->near)
        atomic_store_explicit(&part->object->near, (uint32_t)(found - view->extents), memory_order_relaxed);
    part->near = found;
    int covers = themis_client_direct_view_covers(view, found, part->end);
    /* Without holes in it each part is one range. */
    if (covers && (!view->has_pages || (access->list->run_count == 1 && access->list->runs[0].count == 1)))
        return pages_allow(access, part, part->first, part->end);
    return (covers || part->bytes < part->end - part->first) && list_walk(access, check_run, &checking) == THEMIS_OK;
}

/* --- the copy ----------------------------------------------------------------------------------------------------- */

typedef struct copying {
    themis_client_direct_access_t *access;
    themis_client_cursor_t cursor;
    uint64_t unseen; /* bytes since the last look */
} copying_t;

/* The compiler makes loads and stores of a memcpy of constant length. */
static inline __attribute__((always_inline)) void copy_pieces(char *to, size_t to_stride, const char *from,
                                                              size_t from_stride, size_t length, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        memcpy(to, from, length);
        to += to_stride;
        from += from_stride;
    }
}

static inline __attribute__((always_inline)) void copy_strided(char *to, size_t to_stride, const char *from,
                                                               size_t from_stride, size_t length, uint64_t count)
{
    switch (length) {
    case 4:
        copy_pieces(to, to_stride, from, from_stride, 4, count);
        break;
    case 8:
        copy_pieces(to, to_stride, from, from_stride, 8, count);
        break;
    case 16:
        copy_pieces(to, to_stride, from, from_stride, 16, count);
        break;
    case 32:
        copy_pieces(to, to_stride, from, from_stride, 32, count);
        break;
    case 64:
        copy_pieces(to, to_stride, from, from_stride, 64, count);
        break;
    case 128:
        copy_pieces(to, to_stride, from, from_stride, 128, count);
        break;
    default:
        for (uint64_t i = 0; i < count; i++)
            themis_util_copy(to + i * to_stride, from + i * from_stride, length);
    }
}

/* `count` pieces, contiguous at the cursor, and `stride` bytes apart at `file`; all of it is known. */
static void copy_to_cursor(copying_t *copying, char *file, const themis_run_t *run, uint64_t count)
{
    char *memory = (char *)copying->cursor.piece->iov_base + copying->cursor.within;

    if (copying->access->writing)
        copy_strided(file, run->stride, memory, run->length, run->length, count);
    else
        copy_strided(memory, run->length, file, run->stride, run->length, count);
    copying->cursor.within += run->length * count;
    copying->unseen += run->length * count;
}

/* Bytes that lie in several extents, or several pieces of memory. */
static void copy_scattered(copying_t *copying, themis_client_direct_part_t *part, uint64_t offset, uint64_t length)
{
    while (length > 0) {
        const themis_client_direct_extent_t *extent = themis_client_direct_view_find(part->view, part->near, offset);
        uint64_t most = themis_util_min(themis_util_min(extent->end - offset, length), look_bytes);
        struct iovec memory = themis_client_cursor_next(&copying->cursor, most);
        char *file = extent->memory + (offset - extent->first);
        if (copying->access->writing)
            themis_util_copy(file, memory.iov_base, memory.iov_len);
        else
            themis_util_copy(memory.iov_base, file, memory.iov_len);
        part->near = extent;
        offset += memory.iov_len;
        length -= memory.iov_len;
        copying->unseen += memory.iov_len;
        if (copying->unseen >= look_bytes) {
            if (!themis_client_direct_view_is_valid(part->view))
                return; /* the next look will find so as well */
            copying->unseen = 0;
        }
    }
}

/* How many pieces of the run from `offset`, at most `left`, lie in the extent and in the contiguous memory at the
 * cursor, up to the next look. */
static uint64_t pieces_within(const copying_t *copying, const themis_client_direct_extent_t *extent,
                              const themis_run_t *run, uint64_t offset, uint64_t left)
{
    const themis_client_cursor_t *cursor = &copying->cursor;
    uint64_t memory = themis_util_min(cursor->piece->iov_len - cursor->within, look_bytes), room = extent->end - offset;

    if (run->length > memory || run->length > room)
        return 0;
    if (left == 1 || run->length == memory)
        return 1;
    left = themis_util_min(left, memory / run->length);
    return run->stride == 0 ? left : themis_util_min(left, 1 + (room - run->length) / run->stride);
}

/* Moves from the end of a piece of memory to the start of the next one. */
static inline void cursor_settle(themis_client_cursor_t *cursor)
{
    for (; cursor->within == cursor->piece->iov_len; cursor->within = 0)
        cursor->piece++;
}

static themis_status_t copy_run(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    copying_t *copying = arg;
    themis_client_direct_part_t *part = &copying->access->parts[index];
    uint64_t offset = run->offset, count;

    for (uint64_t left = run->count; left > 0; left -= count, offset += count * run->stride) {
        const themis_client_direct_extent_t *extent = themis_client_direct_view_find(part->view, part->near, offset);
        part->near = extent;
        cursor_settle(&copying->cursor);
        count = pieces_within(copying, extent, run, offset, left);
        if (count > 0) {
            copy_to_cursor(copying, extent->memory + (offset - extent->first), run, count);
        } else {
            copy_scattered(copying, part, offset, run->length);
            count = 1;
        }
        if (copying->unseen < look_bytes)
            continue;
        if (!themis_client_direct_view_is_valid(part->view))
            return THEMIS_CANCELED;
        copying->unseen = 0;
    }
    return THEMIS_OK;
}

static int list_copy(themis_client_direct_access_t *access)
{
    copying_t copying = {.access = access, .cursor = {access->list->memory, 0}};

    return list_walk(access, copy_run, &copying) == THEMIS_OK;
}

/* --- after the copy ----------------------------------------------------------------------------------------------- */

/* Waits while the server clears the page. */
static int page_await(_Atomic uint8_t *page)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000};
    uint64_t limit = themis_util_clock_now() + 100 * THEMIS_NS_PER_MS;

    while (atomic_load(page) != THEMIS_UTIL_DIRECT_PAGE_VALID) {
        if (themis_util_clock_now() > limit)
            return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}

/* Makes a page valid that was filled, unless it was before or somebody else has. */
static int page_fill(themis_client_direct_part_t *part, _Atomic uint8_t *page, int whole)
{
    uint8_t invalid = THEMIS_UTIL_DIRECT_PAGE_INVALID;

    if (!whole)
        return 1;
    if (!atomic_compare_exchange_strong(page, &invalid, THEMIS_UTIL_DIRECT_PAGE_VALID))
        return page_await(page);
    part->filled++;
    return 1;
}

static themis_status_t fill_run(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    themis_client_direct_access_t *access = arg;
    themis_client_direct_part_t *part = &access->parts[index];

    for (uint64_t i = 0; part->invalid && i < run->count; i++) {
        uint64_t offset = run->offset + i * run->stride;
        if (!pages_walk(part, offset, offset + run->length, page_fill))
            return THEMIS_BUSY;
    }
    return THEMIS_OK;
}

int themis_client_direct_copy_move(themis_client_direct_access_t *access)
{
    int fills = 0, again = 0;

    if (!list_copy(access))
        return 0;
    for (uint32_t i = 0; i < access->layout->count; i++)
        fills |= access->parts[i].invalid > 0;
    if (!fills)
        return 1;
    if (list_walk(access, fill_run, access) != THEMIS_OK)
        return 0;
    for (uint32_t i = 0; i < access->layout->count; i++)
        again |= access->parts[i].filled < access->parts[i].invalid; /* others cleared or filled some */
    return !again || list_copy(access);
}
