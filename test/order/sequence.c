/* SPDX-License-Identifier: BSD-3-Clause */
#include "sequence.h"
#include <string.h>

enum { MAX_PIECES = 512, MAX_BLOCK = 64 << 10, PENDING = 6, PAGE = 4096 };

/* How the ranks' places of a step lie to one another. */
typedef enum arrangement { ANYWHERE, SAME, SIDE_BY_SIDE, ARRANGEMENTS } arrangement_t;

typedef struct maker {
    order_sequence_t *sequence;
    uint64_t state;
    int local;          /* no more than ROMIO's driver for local files can do */
    int64_t base, span; /* accesses begin in these bytes of the file */
    int64_t grain;      /* many places are multiples of it */
    int64_t size;       /* the file has at least so many bytes */
    int ids;            /* given to writes */
    order_view_t view[ORDER_HANDLES][ORDER_RANKS];
    int64_t pointer[ORDER_HANDLES][ORDER_RANKS];  /* individual; -1: unknown */
    int64_t shared;                               /* pointer */
    int pending[PENDING], due[PENDING], pendings; /* steps that have begun, and when they end */
} maker_t;

/* --- chance --- */

/* splitmix64 */
static uint64_t draw(maker_t *maker)
{
    uint64_t z = maker->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t below(maker_t *maker, int64_t limit)
{
    return limit > 1 ? (int64_t)(draw(maker) % (uint64_t)limit) : 0;
}

static int chance(maker_t *maker, int percent)
{
    return below(maker, 100) < percent;
}

/* 1 to `limit`, each power of two as likely. */
static int64_t some_bytes(maker_t *maker, int64_t limit)
{
    int bits = 0;
    int64_t most;

    while (((int64_t)1 << bits) < limit)
        bits++;
    most = (int64_t)1 << below(maker, bits + 1);
    return 1 + below(maker, most < limit ? most : limit);
}

/* --- steps --- */

static order_step_t *add_step(maker_t *maker, order_kind_t kind)
{
    order_sequence_t *sequence = maker->sequence;
    order_step_t *step = &sequence->step[sequence->steps++];

    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->ranks = (1u << sequence->ranks) - 1;
    if (chance(maker, 12))
        step->pauses = 1u << below(maker, sequence->ranks);
    return step;
}

static void add_end(maker_t *maker, int nth)
{
    const order_step_t *begun = &maker->sequence->step[maker->pending[nth]];

    add_step(maker, ORDER_END)->of = maker->pending[nth];
    for (int r = 0; maker->local && begun->kind == ORDER_ICOLLECTIVE && r < maker->sequence->ranks; r++)
        maker->pointer[begun->handle][r] = -1;
    maker->pendings--;
    memmove(&maker->pending[nth], &maker->pending[nth + 1], sizeof(int) * (size_t)(maker->pendings - nth));
    memmove(&maker->due[nth], &maker->due[nth + 1], sizeof(int) * (size_t)(maker->pendings - nth));
}

/* Ends what has begun through a handle (ORDER_HANDLES: any), and is of that kind (-1: any), and is due by `step`. */
static void end_pending(maker_t *maker, int handle, int kind, int step)
{
    for (int i = 0; i < maker->pendings;) {
        const order_step_t *begun = &maker->sequence->step[maker->pending[i]];

        if ((handle == ORDER_HANDLES || (int)begun->handle == handle) && (kind < 0 || (int)begun->kind == kind) &&
            maker->due[i] <= step)
            add_end(maker, i);
        else
            i++;
    }
}

static void end_all(maker_t *maker, int handle)
{
    end_pending(maker, handle, -1, ORDER_STEPS);
}

/* What must have ended before another collective call on the handle. */
static void end_collective(maker_t *maker, int handle)
{
    end_pending(maker, handle, ORDER_SPLIT, ORDER_STEPS);
    if (maker->local)
        end_pending(maker, handle, ORDER_ICOLLECTIVE, ORDER_STEPS);
}

static order_view_t contiguous_view(int64_t start)
{
    return (order_view_t){start, 1, 1};
}

static void set_view(maker_t *maker, order_handle_t handle)
{
    int ranks = maker->sequence->ranks;
    int64_t shape = below(maker, 5), block = chance(maker, 50) ? maker->grain : some_bytes(maker, MAX_BLOCK / 4);
    int64_t apart = maker->base + below(maker, maker->span / 2);
    order_step_t *step;

    end_all(maker, handle);
    step = add_step(maker, ORDER_SET_VIEW);
    step->handle = handle;
    for (int r = 0; r < ranks; r++) {
        order_view_t *view = &step->place[r].view;

        if (shape == 0 || handle == ORDER_SHARING)
            *view = contiguous_view(chance(maker, 50) && handle != ORDER_SHARING ? 0 : maker->base);
        else if (shape == 1)
            *view = (order_view_t){apart, block, block * (1 + ranks)};
        else if (shape == 2)
            *view = (order_view_t){maker->base + below(maker, maker->span), some_bytes(maker, 4096), 8192};
        else
            *view = (order_view_t){apart + block * r, block, block * ranks};
        maker->view[handle][r] = *view;
        maker->pointer[handle][r] = 0;
    }
    if (handle == ORDER_SHARING)
        maker->shared = 0;
}

/* The view's data that begins at or before a byte of the file. */
static int64_t position_at(const order_view_t *view, int64_t offset)
{
    int64_t from = offset > view->start ? offset - view->start : 0, in = from % view->stride;

    return from / view->stride * view->block + (in < view->block ? in : view->block - 1);
}

static int64_t most_bytes(const maker_t *maker, const order_view_t *view)
{
    int64_t most = maker->span * view->block / view->stride;

    if (view->stride != view->block && most > MAX_PIECES * view->block)
        most = MAX_PIECES * view->block;
    if (most > ORDER_MAX_BYTES)
        most = ORDER_MAX_BYTES;
    return most > 1 ? most : 1;
}

/* The same numbers of bytes for several ranks lie on common borders. */
typedef struct layout {
    arrangement_t arrangement;
    int64_t bytes, offset, shift;
} layout_t;

static layout_t draw_layout(maker_t *maker)
{
    layout_t layout = {(arrangement_t)below(maker, ARRANGEMENTS), some_bytes(maker, ORDER_MAX_BYTES), 0, 0};

    if (chance(maker, 60))
        layout.bytes = maker->grain;
    layout.offset = maker->base + below(maker, maker->span);
    if (chance(maker, 60))
        layout.offset = maker->base + below(maker, maker->span / maker->grain) * maker->grain;
    if (chance(maker, 20)) { /* a large write of whole pages */
        layout.bytes = PAGE * (ORDER_MAX_BYTES / PAGE / 2 + below(maker, ORDER_MAX_BYTES / PAGE / 2 + 1));
        layout.offset = layout.offset / PAGE * PAGE;
    }
    layout.shift = below(maker, maker->sequence->ranks);
    return layout;
}

static void choose_place(maker_t *maker, const order_step_t *step, int rank, const layout_t *layout,
                         order_place_t *place)
{
    const order_view_t *view = &maker->view[step->handle][rank];
    int64_t *pointer = &maker->pointer[step->handle][rank], most = most_bytes(maker, view), offset = layout->offset;

    place->view = *view;
    place->bytes = layout->arrangement == ANYWHERE ? some_bytes(maker, most) : layout->bytes;
    if (place->bytes > most)
        place->bytes = most;
    if (layout->arrangement == ANYWHERE)
        offset = maker->base + below(maker, maker->span);
    place->position = position_at(view, offset);
    if (layout->arrangement == SIDE_BY_SIDE && view->block == view->stride)
        place->position += (rank + layout->shift) % maker->sequence->ranks * place->bytes;
    if (chance(maker, 12))
        place->bytes = 0;
    if (step->explicit_offset)
        return;
    place->seek = *pointer < 0 || chance(maker, 70) || order_view_offset(view, *pointer) > maker->base + maker->span;
    if (!place->seek)
        place->position = *pointer;
    *pointer = place->position + place->bytes;
    if (!step->writes && order_place_end(place) > maker->size) /* a short read leaves it somewhere before */
        *pointer = -1;
}

static void number_writes(maker_t *maker, order_step_t *step)
{
    for (int r = 0; r < maker->sequence->ranks; r++)
        if (step->writes && step->ranks & 1u << r)
            step->place[r].id = maker->ids++;
}

static int can_write(const maker_t *maker)
{
    return maker->ids + maker->sequence->ranks <= ORDER_IDS;
}

static void begin_pending(maker_t *maker, const order_step_t *step)
{
    int n = maker->pendings++;

    maker->pending[n] = (int)(step - maker->sequence->step);
    maker->due[n] = maker->pending[n] + 1 + (int)below(maker, 6);
}

/* From `base` on: none ends behind them. */
static int64_t all_bytes(const maker_t *maker)
{
    return (maker->sequence->ranks + 3) * maker->span + MAX_BLOCK * (maker->sequence->ranks + 2);
}

static void add_access(maker_t *maker, order_kind_t kind)
{
    static const order_handle_t handles[] = {ORDER_MAIN,   ORDER_MAIN, ORDER_MAIN,
                                             ORDER_SECOND, ORDER_OWN,  ORDER_SHARING};
    order_handle_t handle = handles[below(maker, 6)];
    layout_t layout = draw_layout(maker);
    order_step_t *step;

    if (kind == ORDER_COLLECTIVE || kind == ORDER_ICOLLECTIVE || kind == ORDER_SPLIT)
        end_collective(maker, handle);
    if (maker->pendings == PENDING)
        add_end(maker, 0);
    step = add_step(maker, kind);
    step->handle = handle;
    step->writes = can_write(maker) && chance(maker, 55);
    step->explicit_offset = chance(maker, 60) || (maker->local && kind == ORDER_ICOLLECTIVE);
    if (kind == ORDER_ALONE || kind == ORDER_IALONE)
        step->ranks &= (unsigned)draw(maker) | 1u << below(maker, maker->sequence->ranks);
    for (int r = 0; r < maker->sequence->ranks; r++)
        if (step->ranks & 1u << r)
            choose_place(maker, step, r, &layout, &step->place[r]);
    number_writes(maker, step);
    if (order_step_begins(step))
        begin_pending(maker, step);
}

/* ORDER_ORDERED with a number of bytes for each rank, ORDER_TOGETHER with the same for all. */
static void add_shared(maker_t *maker, order_kind_t kind)
{
    int64_t most = maker->span / maker->sequence->ranks + 1, bytes = some_bytes(maker, most < 65536 ? most : 65536);
    order_step_t *step;

    if (kind == ORDER_TOGETHER)
        end_all(maker, ORDER_HANDLES);
    else
        end_collective(maker, ORDER_SHARING);
    step = add_step(maker, kind);
    step->handle = ORDER_SHARING;
    step->writes = can_write(maker) && chance(maker, 55);
    step->place[0].seek = maker->shared > maker->span || chance(maker, 30);
    if (step->place[0].seek)
        maker->shared = below(maker, maker->span);
    for (int r = 0; r < maker->sequence->ranks; r++) {
        order_place_t *place = &step->place[r];

        place->view = maker->view[ORDER_SHARING][r];
        place->position = maker->shared;
        place->bytes = kind == ORDER_TOGETHER ? bytes : below(maker, bytes + 1);
        maker->shared += place->bytes;
    }
    number_writes(maker, step);
}

static void add_message(maker_t *maker)
{
    int ranks = maker->sequence->ranks;
    order_step_t *step;

    if (ranks == 1)
        return;
    step = add_step(maker, ORDER_MESSAGE);
    step->from = (int)below(maker, ranks);
    step->to = (step->from + 1 + (int)below(maker, ranks - 1)) % ranks;
}

static void add_size(maker_t *maker, order_kind_t kind)
{
    static const order_handle_t handles[] = {ORDER_MAIN, ORDER_SECOND, ORDER_SHARING};
    order_step_t *step;

    end_all(maker, ORDER_HANDLES);
    step = add_step(maker, kind);
    step->handle = handles[below(maker, 3)];
    step->size = maker->base + below(maker, 2 * maker->span) + (maker->local ? all_bytes(maker) : 0);
    if (kind == ORDER_SET_SIZE || step->size > maker->size)
        maker->size = step->size;
}

static void add_compare(maker_t *maker)
{
    order_step_t *step;

    end_all(maker, ORDER_HANDLES);
    step = add_step(maker, ORDER_COMPARE);
    step->handle = ORDER_OWN;
    for (int r = 0; r < maker->sequence->ranks; r++) {
        step->place[r].view = contiguous_view(0);
        step->place[r].position = maker->base;
        step->place[r].bytes = 2 * maker->span;
    }
}

static void add_some_step(maker_t *maker)
{
    int64_t which = below(maker, 100);

    if (which < 24)
        add_access(maker, ORDER_COLLECTIVE);
    else if (which < 42)
        add_access(maker, ORDER_ALONE);
    else if (which < 50)
        add_access(maker, ORDER_SPLIT);
    else if (which < 60)
        add_access(maker, ORDER_ICOLLECTIVE);
    else if (which < 69)
        add_access(maker, ORDER_IALONE);
    else if (which < 73)
        add_shared(maker, ORDER_ORDERED);
    else if (which < 75)
        add_shared(maker, ORDER_TOGETHER);
    else if (which < 83)
        add_step(maker, ORDER_BARRIER);
    else if (which < 89)
        add_message(maker);
    else if (which < 94)
        set_view(maker, (order_handle_t)below(maker, ORDER_OWN));
    else if (which < 95)
        add_size(maker, ORDER_SET_SIZE);
    else if (which < 96)
        add_size(maker, ORDER_PREALLOCATE);
    else if (which < 98)
        add_step(maker, ORDER_GET_SIZE)->handle = (order_handle_t)below(maker, ORDER_HANDLES);
    else
        add_compare(maker);
}

/* Rank 0 fills all that others begin in; on local files, all that they may write. */
static void add_fill(maker_t *maker)
{
    int64_t bytes = maker->local ? all_bytes(maker) : maker->span;
    order_step_t *step = add_step(maker, ORDER_ALONE);

    step->handle = ORDER_OWN;
    step->writes = step->explicit_offset = 1;
    step->ranks = 1;
    step->place[0].view = contiguous_view(0);
    step->place[0].position = maker->base;
    step->place[0].bytes = bytes;
    number_writes(maker, step);
    add_step(maker, ORDER_BARRIER);
    maker->size = maker->base + bytes;
}

static void make_settings(maker_t *maker)
{
    static const int64_t grains[] = {1, 64, 100, 512, 4096, 4096, 10000, 65536};

    maker->grain = grains[below(maker, 8)];
    maker->span = maker->grain * (maker->sequence->ranks + below(maker, 8));
    if (maker->span > ORDER_MAX_BYTES)
        maker->span = ORDER_MAX_BYTES;
    maker->base = chance(maker, 50) ? 0 : below(maker, 2 << 20);
}

int64_t order_sequence_striping_unit(uint64_t seed)
{
    static const int64_t units[] = {0, 4096, 65536, 262144};

    return units[seed / ORDER_GROUP % 4];
}

void order_sequence_make(uint64_t seed, int ranks, int local, int max_steps, order_sequence_t *sequence)
{
    maker_t maker = {.sequence = sequence, .state = seed * 1000003, .local = local};
    int steps;

    sequence->seed = seed;
    sequence->ranks = ranks;
    sequence->steps = 0;
    make_settings(&maker);
    steps = 10 + (int)below(&maker, 40);
    for (int r = 0; r < ranks; r++) {
        maker.view[ORDER_OWN][r] = contiguous_view(0);
        maker.pointer[ORDER_OWN][r] = -1;
    }
    if (local || chance(&maker, 60))
        add_fill(&maker);
    for (int h = 0; h < ORDER_OWN; h++)
        set_view(&maker, (order_handle_t)h);
    if (max_steps > 0 && max_steps < steps)
        steps = max_steps;
    while (sequence->steps < steps) {
        add_some_step(&maker);
        end_pending(&maker, ORDER_HANDLES, -1, sequence->steps);
    }
    add_compare(&maker);
}

/* --- text --- */

static const char *const kind_names[] = {"collective",  "split",       "non-blocking collective",
                                         "ordered",     "independent", "non-blocking",
                                         "shared",      "end",         "barrier",
                                         "message",     "set_view",    "set_size",
                                         "preallocate", "get_size",    "compare"};
static const char *const handle_names[] = {"main", "second", "sharing", "own"};

static void print_place(const order_step_t *step, int rank, char *text, size_t size)
{
    const order_place_t *place = &step->place[rank];

    snprintf(text, size, ", rank %d: %lld bytes at %lld%s of the view %lld+%lld/%lld, bytes %lld to %lld of the file",
             rank, (long long)place->bytes, (long long)place->position, place->seek ? " (seek)" : "",
             (long long)place->view.start, (long long)place->view.block, (long long)place->view.stride,
             (long long)order_view_offset(&place->view, place->position), (long long)order_place_end(place));
}

void order_step_print(const order_sequence_t *sequence, int number, int rank, char *text, size_t size)
{
    const order_step_t *step = &sequence->step[number];
    int length = snprintf(text, size, "step %d: %s", number, kind_names[step->kind]);

    if (order_step_is_access(step))
        length += snprintf(text + length, size - (size_t)length, " %s%s", step->writes ? "write" : "read",
                           step->explicit_offset ? " at" : "");
    if (step->kind == ORDER_END)
        length += snprintf(text + length, size - (size_t)length, " of step %d", step->of);
    else if (step->kind == ORDER_MESSAGE)
        length += snprintf(text + length, size - (size_t)length, " from %d to %d", step->from, step->to);
    else if (step->kind == ORDER_SET_SIZE || step->kind == ORDER_PREALLOCATE)
        length += snprintf(text + length, size - (size_t)length, " %lld", (long long)step->size);
    if (step->kind != ORDER_BARRIER && step->kind != ORDER_MESSAGE && step->kind != ORDER_END)
        length += snprintf(text + length, size - (size_t)length, ", handle %s", handle_names[step->handle]);
    if (order_step_is_access(step) || step->kind == ORDER_SET_VIEW)
        print_place(step, rank, text + length, size - (size_t)length);
}

void order_sequence_print(const order_sequence_t *sequence, FILE *to)
{
    char text[400];

    for (int i = 0; i < sequence->steps; i++) {
        const order_step_t *step = &sequence->step[i];
        int each = order_step_is_access(step) || step->kind == ORDER_SET_VIEW;

        for (int r = 0; r < (each ? sequence->ranks : 1); r++)
            if (step->ranks & 1u << r) {
                order_step_print(sequence, i, r, text, sizeof text);
                fprintf(to, "%s\n", text);
            }
    }
}
