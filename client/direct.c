/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/direct.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "client/capability.h"
#include "client/direct_copy.h"
#include "client/error.h"
#include "client/file.h"
#include "client/striping.h"
#include "util/clock.h"
#include "util/memory.h"

enum { MAX_IDLE = 64 }; /* objects of closed files that keep their grants */
static const uint64_t small_bytes = 64 << 10;
static const uint64_t dense_bytes = 4 << 20; /* ranges up to this are allocated whole */
static const uint64_t min_density = 64;      /* larger ones if one byte in so many is written */

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* A page with a 1 that a child finds cleared. */
static const int *mark_process(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    int *mark = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mark == MAP_FAILED)
        return NULL;
    if (madvise(mark, bytes, MADV_WIPEONFORK) != 0) {
        munmap(mark, bytes);
        return NULL;
    }
    *mark = 1;
    return mark;
}

void themis_client_direct_init(themis_client_direct_t *direct, themis_client_calls_t *calls)
{
    *direct = (themis_client_direct_t){.here = mark_process()};
    themis_client_direct_segments_init(&direct->segments, calls);
    pthread_mutex_init(&direct->lock, NULL);
}

void themis_client_direct_free(themis_client_direct_t *direct)
{
    themis_client_direct_object_t *object, *next;

    HASH_ITER(hh, direct->objects, object, next)
    {
        HASH_DEL(direct->objects, object);
        themis_client_direct_map_destroy(&direct->segments, object);
    }
    themis_client_direct_segments_free(&direct->segments);
    pthread_mutex_destroy(&direct->lock);
    if (direct->here)
        munmap((void *)(uintptr_t)direct->here, (size_t)sysconf(_SC_PAGESIZE));
}

/* --- objects, with the lock of `direct` held ---------------------------------------------------------------------- */

static themis_client_direct_object_t *object_get(themis_client_direct_t *direct, uint64_t id, uint32_t server)
{
    themis_client_direct_object_t *object;
    const struct {
        uint64_t id, server;
    } key = {id, server};

    HASH_FIND(hh, direct->objects, &key, sizeof object->key, object);
    if (!object) {
        object = themis_client_direct_map_create(id, server);
        if (!object)
            return NULL;
        HASH_ADD(hh, direct->objects, key, sizeof object->key, object);
        if (!object->hh.tbl) {
            themis_client_direct_map_destroy(&direct->segments, object);
            return NULL;
        }
        direct->idle++;
    }
    direct->idle -= object->handles++ == 0;
    return object;
}

