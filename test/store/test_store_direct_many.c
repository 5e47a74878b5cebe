/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/* Direct access by many: random steps against a model, and threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/store/grants.h"

/* --- against a model --------------------------------------------------------------------------------------------- */

enum { USERS = 3, OBJECTS = 4, BYTES = 1 << 20, ROUNDS = 4000, STRAGGLERS = 8 };

typedef struct model {
    uint64_t id, end;
    uint8_t bytes[BYTES];
    int pinned;
    grant_t grant;
} model_t;

typedef struct straggler {
    int used;
    uint64_t from; /* its bytes below may be those of the object */
    grant_t grant;
} straggler_t;

static model_t *models;
static straggler_t *stragglers;
static uint64_t next_id;

static void model_begin(model_t *model)
{
    memset(model->bytes, 0, BYTES);
    model->id = ++next_id;
    model->end = 0;
    model->pinned = 0;
}

/* The model's grant is revoked while its process goes on. */
static void model_revoke(model_t *model, uint64_t from, unsigned *seed)
{
    straggler_t *straggler = &stragglers[(unsigned)rand_r(seed) % STRAGGLERS];

    if (!model->pinned)
        return;
    ck_assert_int_eq(grant_map(&model->grant, 0, BYTES, 0), THEMIS_OK);
    if (straggler->used)
        grant_close(&straggler->grant);
    *straggler = (straggler_t){.used = 1, .from = from, .grant = model->grant};
    model->pinned = 0;
}

static void stragglers_write(uint8_t *garbage)
{
    for (int i = 0; i < STRAGGLERS; i++)
        if (stragglers[i].used)
            grant_move(&stragglers[i].grant, THEMIS_WRITE, stragglers[i].from, garbage, 2 * BYTES);
}

static void model_write(model_t *model, uint32_t uid, uint64_t offset, uint64_t length, unsigned *seed)
{
    int value = 1 + rand_r(seed) % 200;

    memset(model->bytes + offset, value, length);
    if (model->end < offset + length)
        model->end = offset + length;
    if (!model->pinned && rand_r(seed) % 2) {
        owner = uid;
        put(model->id, offset, length, (uint8_t)value);
        return;
    }
    if (!model->pinned)
        ck_assert_int_eq(grant_open(&model->grant, model->id, uid), THEMIS_OK);
    model->pinned = 1;
    grant_put(&model->grant, offset, length, (uint8_t)value);
}

static void model_truncate(model_t *model, uint32_t uid, uint64_t size, unsigned *seed)
{
    /* the extent with the end is replaced, the ones before may still be written */
    model_revoke(model, size, seed);
    owner = uid;
    truncate_to(model->id, size);
    memset(model->bytes + size, 0, BYTES - size);
    model->end = size;
}

static void model_check(model_t *model, uint32_t uid, uint8_t *got)
{
    owner = uid;
    ck_assert_uint_eq(size_of(model->id).end, model->end);
    REQUIRE(transfer(model->id, THEMIS_READ, 0, got, BYTES) == THEMIS_OK);
    REQUIRE(memcmp(got, model->bytes, BYTES) == 0);
    if (!model->pinned)
        return;
    REQUIRE(grant_map(&model->grant, 0, BYTES, 0) == THEMIS_OK);
    memset(got, 0, BYTES);
    grant_move(&model->grant, THEMIS_READ, 0, got, BYTES);
    REQUIRE(memcmp(got, model->bytes, BYTES) == 0);
}

