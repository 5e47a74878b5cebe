/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "preload/core/locks.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <utlist.h>
#include "posix/error.h"
#include "posix/locks.h"
#include "preload/core/calls.h"
#include "preload/core/state.h"
#include "util/clock.h"

static const long shortest_wait = THEMIS_NS_PER_MS, longest_wait = 20 * THEMIS_NS_PER_MS;

typedef struct range {
    uint64_t offset, length;
} range_t;

typedef struct record {
    struct record *next;
    range_t range;
} record_t;

/* A file of which this process has record locks. */
typedef struct locked {
    struct locked *next;
    uint64_t object;
    themis_posix_file_t *file; /* its handle has them; with a reference */
    record_t *records;         /* what it has, without overlaps */
} locked_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static locked_t *files; /* with their records guarded by the mutex */

/* --- what is held --------------------------------------------------------------------------------------------------
 */

static uint64_t end_of(const range_t *range)
{
    return range->offset + range->length;
}

static int overlaps(const range_t *a, const range_t *b)
{
    return a->offset < end_of(b) && b->offset < end_of(a);
}

static void records_free(record_t *records)
{
    record_t *record, *next;

    LL_FOREACH_SAFE(records, record, next)
    free(record);
}

static int record_add(locked_t *file, uint64_t offset, uint64_t end)
{
    record_t *record = calloc(1, sizeof *record);

    if (!record)
        return 0;
    *record = (record_t){.range = {offset, end - offset}};
    LL_PREPEND(file->records, record);
    return 1;
}

/* The range is locked now, or not; what stood there before is cut. Without memory some is taken as not held. */
static void records_set(locked_t *file, const range_t *range, int is_locked)
{
    record_t *record, *next, *before = file->records;

    LL_FOREACH_SAFE(before, record, next)
    {
        if (!overlaps(&record->range, range))
            continue;
        if (record->range.offset < range->offset)
            record_add(file, record->range.offset, range->offset);
        if (end_of(&record->range) > end_of(range))
            record_add(file, end_of(range), end_of(&record->range));
        LL_DELETE(file->records, record);
        free(record);
    }
    if (is_locked)
        record_add(file, range->offset, end_of(range));
}

/* --- the handle of a file's locks ----------------------------------------------------------------------------------
 */

static locked_t *find(uint64_t object)
{
    locked_t *file;

    LL_SEARCH_SCALAR(files, file, object, object);
    return file;
}

/* The file by another handle, as servers tell the owners of locks by them: those of a description are its own. NULL: it
 * cannot be. */
static themis_posix_file_t *handle_make(const themis_posix_file_t *file)
{
    void *packed = malloc(THEMIS_HANDLE_BYTES);
    themis_posix_file_t *handle = NULL;
    themis_file_t *opened;
    size_t length;

    if (packed && themis_file_pack(file->file, packed, THEMIS_HANDLE_BYTES, &length) == THEMIS_OK &&
        themis_file_unpack(file->filesystem->session, packed, length, &opened) == THEMIS_OK &&
        themis_posix_file_adopt(file->filesystem, file->node, opened, &handle) != 0)
        handle = NULL;
    free(packed);
    return handle;
}

/* With a reference; `keeps`: locks may be taken by it. */
static themis_posix_file_t *handle_get(themis_posix_file_t *file, int keeps)
{
    pthread_mutex_lock(&mutex);
    locked_t *found = find(file->node->object);
    themis_posix_file_t *handle = found ? found->file : handle_make(file);
    if (!found && handle && keeps && (found = calloc(1, sizeof *found))) {
        found->object = file->node->object;
        found->file = handle;
        LL_PREPEND(files, found);
    }
    if (found)
        themis_posix_file_acquire(handle);
    pthread_mutex_unlock(&mutex);
    return handle;
}