/* The hash keeps its objects in the order in which they came. One that finds no room in it any more is given back. */
static void object_put(themis_client_direct_t *direct, themis_client_direct_object_t *object)
{
    if (--object->handles > 0)
        return;
    HASH_DEL(direct->objects, object);
    HASH_ADD(hh, direct->objects, key, sizeof object->key, object);
    if (object->hh.tbl) {
        if (++direct->idle <= MAX_IDLE)
            return;
        for (object = direct->objects; object->handles > 0;)
            object = object->hh.next;
        HASH_DEL(direct->objects, object);
        direct->idle--;
    }
    if (*direct->here)
        themis_client_direct_map_give_back(&direct->segments, object);
    themis_client_direct_map_destroy(&direct->segments, object);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

void themis_client_direct_file_init(themis_file_t *file)
{
    themis_client_direct_file_t *direct = &file->direct;

    direct->mode = file->session->settings.direct;
    if (file->session->direct.here && file->layout.count <= THEMIS_CLIENT_DIRECT_MAX_OBJECTS)
        direct->objects = calloc(file->layout.count, sizeof *direct->objects);
}

void themis_client_direct_file_free(themis_file_t *file)
{
    themis_client_direct_t *direct = &file->session->direct;
    themis_client_direct_object_t *object;

    pthread_mutex_lock(&direct->lock);
    for (uint32_t i = 0; file->direct.objects && i < file->layout.count; i++)
        if ((object = atomic_load(&file->direct.objects[i])) != NULL)
            object_put(direct, object);
    pthread_mutex_unlock(&direct->lock);
    free(file->direct.objects);
}

/* NULL: no memory. */
static themis_client_direct_object_t *file_find_object(themis_file_t *file, uint32_t index)
{
    themis_client_direct_t *direct = &file->session->direct;
    uint32_t server = themis_client_striping_server(&file->layout, index, file->session->peers.count);

    pthread_mutex_lock(&direct->lock);
    themis_client_direct_object_t *object = atomic_load(&file->direct.objects[index]);
    if (!object) {
        object = object_get(direct, file->attr.id, server);
        atomic_store(&file->direct.objects[index], object);
    }
    pthread_mutex_unlock(&direct->lock);
    return object;
}

static inline themis_client_direct_object_t *file_object(themis_file_t *file, uint32_t index)
{
    themis_client_direct_object_t *object = atomic_load_explicit(&file->direct.objects[index], memory_order_acquire);

    return object ? object : file_find_object(file, index);
}

themis_status_t themis_file_set_direct(themis_file_t *file, int direct)
{
    if (direct < -1 || direct > 1)
        return themis_client_fail(THEMIS_INVALID, "%s: direct access %d is not -1, 0 or 1", file->path, direct);
    atomic_store(&file->direct.mode, direct ? direct : file->session->settings.direct);
    return THEMIS_OK;
}

void themis_file_moved(const themis_file_t *file, themis_moved_t *moved)
{
    moved->direct = atomic_load(&file->direct.direct);
    moved->messages = atomic_load(&file->direct.messages);
}

/* --- an access ---------------------------------------------------------------------------------------------------- */

/* Returns 0, with nothing entered, if the part cannot be moved directly now. */
static int part_enter(themis_file_t *file, themis_client_direct_access_t *access, themis_client_direct_part_t *part)
{
    themis_client_direct_segments_t *segments = &file->session->direct.segments;
    uint32_t index = (uint32_t)(part - access->parts);

    part->object = file_object(file, index);
    themis_client_direct_view_t *view = part->object ? themis_client_direct_map_enter(part->object) : NULL;
    if (!view)
        return 0;
    part->view = view;
    part->is_past_end = !access->writing && part->end > atomic_load(&view->cell->end);
    /* a file that was opened with another store is not moved, and messages say so */
    if (!part->is_past_end && view->store == atomic_load(&file->bindings[index].store) &&
        themis_client_direct_copy_is_known(access, part))
        return 1;
    part->view = NULL;
    themis_client_direct_map_leave(segments, part->object, view);
    return 0;
}

static void leave_all(themis_file_t *file, themis_client_direct_access_t *access)
{
    for (uint32_t i = 0; i < access->layout->count; i++) {
        themis_client_direct_part_t *part = &access->parts[i];
        if (part->view)
            themis_client_direct_map_leave(&file->session->direct.segments, part->object,
                                           (themis_client_direct_view_t *)(uintptr_t)part->view);
        part->view = NULL;
    }
}

/* The part that cannot be moved directly, with nothing entered; NULL: all parts are entered. */
static themis_client_direct_part_t *enter_all(themis_file_t *file, themis_client_direct_access_t *access)
{
    for (uint32_t i = 0; i < access->layout->count; i++) {
        themis_client_direct_part_t *part = &access->parts[i];
        if (part->bytes == 0 || part_enter(file, access, part))
            continue;
        leave_all(file, access);
        return part;
    }
    return NULL;
}

/* What to ask the server for. Memory is allocated for what is written, but not for much else. Its pages are to be
 * cleared where they were found not to be valid, and where this write does not fill them. */
static themis_client_direct_want_t part_want(const themis_client_direct_access_t *access,
                                             const themis_client_direct_part_t *part)
{
    enum { PAGE = THEMIS_UTIL_DIRECT_PAGE_BYTES };
    uint64_t span = part->end - part->first;
    int fills = part->bytes == span && part->first % PAGE == 0 && part->end % PAGE == 0;

    return (themis_client_direct_want_t){.first = part->first,
                                         .end = part->end,
                                         .allocate = access->writing &&
                                                     (span <= dense_bytes || span / min_density <= part->bytes),
                                         .complete = part->is_incomplete || (access->writing && !fills)};
}

/* The first access after a connection was lost drops what all objects of that server have mapped. */
static void server_forget_lost(themis_client_direct_t *direct, uint64_t server)
{
    themis_client_direct_object_t *object, *next;

    pthread_mutex_lock(&direct->lock);
    HASH_ITER(hh, direct->objects, object, next)
    {
        if (object->key.server == server)
            themis_client_direct_map_forget_lost(&direct->segments, object);
    }
    pthread_mutex_unlock(&direct->lock);
}

/* Each server is asked at most once, and once more for pages that are not valid. */
static int access_begin(themis_file_t *file, themis_client_direct_access_t *access)
{
    themis_client_direct_t *direct = &file->session->direct;
    themis_client_direct_part_t *part;

    while ((part = enter_all(file, access)) != NULL) {
        int lost, is_in_vain = part->asked == 2 || (part->asked && !part->is_incomplete);
        if (is_in_vain && !part->is_past_end)
            themis_client_direct_map_helped(part->object, 0);
        if (is_in_vain || part->is_past_end || !part->object)
            return 0;
        themis_client_direct_want_t want = part_want(access, part);
        part->asked = want.complete ? 2 : 1;
        themis_client_capability_get(file, &want.capability);
        want.binding = &file->bindings[part - access->parts];
        want.listed = want.binding->listed == THEMIS_CLIENT_LISTED;
        int may = themis_client_direct_map_ask(&direct->segments, part->object, &want, &lost);
        if (lost)
            server_forget_lost(direct, part->object->key.server);
        if (!may)
            return 0;
    }
    return 1;
}

static void raise_to(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);

    while (seen < value && !atomic_compare_exchange_weak(word, &seen, value))
        ;
}

