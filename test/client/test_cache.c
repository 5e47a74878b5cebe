/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache against a model of the file, and against servers that go away. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "themis/cache.h"
#include "test/client/random.h"
#include "test/client/servers.h"
#include "test/lib/run.h"

enum { FILE_BYTES = 1 << 18, ROUNDS = 600 };

static themis_t *session;
static themis_file_t *file;
static themis_cache_t *cache;
static unsigned char model[FILE_BYTES];
static uint64_t size;

static void open_all(void)
{
    themis_cache_options_t options;

    ck_ok(test_connect(test_server_list, 1500000000, &session));
    ck_ok(themis_open(session, "/cached",
                      THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_TRUNCATE, 0644, NULL,
                      &file));
    themis_cache_options_init(&options);
    options.write_bytes = options.read_bytes = 16 << 10;
    options.small = 2 << 10;
    ck_ok(themis_cache_create(file, &options, &cache));
}

static void close_all(void)
{
    themis_cache_destroy(cache);
    themis_close(file);
    themis_disconnect(session);
}

/* --- one access and its effect on the model ----------------------------------------------------------------------- */

static void write_run(const themis_run_t *run)
{
    static unsigned char bytes[1 << 16];
    struct iovec memory;
    themis_list_t list = test_list(bytes, run, &memory);
    size_t done = 0, at = 0;

    for (uint64_t i = 0; i < run->count; i++)
        for (uint64_t b = 0; b < run->length; b++) {
            uint64_t offset = run->offset + i * run->stride + b;
            bytes[at++] = model[offset] = (unsigned char)draw(256);
            size = offset >= size ? offset + 1 : size;
        }
    ck_ok(themis_cache_write(cache, &list, &done));
    ck_assert_uint_eq(done, at);
    memset(bytes, 0xaa, at); /* the memory may be used again */
}

static void read_run(const themis_run_t *run)
{
    static unsigned char bytes[1 << 16];
    struct iovec memory;
    themis_list_t list = test_list(bytes, run, &memory);
    size_t done = 0, at = 0, wanted = SIZE_MAX;

    ck_ok(themis_cache_read(cache, &list, &done));
    for (uint64_t i = 0; i < run->count; i++)
        for (uint64_t b = 0; b < run->length; b++, at++) {
            uint64_t offset = run->offset + i * run->stride + b;
            if (offset < size)
                ck_assert_uint_eq(bytes[at], model[offset]);
            else if (wanted == SIZE_MAX)
                wanted = at;
        }
    ck_assert_uint_eq(done, wanted == SIZE_MAX ? at : wanted);
}

static themis_run_t random_run(void)
{
    themis_run_t run = {draw(FILE_BYTES - 8192), 1 + draw(draw(4) ? 300 : 4000), 0, draw(3) ? 1 : 1 + draw(6)};

    if (run.length > 700)
        run.count = 1;
    run.stride = run.length + draw(500);
    return run;
}

/* A row of accesses of one shape at one distance, as programs make them. */
static void regular_row(void (*access)(const themis_run_t *run))
{
    themis_run_t run = {draw(4096), 1 + draw(200), 0, 1 + draw(3)};
    uint64_t distance, steps = 5 + draw(200);

    run.stride = run.length + draw(100);
    distance = draw(2) ? run.stride * run.count : 1 + draw(900);
    if (access == write_run && distance < run.length)
        distance += run.length;
    for (uint64_t i = 0; i < steps && run.offset + run.stride * run.count < FILE_BYTES; i++) {
        access(&run);
        run.offset += distance;
    }
}

static void compare_without_the_cache(void)
{
    static unsigned char bytes[FILE_BYTES];
    size_t done;

    ck_ok(themis_cache_flush(cache));
    ck_assert_int_eq(themis_cache_is_dirty(cache), 0);
    ck_ok(themis_read(file, bytes, sizeof bytes, 0, &done));
    ck_assert_uint_eq(done, size);
    ck_assert_mem_eq(bytes, model, size);
}

TEST(the_cache_is_the_file)
{
    for (int round = 0; round < ROUNDS; round++) {
        themis_run_t run = random_run();
        switch (draw(12)) {
        case 0:
            regular_row(write_run);
            break;
        case 1:
        case 2:
            regular_row(read_run);
            break;
        case 3:
            if (draw(10) == 0)
                compare_without_the_cache();
            break;
        case 4:
            themis_cache_invalidate(cache);
            break;
        default:
            (draw(2) ? write_run : read_run)(&run);
        }
    }
    compare_without_the_cache();
}

