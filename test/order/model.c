/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- bytes --- */

/* Values 1 to 255 encode an id, shifted by an amount that depends on the place in the file; 0 is a byte that was not
 * written. PERIOD is a prime, so that bytes displaced by some blocks are noticed. */
enum { VALUES = 255, POISON = ORDER_IDS, NOTHING = -1, PERIOD = 65521 };

static const unsigned char *shifts(void)
{
    static unsigned char table[PERIOD];
    static int made;

    for (uint32_t i = 0; !made && i < PERIOD; i++)
        table[i] = (unsigned char)((i * UINT32_C(2654435761) >> 16) % VALUES);
    made = 1;
    return table;
}

static int id_of(unsigned char value, unsigned char shift)
{
    int id = value - 1 - shift;

    return value == 0 ? NOTHING : id < 0 ? id + VALUES : id;
}

/* Length of the contiguous piece at byte `done` of the place. */
static int64_t piece_bytes(const order_place_t *place, int64_t done)
{
    const order_view_t *view = &place->view;
    int64_t left = place->bytes - done, in = view->block - (place->position + done) % view->block;

    return view->block == view->stride || left < in ? left : in;
}

static void fill(const order_place_t *place, int id, unsigned char *data)
{
    const unsigned char *shift = shifts();

    for (int64_t done = 0, bytes; done < place->bytes; done += bytes) {
        int64_t at = order_view_offset(&place->view, place->position + done) % PERIOD;

        bytes = piece_bytes(place, done);
        for (int64_t i = 0; i < bytes; i++) {
            data[done + i] = (unsigned char)(1 + (id + shift[at]) % VALUES);
            at = at + 1 < PERIOD ? at + 1 : 0;
        }
    }
}

void order_model_fill(const order_place_t *place, int id, unsigned char *data)
{
    fill(place, id, data);
}

void order_model_poison(const order_place_t *place, unsigned char *data)
{
    fill(place, POISON, data);
}

/* --- places --- */

/* Bytes of the view's data that lie before a byte of the file. */
static int64_t data_before(const order_view_t *view, int64_t offset)
{
    int64_t from = offset - view->start, in;

    if (from <= 0)
        return 0;
    in = from % view->stride;
    return from / view->stride * view->block + (in < view->block ? in : view->block);
}

/* Bytes of the place in [first, end) of the file. */
static int64_t bytes_within(const order_place_t *place, int64_t first, int64_t end)
{
    int64_t from = data_before(&place->view, first), to = data_before(&place->view, end);

    from = from > place->position ? from : place->position;
    to = to < place->position + place->bytes ? to : place->position + place->bytes;
    return to > from ? to - from : 0;
}

/* --- which access happens before which --- */

static int is_before(const order_model_t *model, const order_access_t *a, const order_access_t *b)
{
    if (a->ended <= b->begun[a->rank])
        return 1;
    return model->rules & ORDER_IN_TURN && a->collective >= 0 && b->collective >= 0 && a->handle == b->handle &&
           a->collective < b->collective;
}

static int is_write(const order_access_t *access)
{
    return access->id >= 0 || access->id == ORDER_CUT;
}

/* --- walking through the sequence --- */

typedef struct walk {
    order_model_t *model;
    int clock[ORDER_RANKS][ORDER_RANKS]; /* of each rank: the events that it knows to be over */
    int collectives[ORDER_HANDLES];
    int64_t size; /* of the file, as far as it is settled */
} walk_t;

static void join(int *into, const int *from)
{
    for (int r = 0; r < ORDER_RANKS; r++)
        into[r] = into[r] > from[r] ? into[r] : from[r];
}

static void join_all(walk_t *walk, int *into)
{
    for (int r = 0; r < walk->model->sequence->ranks; r++)
        join(into, walk->clock[r]);
}

static void barrier(walk_t *walk)
{
    int all[ORDER_RANKS] = {0};

    join_all(walk, all);
    for (int r = 0; r < walk->model->sequence->ranks; r++)
        memcpy(walk->clock[r], all, sizeof all);
}

