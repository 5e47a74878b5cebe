/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/copy_pool.h"
#include <stdlib.h>
#include "tools/command.h"

typedef struct task {
    themis_tools_location_t from, to; /* owned */
    themis_tools_location_info_t attributes;
} task_t;

struct themis_tools_copy_pool {
    themis_tools_copying_t *copying;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    task_t *next; /* that no thread has taken yet */
    int ended, result, threads;
    pthread_t thread[];
};

static int task_run(themis_tools_copying_t *copying, task_t *task)
{
    int result = themis_tools_copy_file(copying, &task->from, &task->to, &task->attributes);

    themis_tools_location_free(&task->from);
    themis_tools_location_free(&task->to);
    return result;
}

static void *pool_main(void *arg)
{
    themis_tools_copy_pool_t *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (pool->next || !pool->ended) {
        if (!pool->next) {
            pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        task_t task = *pool->next;
        pool->next = NULL;
        pthread_cond_broadcast(&pool->changed);
        pthread_mutex_unlock(&pool->lock);
        int result = task_run(pool->copying, &task);
        pthread_mutex_lock(&pool->lock);
        pool->result |= result;
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

themis_tools_copy_pool_t *themis_tools_copy_pool_create(themis_tools_copying_t *copying)
{
    themis_tools_copy_pool_t *pool = calloc(1, sizeof *pool + (size_t)copying->jobs * sizeof *pool->thread);

    if (!pool) {
        themis_tools_error("out of memory");
        return NULL;
    }
    pool->copying = copying;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    while (copying->jobs > 1 && pool->threads < copying->jobs &&
           pthread_create(&pool->thread[pool->threads], NULL, pool_main, pool) == 0)
        pool->threads++;
    return pool;
}

void themis_tools_copy_pool_add(themis_tools_copy_pool_t *pool, themis_tools_location_t *from,
                                themis_tools_location_t *to, const themis_tools_location_info_t *attributes)
{
    task_t task = {*from, *to, *attributes};

    *from = *to = (themis_tools_location_t){0};
    if (pool->threads == 0) {
        pool->result |= task_run(pool->copying, &task);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->next = &task;
    pthread_cond_broadcast(&pool->changed);
    while (pool->next == &task)
        pthread_cond_wait(&pool->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

int themis_tools_copy_pool_end(themis_tools_copy_pool_t *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->ended = 1;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    while (pool->threads > 0)
        pthread_join(pool->thread[--pool->threads], NULL);
    int result = pool->result;
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    free(pool);
    return result;
}
