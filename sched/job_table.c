/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/job_table.h"
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include <uthash.h>
#include "util/log.h"

typedef struct entry {
    _Alignas(64) themis_sched_job_t job; /* every request uses its first fields */
    UT_hash_handle hh;
} entry_t;

struct themis_sched_job_table {
    entry_t *entries; /* uthash, which keeps the order of joining */
    uint64_t joined;  /* jobs so far */
};

static entry_t *entry_of(themis_sched_job_t *job)
{
    return (entry_t *)((char *)job - offsetof(entry_t, job));
}

themis_status_t themis_sched_job_table_create(themis_sched_job_table_t **table)
{
    themis_sched_job_table_t *made = calloc(1, sizeof *made);

    if (made == NULL) {
        themis_error("job table: out of memory");
        return THEMIS_NO_MEMORY;
    }
    *table = made;
    return THEMIS_OK;
}

void themis_sched_job_table_destroy(themis_sched_job_table_t *table)
{
    entry_t *entry, *next;

    if (table == NULL)
        return;
    HASH_ITER(hh, table->entries, entry, next)
    {
        HASH_DEL(table->entries, entry);
        free(entry);
    }
    free(table);
}

static themis_sched_job_t *find_identity(themis_sched_job_table_t *table, const themis_sched_job_identity_t *identity)
{
    entry_t *entry;

    HASH_FIND(hh, table->entries, themis_sched_job_key(identity), themis_sched_job_key_bytes(identity), entry);
    return entry == NULL ? NULL : &entry->job;
}

themis_sched_job_t *themis_sched_job_table_find(themis_sched_job_table_t *table, const char *id, uint32_t uid)
{
    themis_sched_job_identity_t identity = {.uid = uid};

    memcpy(identity.id, id, strnlen(id, sizeof identity.id - 1));
    return find_identity(table, &identity);
}

static uint32_t at_least_one(uint32_t value)
{
    return value == 0 ? 1 : value;
}

static themis_sched_job_t *insert_job(themis_sched_job_table_t *table, const themis_sched_job_identity_t *identity)
{
    entry_t *entry = aligned_alloc(64, sizeof *entry);

    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof *entry);
    themis_sched_job_identity_t *copy = &entry->job.identity;
    *copy = *identity;
    copy->id[sizeof copy->id - 1] = '\0';
    copy->nodes = at_least_one(identity->nodes);
    copy->priority = at_least_one(identity->priority);
    HASH_ADD_KEYPTR(hh, table->entries, themis_sched_job_key(copy), themis_sched_job_key_bytes(copy), entry);
    if (entry->hh.tbl == NULL) {
        free(entry);
        return NULL;
    }
    entry->job.number = ++table->joined;
    return &entry->job;
}

/* Returns 1 if that has changed the value. */
static int raise_value(uint32_t *value, uint32_t named)
{
    if (named <= *value)
        return 0;
    *value = named;
    return 1;
}

int themis_sched_job_merge_identity(themis_sched_job_t *job, const themis_sched_job_identity_t *identity)
{
    int differs = raise_value(&job->identity.nodes, identity->nodes);

    return raise_value(&job->identity.priority, identity->priority) || differs;
}

themis_status_t themis_sched_job_table_join(themis_sched_job_table_t *table,
                                            const themis_sched_job_identity_t *identity, uint64_t now,
                                            themis_sched_job_t **job, int *fresh, int *changed)
{
    themis_sched_job_t *found = find_identity(table, identity);
    int added = found == NULL;

    if (added && (found = insert_job(table, identity)) == NULL) {
        themis_error("job table: out of memory");
        return THEMIS_NO_MEMORY;
    }
    int merged = themis_sched_job_merge_identity(found, identity);
    *fresh = added;
    *changed = !added && (merged || !found->active);
    found->active = 1;
    found->clients++;
    found->last_heard = now;
    *job = found;
    return THEMIS_OK;
}

void themis_sched_job_table_leave(themis_sched_job_table_t *table, themis_sched_job_t *job, uint64_t now)
{
    if (job->clients > 0)
        job->clients--;
    job->last_heard = now;
}

void themis_sched_job_table_touch(themis_sched_job_table_t *table, themis_sched_job_t *job, uint64_t now)
{
    job->active = 1;
    job->last_heard = now;
}

static int is_gone(const themis_sched_job_t *job, uint64_t now, uint64_t silence)
{
    int silent = now > job->last_heard && now - job->last_heard >= silence;

    return silent || (job->clients == 0 && job->queued == 0);
}

void themis_sched_job_table_expire(themis_sched_job_table_t *table, uint64_t now, uint64_t silence,
                                   void (*expired)(void *arg, themis_sched_job_t *job), void *arg)
{
    entry_t *entry, *next;

    HASH_ITER(hh, table->entries, entry, next)
    {
        if (!entry->job.active || !is_gone(&entry->job, now, silence))
            continue;
        entry->job.active = 0;
        if (expired != NULL)
            expired(arg, &entry->job);
    }
}

void themis_sched_job_table_remove(themis_sched_job_table_t *table, themis_sched_job_t *job)
{
    entry_t *entry = entry_of(job);

    HASH_DEL(table->entries, entry);
    free(entry);
}

themis_sched_job_t *themis_sched_job_table_first(themis_sched_job_table_t *table)
{
    return table->entries == NULL ? NULL : &table->entries->job;
}

themis_sched_job_t *themis_sched_job_table_next(themis_sched_job_table_t *table, themis_sched_job_t *job)
{
    entry_t *next = entry_of(job)->hh.next;

    return next == NULL ? NULL : &next->job;
}

uint32_t themis_sched_job_table_count(const themis_sched_job_table_t *table)
{
    return HASH_COUNT(table->entries);
}

void themis_sched_histogram_add(themis_sched_histogram_t *histogram, uint64_t value)
{
    int bucket = value < 2 ? 0 : 63 - __builtin_clzll(value);

    if (bucket >= THEMIS_SCHED_HISTOGRAM_BUCKETS)
        bucket = THEMIS_SCHED_HISTOGRAM_BUCKETS - 1;
    histogram->counts[bucket]++;
}

uint64_t themis_sched_histogram_count(const themis_sched_histogram_t *histogram)
{
    uint64_t count = 0;

    for (int k = 0; k < THEMIS_SCHED_HISTOGRAM_BUCKETS; k++)
        count += histogram->counts[k];
    return count;
}

uint64_t themis_sched_histogram_quantile(const themis_sched_histogram_t *histogram, double q)
{
    uint64_t count = themis_sched_histogram_count(histogram), seen = 0;
    double wanted = q * (double)count;

    if (count == 0)
        return 0;
    for (int k = 0; k < THEMIS_SCHED_HISTOGRAM_BUCKETS; k++) {
        seen += histogram->counts[k];
        if ((double)seen >= wanted)
            return UINT64_C(2) << k;
    }
    return UINT64_C(1) << THEMIS_SCHED_HISTOGRAM_BUCKETS;
}
