/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutex is taken after ROMIO's lock, which a thread may hold when it flushes and releases when it moves data. */
#include "ad_themis_cache.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis_file.h"
#include "ad_themis_hints.h"
#include "themis/cache.h"

struct ADIOI_THEMIS_Cache {
    pthread_mutex_t lock; /* a cache is for one thread at a time */
    themis_cache_t *cache;
};

static ADIOI_THEMIS_Cache *cache_make(ADIO_File fd)
{
    static const themis_cache_options_t options = {.write_bytes = 2 << 20, .read_bytes = 2 << 20, .small = 64 << 10};
    ADIOI_THEMIS_Cache *made = calloc(1, sizeof *made);

    if (!made || themis_cache_create(ADIOI_THEMIS_file(fd)->handle, &options, &made->cache) != THEMIS_OK) {
        free(made);
        return NULL;
    }
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

int ADIOI_THEMIS_Cache_asked(ADIO_File fd)
{
    const char *hint = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_cache);

    return hint && strcmp(hint, "on") == 0;
}

int ADIOI_THEMIS_Cache_wanted(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    /* A program that uses the shared file pointer writes where another process reads next. */
    if (fd->atomicity || fd->shared_fp_fd != ADIO_FILE_NULL || !ADIOI_THEMIS_Cache_asked(fd))
        return 0;
    if (!file->cache)
        file->cache = cache_make(fd); /* without memory for it the access goes to the servers */
    return file->cache != NULL;
}

themis_status_t ADIOI_THEMIS_Cache_transfer(ADIO_File fd, themis_direction_t direction, const themis_list_t *list,
                                            size_t *done)
{
    ADIOI_THEMIS_Cache *cache = ADIOI_THEMIS_file(fd)->cache;

    pthread_mutex_lock(&cache->lock);
    themis_status_t status = direction == THEMIS_WRITE ? themis_cache_write(cache->cache, list, done)
                                                       : themis_cache_read(cache->cache, list, done);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

themis_status_t ADIOI_THEMIS_Cache_flush(ADIO_File fd)
{
    ADIOI_THEMIS_Cache *cache = ADIOI_THEMIS_file(fd)->cache;

    if (!cache)
        return THEMIS_OK;
    pthread_mutex_lock(&cache->lock);
    themis_cache_invalidate(cache->cache);
    themis_status_t status = themis_cache_flush(cache->cache);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

themis_status_t ADIOI_THEMIS_Cache_end(ADIO_File fd)
{
    ADIOI_THEMIS_Cache *cache = ADIOI_THEMIS_file(fd)->cache;

    if (!cache)
        return THEMIS_OK;
    themis_status_t status = themis_cache_destroy(cache->cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
    ADIOI_THEMIS_file(fd)->cache = NULL;
    return status;
}
