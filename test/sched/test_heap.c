/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's priority queue against an array that is searched. */
#include <check.h>
#include <stdlib.h>
#include "sched/heap.h"
#include "test/lib/run.h"

enum { SLOTS = 300 };

typedef struct model {
    double key[SLOTS];
    int in[SLOTS];
} model_t;

static void expect_same(const themis_sched_heap_t *heap, const model_t *model)
{
    uint32_t count = 0, least = SLOTS;

    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (slot < heap->capacity)
            ck_assert_int_eq(themis_sched_heap_has(heap, slot), model->in[slot]);
        count += (uint32_t)model->in[slot];
        if (model->in[slot] && (least == SLOTS || model->key[slot] < model->key[least]))
            least = slot;
    }
    ck_assert_uint_eq(heap->count, count);
    if (count > 0) /* another one may have the same key */
        ck_assert_double_eq(model->key[themis_sched_heap_min(heap)], model->key[least]);
}

static void change(themis_sched_heap_t *heap, model_t *model)
{
    uint32_t slot = (uint32_t)rand() % SLOTS, other = (uint32_t)rand() % SLOTS;

    ck_assert_int_eq(themis_sched_heap_reserve(heap, (slot > other ? slot : other) + 1), THEMIS_OK);
    switch (rand() % 4) {
    case 0:
        themis_sched_heap_remove(heap, slot);
        model->in[slot] = 0;
        break;
    case 1:
        if (model->in[other])
            break;
        themis_sched_heap_move(heap, slot, other);
        model->in[other] = model->in[slot];
        model->key[other] = model->key[slot];
        model->in[slot] = 0;
        break;
    default:
        model->key[slot] = rand() % 1000 - 500;
        model->in[slot] = 1;
        themis_sched_heap_set(heap, slot, model->key[slot]);
    }
}

TEST(the_least_comes_first)
{
    themis_sched_heap_t heap = {0};
    model_t model = {.in = {0}};

    srand((unsigned)_i + 1);
    for (int step = 0; step < 5000; step++) {
        change(&heap, &model);
        expect_same(&heap, &model);
    }
    themis_sched_heap_release(&heap);
}

/* Among equal keys not the one that was set last, so that equals take turns. */
TEST(equals_take_turns)
{
    themis_sched_heap_t heap = {0};
    int served[8] = {0};

    ck_assert_int_eq(themis_sched_heap_reserve(&heap, 8), THEMIS_OK);
    for (uint32_t slot = 0; slot < 8; slot++)
        themis_sched_heap_set(&heap, slot, 0);
    for (int turn = 0; turn < 80; turn++) {
        uint32_t slot = themis_sched_heap_min(&heap);
        ck_assert_int_le(served[slot], turn / 8);
        themis_sched_heap_set(&heap, slot, ++served[slot]);
    }
    themis_sched_heap_release(&heap);
}

int main(void)
{
    Suite *suite = suite_create("sched_heap");

    test_case(suite, "all", 60, NULL, NULL, TESTS({the_least_comes_first, 4}, {equals_take_turns, 1}));
    return test_run(suite);
}