TEST(users_and_stragglers_match_a_model)
{
    uint8_t *got = malloc(BYTES), *garbage = malloc(2 * BYTES);
    unsigned seed = 77 + (unsigned)_i;

    models = calloc((size_t)USERS * OBJECTS, sizeof *models);
    stragglers = calloc(STRAGGLERS, sizeof *stragglers);
    memset(garbage, 0xdd, 2 * BYTES);
    open_direct(128 * MIB, 0);
    for (int i = 0; i < USERS * OBJECTS; i++)
        model_begin(&models[i]);
    for (int round = 0; round < ROUNDS; round++) {
        int i = rand_r(&seed) % (USERS * OBJECTS);
        uint32_t uid = ALICE + (uint32_t)(i % USERS);
        uint64_t offset = (uint64_t)rand_r(&seed) % BYTES;
        uint64_t length = 1 + (uint64_t)rand_r(&seed) % (BYTES - offset);
        switch (rand_r(&seed) % 16) {
        case 0:
            model_revoke(&models[i], BYTES, &seed);
            ck_assert_int_eq(themis_store_remove(store, models[i].id), THEMIS_OK);
            model_begin(&models[i]);
            break;
        case 1:
        case 2:
            model_truncate(&models[i], uid, offset, &seed);
            break;
        case 3:
            if (models[i].pinned)
                grant_close(&models[i].grant);
            models[i].pinned = 0;
            break;
        case 4:
            model_check(&models[i], uid, got);
            break;
        default:
            model_write(&models[i], uid, offset, length > 50000 && round % 8 ? length % 50000 + 1 : length, &seed);
        }
        if (round % 16 == 0)
            stragglers_write(garbage);
    }
    for (int i = 0; i < USERS * OBJECTS; i++)
        model_check(&models[i], ALICE + (uint32_t)(i % USERS), got);
    for (int i = 0; i < USERS * OBJECTS; i++)
        if (models[i].pinned)
            grant_close(&models[i].grant);
    for (int i = 0; i < STRAGGLERS; i++)
        if (stragglers[i].used)
            grant_close(&stragglers[i].grant);
    close_direct();
    free(models);
    free(stragglers);
    free(garbage);
    free(got);
}

/* --- at once ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROGUE_SEGMENTS = 1024 };

static struct {
    pthread_mutex_t lock;
    uint8_t *base[ROGUE_SEGMENTS];
    uint64_t bytes[ROGUE_SEGMENTS];
    size_t count;
    atomic_int stop;
} rogue = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Writes all over what its user ever had. */
static void *rogue_main(void *arg)
{
    while (!rogue.stop) {
        pthread_mutex_lock(&rogue.lock);
        size_t count = rogue.count;
        pthread_mutex_unlock(&rogue.lock);
        for (size_t i = 0; i < count; i++)
            for (uint64_t at = 0; at < rogue.bytes[i] && !rogue.stop; at += PAGE)
                memset(rogue.base[i] + at, 0xdd, 64);
        usleep(1000);
    }
    return arg;
}

