/* SPDX-License-Identifier: BSD-3-Clause */
/* Time of a decision (next and done) with many active jobs, by draw. Usage: sched JOBS REPEATS; prints JSON rows. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "sched/sched.h"

enum { DEPTH = 2, DECISIONS = 2000000 };

typedef struct bed {
    themis_sched_t *sched;
    themis_sched_job_table_t *table;
    themis_sched_item_t *items;
} bed_t;

static int add_job(bed_t *bed, int number, uint64_t now)
{
    themis_sched_job_identity_t identity = {.uid = (uint32_t)(number / 7), .gid = (uint32_t)(number / 70)};
    themis_sched_job_t *job;
    int fresh, changed;

    snprintf(identity.id, sizeof identity.id, "%d", number);
    identity.nodes = 1 + (uint32_t)number % 64;
    if (themis_sched_job_table_join(bed->table, &identity, now, &job, &fresh, &changed) != THEMIS_OK ||
        themis_sched_add_job(bed->sched, job, now) != THEMIS_OK)
        return -1;
    for (int k = 0; k < DEPTH; k++) {
        themis_sched_item_t *item = &bed->items[number * DEPTH + k];
        item->bytes = UINT64_C(4096) << (number % 9);
        themis_sched_enqueue(bed->sched, job, item, now);
    }
    return 0;
}

static int set_up(bed_t *bed, const themis_sched_options_t *options, int jobs)
{
    char error[200];

    *bed = (bed_t){.items = calloc((size_t)jobs * DEPTH, sizeof *bed->items)};
    if (bed->items == NULL || themis_sched_job_table_create(&bed->table) != THEMIS_OK ||
        themis_sched_create(options, 1, error, sizeof error, &bed->sched) != THEMIS_OK)
        return -1;
    for (int i = 0; i < jobs; i++)
        if (add_job(bed, i, 1) != 0)
            return -1;
    themis_sched_refresh(bed->sched, 1);
    return 0;
}

/* Of this process, so that other processes affect it only through the cache. */
static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* A request that ends is sent again immediately, so that every job stays active. */
static double decide(bed_t *bed, int decisions)
{
    double start = cpu_ns();
    uint64_t now = 2, slice, wake;

    for (int i = 0; i < decisions; i++) {
        themis_sched_item_t *item = themis_sched_next(bed->sched, now, &slice, &wake);
        item->bytes -= slice;
        now += 100;
        themis_sched_done(bed->sched, item, slice, 100, now);
        if (item->bytes == 0) {
            item->bytes = item->total;
            themis_sched_enqueue(bed->sched, item->job, item, now);
        }
    }
    return (cpu_ns() - start) / decisions;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char *const draws[] = {"stride", "statistical"};
    static const char *const policies[] = {"size-fair", "group-then-user-then-size-fair"};
    int jobs = argc > 1 ? atoi(argv[1]) : 10000, repeats = argc > 2 ? atoi(argv[2]) : 5;
    double ns[64];

    if (jobs < 1 || repeats < 1 || repeats > 64) {
        fprintf(stderr, "usage: sched JOBS REPEATS (at most 64)\n");
        return 2;
    }
    printf("[");
    for (int i = 0; i < 4; i++) {
        themis_sched_options_t options;
        bed_t bed;
        themis_sched_options_init(&options);
        options.policy = policies[i / 2];
        options.draw = draws[i % 2];
        if (set_up(&bed, &options, jobs) != 0)
            return 1;
        decide(&bed, DECISIONS / 10);
        for (int k = 0; k < repeats; k++)
            ns[k] = decide(&bed, DECISIONS);
        qsort(ns, (size_t)repeats, sizeof *ns, compare);
        printf(
            "%s{\"policy\": \"%s\", \"draw\": \"%s\", \"active_jobs\": %d, \"decision_ns\": %.0f, \"worst_ns\": %.0f}",
            i == 0 ? "" : ",\n ", policies[i / 2], draws[i % 2], jobs, ns[repeats / 2], ns[repeats - 1]);
        themis_sched_destroy(bed.sched);
        themis_sched_job_table_destroy(bed.table);
        free(bed.items);
    }
    printf("]\n");
    return 0;
}