void themis_preload_locks_drop(const themis_posix_node_t *node)
{
    if (!__atomic_load_n(&files, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&mutex);
    locked_t *found = find(node->object);
    if (found)
        LL_DELETE(files, found);
    pthread_mutex_unlock(&mutex);
    if (!found)
        return;
    themis_unlock(found->file->file, 0, THEMIS_POSIX_LOCKS_END);
    themis_posix_file_release(found->file);
    records_free(found->records);
    free(found);
}

int themis_preload_locks_held(const themis_posix_node_t *node)
{
    pthread_mutex_lock(&mutex);
    const locked_t *found = find(node->object);
    const int held = found && found->records;
    pthread_mutex_unlock(&mutex);
    return held;
}

void themis_preload_locks_forget(void)
{
    pthread_mutex_init(&mutex, NULL);
    files = NULL;
}

/* --- record locks --------------------------------------------------------------------------------------------------
 */

static int range_of(themis_preload_open_t *open, int fd, const struct flock *lock, range_t *range)
{
    off_t start = lock->l_start, length = lock->l_len;
    themis_stat_t stat = {0};

    if (lock->l_whence == SEEK_CUR)
        start += (off_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    else if (lock->l_whence == SEEK_END && themis_posix_file_stat(open->file, &stat) == 0)
        start += (off_t)stat.size;
    else if (lock->l_whence != SEEK_SET)
        return EINVAL;
    if (length < 0) {
        start += length;
        length = -length;
    }
    if (start < 0)
        return EINVAL;
    if ((uint64_t)start >= THEMIS_POSIX_LOCKS_END)
        return EOVERFLOW;
    const uint64_t room = THEMIS_POSIX_LOCKS_END - (uint64_t)start;
    range->offset = (uint64_t)start;
    range->length = length == 0 || (uint64_t)length > room ? room : (uint64_t)length;
    return 0;
}

static int lock_error(themis_status_t status)
{
    if (status == THEMIS_LOCKED)
        return EAGAIN;
    return status == THEMIS_STALE ? ENOLCK : themis_posix_error(status);
}

/* What is held becomes another lock in one step, and stays if that cannot be had. */
static int lock_set(themis_posix_file_t *handle, short type, const range_t *range)
{
    if (type == F_UNLCK)
        return lock_error(themis_unlock(handle->file, range->offset, range->length));
    const int flags = type == F_WRLCK ? THEMIS_LOCK_EXCLUSIVE : THEMIS_LOCK_SHARED;
    return lock_error(
        themis_lock(handle->file, range->offset, range->length, flags | THEMIS_LOCK_TRY | THEMIS_LOCK_REPLACE));
}

/* Between two calls, as a fork waits until all have ended. */
static void nap(long *wait)
{
    const struct timespec time = {.tv_nsec = *wait};

    nanosleep(&time, NULL);
    *wait = *wait * 2 > longest_wait ? longest_wait : *wait * 2;
}

/* Who holds a lock that is in the way, and of which range, servers do not tell. */
static int lock_test(themis_posix_file_t *handle, struct flock *lock, const range_t *range)
{
    const themis_status_t status = themis_posix_lock_probe(handle->file, range->offset, range->length, &lock->l_type);

    if (status != THEMIS_OK)
        return lock_error(status);
    if (lock->l_type == F_UNLCK)
        return 0;
    lock->l_whence = SEEK_SET;
    lock->l_start = (off_t)range->offset;
    lock->l_len = end_of(range) == THEMIS_POSIX_LOCKS_END ? 0 : (off_t)range->length;
    lock->l_pid = -1;
    return 0;
}

static int may_lock(const themis_preload_open_t *open, short type)
{
    const int access = open->flags & O_ACCMODE;

    return (type != F_RDLCK || access != O_WRONLY) && (type != F_WRLCK || access != O_RDONLY);
}

/* Of the process. */
static int record_lock(themis_preload_open_t *open, int command, struct flock *lock, const range_t *range)
{
    themis_posix_file_t *handle = handle_get(open->file, command != F_GETLK);
    int error;

    if (!handle)
        return ENOLCK;
    if (command == F_GETLK) {
        error = lock_test(handle, lock, range);
    } else {
        error = lock_set(handle, lock->l_type, range);
        pthread_mutex_lock(&mutex);
        locked_t *file = find(open->node->object);
        if (!error && file)
            records_set(file, range, lock->l_type != F_UNLCK);
        pthread_mutex_unlock(&mutex);
    }
    themis_posix_file_release(handle);
    return error;
}

/* Of the open file description, as those of flock. */
static int description_lock(themis_preload_open_t *open, int command, struct flock *lock, const range_t *range)
{
    if (lock->l_pid != 0)
        return EINVAL;
    return command == F_OFD_GETLK ? lock_test(open->file, lock, range) : lock_set(open->file, lock->l_type, range);
}

static int is_test(int command)
{
    return command == F_GETLK || command == F_OFD_GETLK;
}

/* In a call; *range: of the first try, as the offset of others may change while this one waits. */
static int lock_try(themis_preload_open_t *open, int fd, int command, struct flock *lock, range_t *range)
{
    int error = !open->file ? EBADF : range->length ? 0 : range_of(open, fd, lock, range);

    if (!error && !is_test(command) && !may_lock(open, lock->l_type))
        error = EBADF;
    if (error || range->length == 0)
        return error;
    return command == F_GETLK || command == F_SETLK || command == F_SETLKW
               ? record_lock(open, command, lock, range)
               : description_lock(open, command, lock, range);
}

int themis_preload_core_lock(int fd, int command, struct flock *lock)
{
    const int waits = command == F_SETLKW || command == F_OFD_SETLKW;
    themis_preload_open_t *open;
    range_t range = {0, 0};
    long pause = shortest_wait;

    if (lock->l_type != F_RDLCK && lock->l_type != F_WRLCK && lock->l_type != F_UNLCK)
        return themis_preload_result(EINVAL);
    for (;; nap(&pause)) {
        if (themis_preload_call_begin(fd, &open) != 0)
            return -1;
        const int error = lock_try(open, fd, command, lock, &range);
        if (themis_preload_call_end_with(open, error) == 0 || error != EAGAIN || !waits)
            return error ? -1 : 0;
    }
}

/* --- flock ---------------------------------------------------------------------------------------------------------
 */

int themis_preload_core_flock(int fd, int operation)
{
    const int kind = operation & ~LOCK_NB, wait = !(operation & LOCK_NB);
    const short type = kind == LOCK_SH ? F_RDLCK : kind == LOCK_EX ? F_WRLCK : F_UNLCK;
    const range_t range = {THEMIS_POSIX_LOCKS_FLOCK_BYTE, 1};
    themis_preload_open_t *open;
    long pause = shortest_wait;

    if (kind != LOCK_SH && kind != LOCK_EX && kind != LOCK_UN)
        return themis_preload_result(EINVAL);
    for (;; nap(&pause)) {
        if (themis_preload_call_begin(fd, &open) != 0)
            return -1;
        const int error = open->file ? lock_set(open->file, type, &range) : EBADF;
        if (themis_preload_call_end_with(open, error) == 0 || error != EAGAIN || !wait)
            return error ? -1 : 0;
    }
}