static order_access_t *begin_access(walk_t *walk, int step_number, int rank, const int *begun)
{
    order_model_t *model = walk->model;
    const order_step_t *step = &model->sequence->step[step_number];
    order_access_t *access = &model->access[model->accesses];

    memset(access, 0, sizeof *access);
    access->step = step_number;
    access->rank = rank;
    access->id = step->writes ? step->place[rank].id : -1;
    access->collective = order_step_is_collective(step) ? walk->collectives[step->handle] : -1;
    access->handle = step->handle;
    access->place = step->place[rank];
    if (access->place.bytes)
        access->first = order_view_offset(&access->place.view, access->place.position);
    access->end = order_place_end(&access->place);
    memcpy(access->begun, begun, sizeof access->begun);
    access->ended = INT_MAX;
    access->size_set = -1;
    model->of[step_number][rank] = model->accesses++;
    if (access->id >= 0)
        model->by_id[access->id] = model->of[step_number][rank];
    return access;
}

/* The rank knows what was over when the access began. */
static void end_access(walk_t *walk, order_access_t *access)
{
    int *clock = walk->clock[access->rank];

    join(clock, access->begun);
    access->ended = ++clock[access->rank];
}

static void walk_access(walk_t *walk, int number)
{
    const order_step_t *step = &walk->model->sequence->step[number];
    int ranks = walk->model->sequence->ranks, assembled[ORDER_RANKS] = {0};
    int waits_for_all = order_step_is_collective(step) && walk->model->rules & ORDER_ASSEMBLED;

    walk->collectives[step->handle] += order_step_is_collective(step);
    join_all(walk, assembled);
    for (int r = 0; r < ranks; r++) {
        order_access_t *access;

        if (!(step->ranks & 1u << r))
            continue;
        access = begin_access(walk, number, r, waits_for_all ? assembled : walk->clock[r]);
        if (!order_step_begins(step))
            end_access(walk, access);
    }
}

static void walk_end(walk_t *walk, int number)
{
    int of = walk->model->sequence->step[number].of;

    for (int r = 0; r < walk->model->sequence->ranks; r++)
        if (walk->model->of[of][r] >= 0)
            end_access(walk, &walk->model->access[walk->model->of[of][r]]);
}

/* All that was begun has ended before; a larger size than the file's writes zeros nowhere. */
static void walk_size(walk_t *walk, int number)
{
    const order_step_t *step = &walk->model->sequence->step[number];
    order_access_t *access = begin_access(walk, number, 0, walk->clock[0]);

    order_model_size(walk->model, access, &walk->size, &walk->size);
    if (step->kind == ORDER_SET_SIZE || step->size > walk->size)
        walk->size = step->size;
    access->size_set = walk->size;
    if (step->kind == ORDER_SET_SIZE) {
        access->id = ORDER_CUT;
        access->place = (order_place_t){.view = {0, 1, 1}, .position = step->size, .bytes = INT64_MAX / 4};
        access->first = step->size;
        access->end = INT64_MAX / 2;
    }
    end_access(walk, access);
}

static void walk_step(walk_t *walk, int number)
{
    const order_step_t *step = &walk->model->sequence->step[number];
    int quiet = step->kind == ORDER_TOGETHER || step->kind == ORDER_SET_SIZE || step->kind == ORDER_PREALLOCATE ||
                step->kind == ORDER_COMPARE;

    if (quiet)
        barrier(walk);
    if (order_step_is_access(step) || step->kind == ORDER_COMPARE || step->kind == ORDER_GET_SIZE)
        walk_access(walk, number);
    else if (step->kind == ORDER_END)
        walk_end(walk, number);
    else if (step->kind == ORDER_SET_SIZE || step->kind == ORDER_PREALLOCATE)
        walk_size(walk, number);
    else if (step->kind == ORDER_BARRIER)
        barrier(walk);
    else if (step->kind == ORDER_MESSAGE)
        join(walk->clock[step->to], walk->clock[step->from]);
    if (quiet)
        barrier(walk);
}

void order_model_make(const order_sequence_t *sequence, unsigned rules, order_model_t *model)
{
    walk_t walk = {.model = model};

    model->sequence = sequence;
    model->rules = rules;
    model->accesses = 0;
    memset(model->of, 0xff, sizeof model->of);
    memset(model->by_id, 0xff, sizeof model->by_id);
    for (int i = 0; i < sequence->steps; i++)
        walk_step(&walk, i);
}

const order_access_t *order_model_access(const order_model_t *model, int step, int rank)
{
    return model->of[step][rank] < 0 ? NULL : &model->access[model->of[step][rank]];
}

