/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/linear_program.h"
#include "config.h"

uint64_t themis_persched_program_size(uint32_t lanes, uint32_t instances)
{
    return (uint64_t)2 * instances * (lanes + 1);
}

#if THEMIS_GLPK
#include <glpk.h>
#include <math.h>
#include <stdlib.h>

/* An instance begins or ends to compute. */
typedef struct event {
    double time, tick; /* in [0, period); the same, rounded, so that equal times are equal */
    uint32_t lane, instance, ends;
    uint32_t rank; /* among events of equal time; equal for those of one lane, which keep their order */
} event_t;

/* Where the events of an instance are in their order. */
typedef struct place {
    uint32_t begin, end;
} place_t;

/*
 * Columns of the matrix: first, for each event, the time until the next one; then, for each instance of each lane and
 * each interval in which it may do I/O, the bytes that it moves, in seconds at full bandwidth.
 */
typedef struct program {
    const themis_persched_tasks_t *tasks;
    const themis_persched_pattern_t *pattern;
    double bandwidth;
    uint32_t events, instances, seed;
    event_t *event;
    uint32_t *first;  /* [lanes] index of its first instance among all */
    place_t *place;   /* [instances] */
    uint32_t bytes;   /* columns of bytes */
    size_t computing; /* intervals in which instances compute, of all together */
    glp_prob *lp;
    int entries; /* of the matrix */
    int *row, *column;
    double *value;
} program_t;

static int event_compare(const void *a, const void *b)
{
    const event_t *x = a, *y = b;

    if (x->tick != y->tick)
        return x->tick < y->tick ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->lane != y->lane ? (x->lane < y->lane ? -1 : 1) : x->ends < y->ends ? -1 : 1;
}

static event_t event_make(const program_t *p, double time, uint32_t lane, uint32_t instance, uint32_t ends)
{
    uint32_t mixed = (lane + 1) * UINT32_C(2654435761) ^ p->seed * UINT32_C(2246822519);

    mixed = (mixed ^ mixed >> 15) * UINT32_C(3266489917);
    return (event_t){time, floor(time / p->pattern->period * 1e7), lane, instance, ends, mixed ^ mixed >> 13};
}

static void events_order(program_t *p)
{
    uint32_t n = 0, all = 0;

    for (uint32_t k = 0; k < p->pattern->lanes; k++) {
        p->first[k] = all;
        for (uint32_t i = 0; i < p->pattern->lane[k].instances; i++, all++) {
            const themis_persched_instance_t *instance = &p->pattern->lane[k].instance[i];

            p->event[n++] = event_make(p, instance->compute_begin, k, i, 0);
            p->event[n++] = event_make(p, fmod(instance->compute_end, p->pattern->period), k, i, 1);
        }
    }
    qsort(p->event, n, sizeof *p->event, event_compare);
    for (uint32_t e = 0; e < n; e++) {
        place_t *place = &p->place[p->first[p->event[e].lane] + p->event[e].instance];

        *(p->event[e].ends ? &place->end : &place->begin) = e;
    }
}

/* The interval after the last one in which an instance may do I/O: where the next one begins to compute. */
static uint32_t io_end(const program_t *p, uint32_t lane, uint32_t instance)
{
    return p->place[p->first[lane] + (instance + 1) % p->pattern->lane[lane].instances].begin;
}

static uint32_t interval_next(const program_t *p, uint32_t interval)
{
    return (interval + 1) % p->events;
}

static void intervals_count(program_t *p)
{
    for (uint32_t k = 0; k < p->pattern->lanes; k++)
        for (uint32_t i = 0; i < p->pattern->lane[k].instances; i++) {
            const place_t *place = &p->place[p->first[k] + i];

            p->bytes += (io_end(p, k, i) + p->events - place->end) % p->events;
            p->computing += (place->end + p->events - place->begin) % p->events;
        }
}

static void entry_add(program_t *p, int row, int column, double value)
{
    p->entries++;
    p->row[p->entries] = row;
    p->column[p->entries] = column;
    p->value[p->entries] = value;
}

/*
 * Rows: one for each interval (all bytes fit into B), one for each instance's computing, one for its volume, one for
 * each column of bytes (they fit into the application's rate).
 */
static void instance_add(program_t *p, uint32_t k, uint32_t i, int *column)
{
    const themis_persched_task_t *task = &p->tasks->task[k];
    uint32_t index = p->first[k] + i;
    int compute_row = (int)(p->events + index + 1), volume_row = (int)(p->events + p->instances + index + 1);
    int rate_rows = (int)(p->events + 2 * p->instances), first_bytes = (int)p->events;

    glp_set_row_bnds(p->lp, compute_row, GLP_FX, task->compute, task->compute);
    for (uint32_t j = p->place[index].begin; j != p->place[index].end; j = interval_next(p, j))
        entry_add(p, compute_row, (int)j + 1, 1);
    glp_set_row_bnds(p->lp, volume_row, GLP_FX, task->reserve / p->bandwidth, task->reserve / p->bandwidth);
    for (uint32_t j = p->place[index].end; j != io_end(p, k, i); j = interval_next(p, j)) {
        int bytes = first_bytes + ++*column, rate_row = rate_rows + *column;

        glp_set_col_bnds(p->lp, bytes, GLP_LO, 0, 0);
        entry_add(p, volume_row, bytes, 1);
        entry_add(p, (int)j + 1, bytes, 1);
        glp_set_row_bnds(p->lp, rate_row, GLP_UP, 0, 0);
        entry_add(p, rate_row, bytes, 1);
        entry_add(p, rate_row, (int)j + 1, -task->rate / p->bandwidth);
    }
}

