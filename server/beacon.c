/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/beacon.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "util/log.h"

static_assert(THEMIS_UTIL_DIRECT_DEAD == FUTEX_OWNER_DIED, "the kernel sets this bit");

/* What the kernel reads at the end of the thread. In shared memory, since under pressure it takes private memory of a
 * process that it kills before that. */
typedef struct robust {
    struct robust_list_head head;
    struct robust_list entry;
} robust_t;

struct themis_server_beacon {
    int fd; /* of the page */
    size_t bytes;
    themis_util_direct_beacon_t *page; /* mapped writable, before writing was sealed */
    robust_t *robust;
    pthread_t thread;
    int started; /* 1: the thread is to be joined */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int state; /* of the thread: 0 starting, 1 the word is set, -1 it failed */
    int ended; /* 1: the thread is to end */
};

static void *map_shared(size_t bytes, int fd)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

    return mapped == MAP_FAILED ? NULL : mapped;
}

/* The list has one entry, and the word lies `futex_offset` bytes after it. The C library's list for this thread, which
 * uses none of its robust mutexes, is replaced. */
static int robust_register(const themis_server_beacon_t *beacon)
{
    robust_t *robust = beacon->robust;

    robust->entry.next = &robust->head.list;
    robust->head.list.next = &robust->entry;
    robust->head.list_op_pending = NULL;
    robust->head.futex_offset = (long)((uintptr_t)beacon->page - (uintptr_t)&robust->entry);
    return syscall(SYS_set_robust_list, &robust->head, sizeof robust->head) == 0 ? 1 : -1;
}

static void *beacon_main(void *arg)
{
    themis_server_beacon_t *beacon = arg;
    int state = robust_register(beacon);

    if (state > 0)
        atomic_store(&beacon->page->word, (uint32_t)syscall(SYS_gettid));
    else
        themis_warn("set_robust_list: %s: no direct access", strerror(errno));
    pthread_mutex_lock(&beacon->lock);
    beacon->state = state;
    pthread_cond_broadcast(&beacon->changed);
    while (!beacon->ended)
        pthread_cond_wait(&beacon->changed, &beacon->lock);
    pthread_mutex_unlock(&beacon->lock);
    return NULL;
}

static themis_status_t page_create(themis_server_beacon_t *beacon)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

    beacon->bytes = (size_t)sysconf(_SC_PAGESIZE);
    beacon->fd = memfd_create("themis-beacon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (beacon->fd >= 0 && ftruncate(beacon->fd, (off_t)beacon->bytes) == 0)
        beacon->page = map_shared(beacon->bytes, beacon->fd);
    if (beacon->page && fcntl(beacon->fd, F_ADD_SEALS, seals) == 0)
        return THEMIS_OK;
    themis_warn("memory that clients can read: %s: no direct access", strerror(errno));
    return THEMIS_UNSUPPORTED;
}

static themis_status_t thread_start(themis_server_beacon_t *beacon)
{
    beacon->robust = map_shared(sizeof *beacon->robust, -1);
    int cause = beacon->robust ? pthread_create(&beacon->thread, NULL, beacon_main, beacon) : ENOMEM;
    if (cause) {
        themis_warn("a thread that clients see the end of: %s: no direct access", strerror(cause));
        return THEMIS_UNSUPPORTED;
    }
    beacon->started = 1;
    pthread_mutex_lock(&beacon->lock);
    while (beacon->state == 0)
        pthread_cond_wait(&beacon->changed, &beacon->lock);
    pthread_mutex_unlock(&beacon->lock);
    return beacon->state > 0 ? THEMIS_OK : THEMIS_UNSUPPORTED;
}

themis_status_t themis_server_beacon_create(themis_server_beacon_t **beacon)
{
    themis_server_beacon_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->fd = -1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    themis_status_t status = page_create(made);
    if (status == THEMIS_OK)
        status = thread_start(made);
    if (status == THEMIS_OK)
        *beacon = made;
    else
        themis_server_beacon_destroy(made);
    return status;
}

static void thread_end(themis_server_beacon_t *beacon)
{
    atomic_fetch_or(&beacon->page->word, THEMIS_UTIL_DIRECT_DEAD);
    pthread_mutex_lock(&beacon->lock);
    beacon->ended = 1;
    pthread_cond_broadcast(&beacon->changed);
    pthread_mutex_unlock(&beacon->lock);
    pthread_join(beacon->thread, NULL);
}

void themis_server_beacon_destroy(themis_server_beacon_t *beacon)
{
    if (!beacon)
        return;
    if (beacon->started)
        thread_end(beacon);
    if (beacon->robust)
        munmap(beacon->robust, sizeof *beacon->robust);
    if (beacon->page)
        munmap(beacon->page, beacon->bytes);
    if (beacon->fd >= 0)
        close(beacon->fd);
    pthread_cond_destroy(&beacon->changed);
    pthread_mutex_destroy(&beacon->lock);
    free(beacon);
}

int themis_server_beacon_descriptor(const themis_server_beacon_t *beacon, uint64_t *bytes)
{
    *bytes = beacon->bytes;
    return beacon->fd;
}