/* --- the size of the file --- */

/* The last step before the access that has set the size; NULL: none. */
static const order_access_t *last_size(const order_model_t *model, const order_access_t *access)
{
    const order_access_t *last = NULL;

    for (int i = 0; i < model->accesses; i++)
        if (model->access[i].size_set >= 0 && is_before(model, &model->access[i], access))
            last = &model->access[i];
    return last;
}

void order_model_size(const order_model_t *model, const order_access_t *access, int64_t *least, int64_t *most)
{
    const order_access_t *set = last_size(model, access);
    int64_t low = set ? set->size_set : 0, high = low;

    for (int i = set ? (int)(set - model->access) + 1 : 0; i < model->accesses; i++) {
        const order_access_t *other = &model->access[i];

        if (other->id < 0 || other == access || is_before(model, access, other))
            continue;
        if (other->end > high)
            high = other->end;
        if (other->end > low && is_before(model, other, access))
            low = other->end;
    }
    *least = low;
    *most = high;
}

/* --- the content of a read --- */

/* A read that is being checked, and for each write the writes that come after it and before the read. */
typedef struct check {
    const order_model_t *model;
    const order_access_t *read;
    int count[ORDER_IDS];
    const order_access_t **after[ORDER_IDS]; /* by id; NULL: not known yet */
    char *text;
    size_t size;
} check_t;

static const order_access_t **writes_after(const check_t *check, const order_access_t *write, int *count)
{
    const order_model_t *model = check->model;
    const order_access_t **list = malloc(sizeof *list * (size_t)(model->accesses + 1));
    int found = 0;

    for (int i = 0; list && i < model->accesses; i++) {
        const order_access_t *other = &model->access[i];

        if (other != write && is_write(other) && other->first < check->read->end && other->end > check->read->first &&
            is_before(model, write, other) && is_before(model, other, check->read))
            list[found++] = other;
    }
    *count = found;
    return list;
}

/* 1 if all ranks' parts of a collective write ended before the write, or the write before they began. */
static int is_apart(const order_model_t *model, int step, const order_access_t *write)
{
    int ended = 1;

    for (int r = 0; r < model->sequence->ranks; r++) {
        const order_access_t *part = order_model_access(model, step, r);

        ended &= part->ended <= write->begun[r];
        if (write->ended <= part->begun[write->rank])
            return 1;
    }
    return ended;
}

/* ORDER_SIEVING: a collective write may have put back what was in [first, end) before `write`. */
static int may_be_undone(const order_model_t *model, const order_access_t *write, int64_t first, int64_t end)
{
    for (int i = 0; model->rules & ORDER_SIEVING && write->id >= 0 && i < model->sequence->steps; i++) {
        const order_step_t *step = &model->sequence->step[i];
        int64_t low = INT64_MAX, high = 0;

        if (!step->writes || !order_step_is_collective(step) || i == write->step)
            continue;
        for (int r = 0; r < model->sequence->ranks; r++) {
            const order_access_t *part = order_model_access(model, i, r);

            if (part->end) {
                low = part->first < low ? part->first : low;
                high = part->end > high ? part->end : high;
            }
        }
        if (low < end && high > first && !is_apart(model, i, write))
            return 1;
    }
    return 0;
}

/* The write that has replaced, before the read, what `write` left in [first, end); NULL: none. */
static const order_access_t *replaced_by(check_t *check, const order_access_t *write, int64_t first, int64_t end)
{
    const order_access_t **list = check->after[write->id];
    int count = check->count[write->id];

    if (!list) {
        list = check->after[write->id] = writes_after(check, write, &count);
        check->count[write->id] = count;
    }
    for (int i = 0; list && i < count; i++)
        if (bytes_within(&list[i]->place, first, end) && !may_be_undone(check->model, list[i], first, end))
            return list[i];
    return NULL;
}

static int complain(const check_t *check, int64_t first, int64_t end, const order_access_t *write, const char *why,
                    const order_access_t *other)
{
    const order_sequence_t *sequence = check->model->sequence;
    char read[300], wrote[300] = "", third[300] = "";

    order_step_print(sequence, check->read->step, check->read->rank, read, sizeof read);
    if (write)
        order_step_print(sequence, write->step, write->rank, wrote, sizeof wrote);
    if (other)
        order_step_print(sequence, other->step, other->rank, third, sizeof third);
    snprintf(check->text, check->size, "bytes %lld to %lld: %s %s%s%s; read by %s", (long long)first, (long long)end,
             wrote, why, third[0] ? " " : "", third, read);
    return 0;
}