TEST(others_see_it_after_flush_and_we_see_them_after_invalidate)
{
    themis_file_t *other;
    unsigned char byte = 0, bytes[64];
    struct iovec memory = {bytes, 16};
    themis_run_t run = {0, 16, 16, 1};
    themis_list_t list = {&memory, 1, &run, 1};
    size_t done;

    ck_ok(themis_open(session, "/cached", THEMIS_OPEN_READ | THEMIS_OPEN_WRITE, 0, NULL, &other));
    memset(bytes, 1, sizeof bytes);
    for (run.offset = 0; run.offset < 4096; run.offset += 16)
        ck_ok(themis_cache_write(cache, &list, &done));
    ck_assert_int_eq(themis_cache_is_dirty(cache), 1);
    ck_ok(themis_cache_flush(cache));
    ck_ok(themis_read(other, &byte, 1, 4095, &done));
    ck_assert_uint_eq(byte, 1);
    for (run.offset = 0; run.offset < 160; run.offset += 16) /* a pattern: more is read ahead */
        ck_ok(themis_cache_read(cache, &list, &done));
    byte = 2;
    ck_ok(themis_write(other, &byte, 1, run.offset, &done));
    themis_cache_invalidate(cache);
    ck_ok(themis_cache_read(cache, &list, &done));
    ck_assert_uint_eq(bytes[0], 2);
    ck_ok(themis_close(other));
}

TEST(a_long_pattern_is_read_ahead_to_its_end)
{
    enum { READS = 3000, BYTES = 2048 }; /* many batches */
    static unsigned char bytes[READS * BYTES];
    struct iovec memory = {bytes, sizeof bytes};
    themis_run_t run = {0, sizeof bytes, sizeof bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};
    themis_cache_counts_t counts;
    size_t done;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i / 3);
    ck_ok(themis_cache_write(cache, &list, &done));
    memory.iov_len = run.length = run.stride = BYTES;
    for (run.offset = 0; run.offset < sizeof bytes; run.offset += BYTES) {
        unsigned char back[BYTES];
        memory.iov_base = back;
        ck_ok(themis_cache_read(cache, &list, &done));
        ck_assert_uint_eq(done, BYTES);
        ck_assert_mem_eq(back, bytes + run.offset, BYTES);
    }
    themis_cache_counts(cache, &counts);
    ck_assert_uint_ge(counts.reads_ahead, READS - 3);
    ck_assert_uint_eq(counts.writes_direct, 1);
}

TEST(a_lost_write_is_reported_once)
{
    unsigned char bytes[1024];
    struct iovec memory;
    themis_run_t run = {0, sizeof bytes, sizeof bytes, 1};
    themis_list_t list = test_list(bytes, &run, &memory);
    size_t done;

    memset(bytes, 5, sizeof bytes);
    ck_ok(themis_cache_write(cache, &list, &done));
    for (int i = 0; i < TEST_SERVERS; i++)
        test_server_kill(i);
    themis_status_t status = themis_cache_flush(cache);
    ck_assert_int_lt(status, 0);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "/cached"));
    ck_ok(themis_cache_flush(cache)); /* reported already */
    for (int i = 0; i < 64; i++) {    /* a write in the background fails: some later call returns it */
        run.offset = (uint64_t)i * sizeof bytes;
        if ((status = themis_cache_write(cache, &list, &done)) != THEMIS_OK)
            break;
    }
    if (status == THEMIS_OK)
        status = themis_cache_destroy(cache);
    else
        themis_cache_destroy(cache);
    cache = NULL;
    ck_assert_int_lt(status, 0);
}

int main(void)
{
    Suite *suite = suite_create("client cache");

    if (test_servers_start() != 0)
        return 77;
    /* the last one ends the servers */
    test_case(suite, "all", 100, open_all, close_all,
              TESTS({the_cache_is_the_file, 1}, {others_see_it_after_flush_and_we_see_them_after_invalidate, 1},
                    {a_long_pattern_is_read_ahead_to_its_end, 1}, {a_lost_write_is_reported_once, 1}));
    int failed = test_run(suite);
    test_servers_stop();
    return failed;
}
