/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/filesystem.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include <utlist.h>
#include "client/session.h"
#include "posix/file.h"
#include "posix/locks.h"
#include "util/clock.h"

/* Another process must not hide files under the same names. */
static uint64_t instance_choose(void)
{
    uint64_t instance;

    if (getrandom(&instance, sizeof instance, GRND_NONBLOCK) != (ssize_t)sizeof instance)
        instance = themis_util_clock_wall() ^ (uint64_t)getpid() << 48;
    return instance;
}

int themis_posix_create(themis_t *session, themis_posix_t **result)
{
    themis_posix_t *filesystem = calloc(1, sizeof *filesystem);

    if (!filesystem || themis_posix_tree_init(&filesystem->tree) != THEMIS_OK) {
        free(filesystem);
        return ENOMEM;
    }
    filesystem->session = session;
    if (session) /* test_claim has none */
        session->keeps_links = 1;
    filesystem->uid = geteuid();
    filesystem->instance = instance_choose();
    pthread_mutex_init(&filesystem->lock, NULL);
    pthread_cond_init(&filesystem->released, NULL);
    *result = filesystem;
    return 0;
}

void themis_posix_destroy(themis_posix_t *filesystem)
{
    themis_posix_node_t *node;

    if (!filesystem)
        return;
    DL_FOREACH(filesystem->tree.all, node)
    {
        themis_posix_locks_free(node);
    }
    themis_posix_files_close(filesystem);
    themis_posix_tree_free(&filesystem->tree);
    pthread_cond_destroy(&filesystem->released);
    pthread_mutex_destroy(&filesystem->lock);
    free(filesystem);
}

void themis_posix_wake(themis_posix_t *filesystem)
{
    pthread_mutex_lock(&filesystem->lock);
    pthread_cond_broadcast(&filesystem->released);
    pthread_mutex_unlock(&filesystem->lock);
}

themis_posix_node_t *themis_posix_root(themis_posix_t *filesystem)
{
    return filesystem->tree.root;
}

void themis_posix_acquire(themis_posix_t *filesystem, themis_posix_node_t *node)
{
    pthread_mutex_lock(&filesystem->lock);
    node->references++;
    pthread_mutex_unlock(&filesystem->lock);
}

void themis_posix_release(themis_posix_t *filesystem, themis_posix_node_t *node, uint64_t count)
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_tree_release(&filesystem->tree, node, count);
    pthread_mutex_unlock(&filesystem->lock);
}