/* The smallest size to which the file was cut after the write and before the read. */
static int64_t cut_after(const check_t *check, const order_access_t *write)
{
    const order_model_t *model = check->model;
    int64_t least = INT64_MAX;

    for (int i = 0; i < model->accesses; i++) {
        const order_access_t *cut = &model->access[i];

        if (cut->id == ORDER_CUT && cut->first < least && is_before(model, write, cut) &&
            is_before(model, cut, check->read))
            least = cut->first;
    }
    return least;
}

/* From the beginning, or where the file was cut. */
static int allows_zeros(const check_t *check, int64_t first, int64_t end)
{
    const order_model_t *model = check->model;

    for (int i = 0; i < model->accesses; i++) {
        const order_access_t *write = &model->access[i];

        if (write->id < 0 || !bytes_within(&write->place, first, end) || !is_before(model, write, check->read) ||
            may_be_undone(model, write, first, end))
            continue;
        int64_t cut = cut_after(check, write);

        if (bytes_within(&write->place, first, cut < end ? cut : end))
            return complain(check, first, end, NULL, "zeros, which were replaced by", write);
    }
    return 1;
}

static int allows_segment(check_t *check, int64_t first, int64_t end, int id)
{
    const order_access_t *write, *by;

    if (id == NOTHING)
        return allows_zeros(check, first, end);
    if (id == POISON)
        return complain(check, first, end, NULL, "not read at all", NULL);
    write = check->model->by_id[id] < 0 ? NULL : &check->model->access[check->model->by_id[id]];
    if (!write || bytes_within(&write->place, first, end) != end - first)
        return complain(check, first, end, write, write ? "does not write there" : "bytes that nobody writes", NULL);
    if (is_before(check->model, check->read, write))
        return complain(check, first, end, write, "comes later", NULL);
    by = replaced_by(check, write, first, end);
    return !by || complain(check, first, end, write, "was replaced by", by);
}

/* Bytes of one piece of the file; each row of bytes of the same writer is looked at once. */
static int allows_piece(check_t *check, int64_t offset, const unsigned char *data, int64_t bytes)
{
    const unsigned char *shift = shifts();
    int64_t at = offset % PERIOD, start = 0;
    int id = bytes ? id_of(data[0], shift[at]) : NOTHING;

    for (int64_t i = 1; i <= bytes; i++) {
        int next;

        at = at + 1 < PERIOD ? at + 1 : 0;
        next = i < bytes ? id_of(data[i], shift[at]) : -2;
        if (next == id)
            continue;
        if (!allows_segment(check, offset + start, offset + i, id))
            return 0;
        start = i;
        id = next;
    }
    return 1;
}

static int allows_content(check_t *check, const unsigned char *data, int64_t bytes)
{
    const order_place_t *place = &check->read->place;
    int good = 1;

    for (int64_t done = 0, piece; good && done < bytes; done += piece) {
        piece = piece_bytes(place, done);
        piece = piece < bytes - done ? piece : bytes - done;
        good = allows_piece(check, order_view_offset(&place->view, place->position + done), data + done, piece);
    }
    for (int i = 0; i < ORDER_IDS; i++)
        free(check->after[i]);
    return good;
}

int order_model_allows(const order_model_t *model, const order_access_t *read, const unsigned char *data, int64_t got,
                       char *text, size_t size)
{
    check_t check = {.model = model, .read = read, .text = text, .size = size};
    int64_t least, most, low, high;

    order_model_size(model, read, &least, &most);
    low = bytes_within(&read->place, 0, least);
    high = bytes_within(&read->place, 0, most);
    if (got < low || (got > high && model->rules & ORDER_EXACT_SIZE)) {
        char what[100];

        snprintf(what, sizeof what, "%lld bytes instead of %lld to %lld", (long long)got, (long long)low,
                 (long long)high);
        return complain(&check, read->first, read->end, NULL, what, NULL);
    }
    return allows_content(&check, data, model->rules & ORDER_EXACT_SIZE ? got : low);
}