/* What others see of a write, once its bytes are there. */
static void publish(themis_file_t *file, themis_client_direct_access_t *access)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    uint64_t now = (uint64_t)time.tv_sec * THEMIS_NS_PER_S + (uint64_t)time.tv_nsec;
    for (uint32_t i = 0; i < access->layout->count; i++) {
        themis_client_direct_part_t *part = &access->parts[i];
        if (!part->view)
            continue;
        raise_to(&part->view->cell->end, part->end);
        if (!atomic_load_explicit(&file->bindings[i].dirty, memory_order_relaxed))
            atomic_store(&file->bindings[i].dirty, 1);
        if (!atomic_load_explicit(&file->bindings[i].changed, memory_order_relaxed))
            atomic_store(&file->bindings[i].changed, 1);
        raise_to(&part->view->cell->modified, now);
    }
}

/* `moved`: all was. Returns 0 if a grant was taken back since the access began: what was moved may have gone to, or
 * come from, memory that is no longer the object's. */
static int access_end(themis_file_t *file, themis_client_direct_access_t *access, int moved)
{
    int valid = moved;

    if (access->writing && moved)
        publish(file, access);
    for (uint32_t i = 0; i < access->layout->count; i++) {
        themis_client_direct_part_t *part = &access->parts[i];
        if (!part->view)
            continue;
        /* sequentially consistent, so that the bytes come before the look */
        atomic_fetch_add(access->writing ? &part->view->slot->written : &part->view->slot->read, part->bytes);
        valid &= themis_client_direct_view_is_valid(part->view);
        if (part->asked)
            themis_client_direct_map_helped(part->object, 1);
    }
    leave_all(file, access);
    return valid;
}

/* The first and last byte of each piece; a bad one is reported by those who move the list by messages. */
static int has_memory(const themis_list_t *list, uint64_t bytes)
{
    static _Thread_local themis_util_memory_seen_t seen;

    return themis_util_memory_check(list->memory, list->memory_count, bytes <= small_bytes ? &seen : NULL) == THEMIS_OK;
}

int themis_client_direct_move(themis_file_t *file, const themis_list_t *list, int writing, uint64_t bytes)
{
    themis_client_direct_access_t access;

    if (!file->direct.objects || atomic_load_explicit(&file->direct.mode, memory_order_relaxed) < 0 || bytes == 0 ||
        !*file->session->direct.here)
        return 0;
    access.layout = &file->layout;
    access.list = list;
    access.writing = writing;
    themis_client_direct_copy_measure(&access);
    if (!access_begin(file, &access))
        return 0;
    if (!has_memory(list, bytes)) {
        leave_all(file, &access);
        return 0;
    }
    if (!access_end(file, &access, themis_client_direct_copy_move(&access)))
        return 0;
    atomic_fetch_add_explicit(&file->direct.direct, bytes, memory_order_relaxed);
    return 1;
}