static void rogue_learn(uint64_t serial, uint32_t uid)
{
    static uint64_t known[ROGUE_SEGMENTS];
    uint64_t bytes;
    size_t i = 0;
    int fd;

    while (i < rogue.count && known[i] != serial)
        i++;
    if (i < rogue.count || i == ROGUE_SEGMENTS || themis_store_segment(store, serial, uid, &fd, &bytes) != THEMIS_OK)
        return;
    known[i] = serial;
    rogue.bytes[i] = bytes;
    rogue.base[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(rogue.base[i] != MAP_FAILED);
    close(fd);
    pthread_mutex_lock(&rogue.lock);
    rogue.count++;
    pthread_mutex_unlock(&rogue.lock);
}

static themis_status_t write_object(uint64_t id, uint32_t uid, uint64_t length, uint8_t value)
{
    themis_store_window_t *window;
    themis_store_object_t *object;
    themis_status_t status = THEMIS_OK;

    REQUIRE(themis_store_window_create(&window) == THEMIS_OK);
    REQUIRE(themis_store_open(store, id, 1, uid, &object) == THEMIS_OK);
    for (uint64_t at = 0; at < length && status == THEMIS_OK; at += window->bytes) {
        window->object = object;
        window->direction = THEMIS_WRITE;
        window->extent_count = 1;
        window->extents[0] = (themis_store_extent_t){at, length - at < MIB ? length - at : MIB};
        status = themis_store_prepare(store, window);
        if (status != THEMIS_OK)
            break;
        window_fill(window, value);
        status = themis_store_finish(store, window, THEMIS_OK);
    }
    themis_store_close(store, object);
    themis_store_window_destroy(window);
    return status;
}

/* The user whose process is the rogue: its objects come and go, so that its segments do. */
static void *rogue_user_main(void *arg)
{
    static themis_store_mapped_t mapped[EXTENTS];
    themis_store_extent_t range = {0, 16 * MIB};
    themis_store_location_t cell;
    themis_store_object_t *object;
    size_t count;

    for (uint64_t round = 0; round < 100; round++) {
        uint64_t id = 1000000 + round;
        write_object(id, ALICE, 6 * MIB, 'r');
        REQUIRE(themis_store_open(store, id, 1, ALICE, &object) == THEMIS_OK);
        if (themis_store_pin(store, object, ALICE, &cell) == THEMIS_OK) {
            rogue_learn(cell.segment, ALICE);
            REQUIRE(themis_store_map(store, object, &range, 0, mapped, EXTENTS, &count) == THEMIS_OK);
            for (size_t i = 0; i < count; i++)
                rogue_learn(mapped[i].location.segment, ALICE);
            themis_store_unpin(store, object, &cell);
        }
        themis_store_close(store, object);
        REQUIRE(themis_store_remove(store, id) == THEMIS_OK);
    }
    return arg;
}

/* Another user: sees its own bytes only, by queue and directly. */
static void *user_main(void *arg)
{
    uint32_t uid = BOB + (uint32_t)(intptr_t)arg;
    unsigned seed = uid;

    for (int round = 0; round < 100; round++) {
        uint64_t id = (uint64_t)uid * 1000 + (uint64_t)round, length = 1 + (uint64_t)rand_r(&seed) % (4 * MIB);
        if (write_object(id, uid, length, (uint8_t)uid) == THEMIS_OK)
            expect(id, 0, length, (uint8_t)uid);
        REQUIRE(themis_store_remove(store, id) == THEMIS_OK);
    }
    return NULL;
}

TEST(a_rogue_hurts_its_own_user_only)
{
    pthread_t threads[THREADS], scribbler;
    themis_store_usage_t usage;

    open_direct(32 * MIB, 4 * MIB);
    ck_assert_int_eq(pthread_create(&scribbler, NULL, rogue_main, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, i == 0 ? rogue_user_main : user_main, (void *)(intptr_t)i),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rogue.stop = 1;
    pthread_join(scribbler, NULL);
    ck_assert_uint_ge(rogue.count, 2);
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_eq(usage.used, 0);
    for (size_t i = 0; i < rogue.count; i++)
        munmap(rogue.base[i], rogue.bytes[i]);
    close_direct();
}

/* Pins, maps, queue writes and truncations of one object meet. */
static void *meet_main(void *arg)
{
    unsigned seed = (unsigned)(intptr_t)arg;
    static _Thread_local themis_store_mapped_t mapped[EXTENTS];
    themis_store_location_t cell;
    themis_store_object_t *object;
    size_t count;

    REQUIRE(themis_store_open(store, 1, 1, ALICE, &object) == THEMIS_OK);
    for (int round = 0; round < 300; round++) {
        themis_store_extent_t range = {(uint64_t)rand_r(&seed) % (4 * MIB), 1 + (uint64_t)rand_r(&seed) % MIB};
        uint8_t byte = 1;
        switch (rand_r(&seed) % 4) {
        case 0:
            REQUIRE(transfer(1, THEMIS_WRITE, range.offset, &byte, 1) == THEMIS_OK);
            break;
        case 1:
            REQUIRE(themis_store_truncate(store, object, range.offset) == THEMIS_OK);
            break;
        default:
            REQUIRE(themis_store_pin(store, object, ALICE, &cell) == THEMIS_OK);
            REQUIRE(themis_store_map(store, object, &range, 1, mapped, EXTENTS, &count) == THEMIS_OK);
            for (size_t i = 1; i < count; i++)
                REQUIRE(mapped[i - 1].offset + mapped[i - 1].length <= mapped[i].offset);
            themis_store_unpin(store, object, &cell);
        }
    }
    themis_store_close(store, object);
    return NULL;
}

TEST(pins_and_maps_meet_writes_and_truncations)
{
    pthread_t threads[THREADS];

    open_direct(256 * MIB, 4 * MIB);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, meet_main, (void *)(intptr_t)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_uint_eq(used(), 0);
    close_direct();
}

int main(void)
{
    Suite *suite = suite_create("direct_many");

    test_case(suite, "direct", 60, NULL, NULL,
              TESTS({users_and_stragglers_match_a_model, 3}, {a_rogue_hurts_its_own_user_only, 1},
                    {pins_and_maps_meet_writes_and_truncations, 1}));
    return test_run(suite);
}