static void program_build(program_t *p)
{
    int column = 0;

    p->lp = glp_create_prob();
    glp_set_obj_dir(p->lp, GLP_MIN);
    glp_add_rows(p->lp, (int)(p->events + 2 * p->instances + p->bytes));
    glp_add_cols(p->lp, (int)(p->events + p->bytes));
    for (uint32_t j = 0; j < p->events; j++) {
        glp_set_col_bnds(p->lp, (int)j + 1, GLP_LO, 0, 0);
        glp_set_obj_coef(p->lp, (int)j + 1, 1);
        glp_set_row_bnds(p->lp, (int)j + 1, GLP_UP, 0, 0);
        entry_add(p, (int)j + 1, (int)j + 1, -1);
    }
    for (uint32_t k = 0; k < p->pattern->lanes; k++)
        for (uint32_t i = 0; i < p->pattern->lane[k].instances; i++)
            instance_add(p, k, i, &column);
    glp_load_matrix(p->lp, p->entries, p->row, p->column, p->value);
}

static themis_status_t program_solve(program_t *p)
{
    glp_smcp parameters;

    glp_init_smcp(&parameters);
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.presolve = GLP_ON;
    parameters.it_lim = 40000;
    if (glp_simplex(p->lp, &parameters) != 0 || glp_get_status(p->lp) != GLP_OPT)
        return THEMIS_RANGE;
    return THEMIS_OK;
}

/* The windows of an instance; `begin` [events + 1] are the times of the events, `column` counts the columns of bytes.
 */
static themis_status_t instance_read(const program_t *p, uint32_t k, uint32_t i, const double *begin, int *column,
                                     themis_persched_draft_t *draft)
{
    const themis_persched_task_t *task = &p->tasks->task[k];
    const place_t *place = &p->place[p->first[k] + i];
    double period = begin[p->events], lap = place->end < place->begin ? period : 0;
    themis_status_t status = themis_persched_draft_instance(draft, k, begin[place->begin]);

    for (uint32_t j = place->end; j != io_end(p, k, i) && status == THEMIS_OK; j = interval_next(p, j)) {
        double bytes = glp_get_col_prim(p->lp, (int)p->events + ++*column) * p->bandwidth;
        double length = begin[j + 1] - begin[j];

        if (bytes > 1e-9 * task->reserve && length > 0)
            status = themis_persched_draft_window(draft, begin[j] + lap, begin[j + 1] + lap,
                                                  fmin(bytes / length, task->rate));
        lap += interval_next(p, j) == 0 ? period : 0;
    }
    return status;
}

static themis_status_t program_read(const program_t *p, themis_persched_pattern_t **shorter)
{
    double *begin = calloc(p->events + 1, sizeof *begin);
    themis_persched_draft_t draft = {0};
    themis_status_t status = begin ? THEMIS_OK : THEMIS_NO_MEMORY;
    int column = 0;

    for (uint32_t j = 0; j < p->events && status == THEMIS_OK; j++)
        begin[j + 1] = begin[j] + fmax(0, glp_get_col_prim(p->lp, (int)j + 1));
    for (uint32_t k = 0; k < p->pattern->lanes; k++)
        for (uint32_t i = 0; i < p->pattern->lane[k].instances && status == THEMIS_OK; i++)
            status = instance_read(p, k, i, begin, &column, &draft);
    if (status == THEMIS_OK)
        status = themis_persched_pattern_make(p->tasks, &draft, begin[p->events], shorter);
    themis_persched_draft_release(&draft);
    free(begin);
    return status;
}

static themis_status_t program_allocate(program_t *p)
{
    for (uint32_t k = 0; k < p->pattern->lanes; k++)
        p->instances += p->pattern->lane[k].instances;
    p->events = 2 * p->instances;
    p->event = calloc(p->events, sizeof *p->event);
    p->first = calloc(p->pattern->lanes, sizeof *p->first);
    p->place = calloc(p->instances, sizeof *p->place);
    return p->event && p->first && p->place ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static themis_status_t matrix_allocate(program_t *p)
{
    size_t entries = 1 + p->events + 4 * (size_t)p->bytes + p->computing;

    p->row = calloc(entries, sizeof *p->row);
    p->column = calloc(entries, sizeof *p->column);
    p->value = calloc(entries, sizeof *p->value);
    return p->row && p->column && p->value ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t themis_persched_program_shorten(const themis_persched_tasks_t *tasks, double bandwidth,
                                                const themis_persched_pattern_t *pattern, uint32_t seed,
                                                themis_persched_pattern_t **shorter)
{
    program_t p = {.tasks = tasks, .pattern = pattern, .bandwidth = bandwidth, .seed = seed};
    themis_status_t status = program_allocate(&p);

    if (status == THEMIS_OK) {
        events_order(&p);
        intervals_count(&p);
        status = matrix_allocate(&p);
    }
    if (status == THEMIS_OK) {
        program_build(&p);
        status = program_solve(&p);
    }
    if (status == THEMIS_OK)
        status = program_read(&p, shorter);
    if (p.lp)
        glp_delete_prob(p.lp);
    free(p.event);
    free(p.first);
    free(p.place);
    free(p.row);
    free(p.column);
    free(p.value);
    return status;
}
#else
themis_status_t themis_persched_program_shorten(const themis_persched_tasks_t *tasks, double bandwidth,
                                                const themis_persched_pattern_t *pattern, uint32_t seed,
                                                themis_persched_pattern_t **shorter)
{
    return THEMIS_UNSUPPORTED;
}
#endif
