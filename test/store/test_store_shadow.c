/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes that are under way at the same time over the same pages of an arena. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/lib/run.h"
#include "test/store/grants.h"

enum { SIZE = 8 * MIB };

static void open_arena(int direct)
{
    themis_store_options_t options = {.type = "arena", .size = SIZE, .direct = direct};

    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
    put(1, 0, 6 * MIB, 's'); /* space that was used shows what is not cleared */
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
}

static void close_arena(void)
{
    ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    ck_assert_uint_eq(used(), 0);
    close_direct();
}

/* A write to object 2 that has been prepared. */
static themis_store_window_t *begin(uint64_t offset, uint64_t length)
{
    themis_store_window_t *window;

    REQUIRE(themis_store_window_create(&window) == THEMIS_OK);
    REQUIRE(themis_store_open(store, 2, 1, owner, &window->object) == THEMIS_OK);
    window->direction = THEMIS_WRITE;
    window->extent_count = 1;
    window->extents[0] = (themis_store_extent_t){offset, length};
    REQUIRE(themis_store_prepare(store, window) == THEMIS_OK);
    REQUIRE(window->bytes == length);
    return window;
}

static void end(themis_store_window_t *window, themis_status_t moved)
{
    themis_store_object_t *object = window->object;

    REQUIRE(themis_store_finish(store, window, moved) == moved);
    themis_store_window_destroy(window);
    themis_store_close(store, object);
}

/* A part of a page is written while another write has claimed the page: it is seen at once, and stays if that fails. */
TEST(a_part_of_a_claimed_page_is_seen)
{
    open_arena(_i);
    themis_store_window_t *whole = begin(0, 2 * PAGE);
    put(2, 100, 10, 'y');
    put(2, PAGE - 5, 10, 'z');
    expect(2, 0, 100, 0);
    expect(2, 100, 10, 'y');
    expect(2, 110, PAGE - 115, 0);
    expect(2, PAGE - 5, 10, 'z');
    window_fill(whole, 'x');
    expect(2, 100, 10, 'y');
    end(whole, THEMIS_DISCONNECTED);
    expect(2, 0, 100, 0);
    expect(2, 100, 10, 'y');
    expect(2, 110, PAGE - 115, 0);
    expect(2, PAGE - 5, 10, 'z');
    close_arena();
}

/* And gives way if that write succeeds, which ended later. */
TEST(who_ends_last_is_seen)
{
    open_arena(_i);
    themis_store_window_t *whole = begin(0, 2 * PAGE);
    themis_store_window_t *part = begin(100, 10);
    window_fill(part, 'y');
    window_fill(whole, 'x');
    end(whole, THEMIS_OK);
    expect(2, 0, 2 * PAGE, 'x');
    end(part, THEMIS_OK);
    expect(2, 0, 100, 'x');
    expect(2, 100, 10, 'y');
    expect(2, 110, 2 * PAGE - 110, 'x');
    close_arena();
}

TEST(a_truncation_cuts_what_was_written_beside_a_claim)
{
    open_arena(_i);
    themis_store_window_t *whole = begin(0, 3 * PAGE);
    put(2, 100, 200, 'y');
    put(2, PAGE + 100, 200, 'z');
    truncate_to(2, 150);
    truncate_to(2, 3 * PAGE);
    expect(2, 0, 100, 0);
    expect(2, 100, 50, 'y');
    expect(2, 150, 3 * PAGE - 150, 0);
    end(whole, THEMIS_DISCONNECTED);
    expect(2, 0, 100, 0);
    expect(2, 100, 50, 'y');
    expect(2, 150, 3 * PAGE - 150, 0);
    close_arena();
}

/* --- random windows against a model ------------------------------------------------------------------------------ */

enum { BLOCK = 512, BLOCKS = 64, WRITES = 120, UNDER_WAY = 6, NEVER = 1 << 30 };

/* Value i + 1 to blocks [first, end); a truncation writes 0 to all after `first`. */
typedef struct write_record {
    int first, end, value, began, ended; /* times; NEVER: it is under way, or failed: then it may be seen for ever */
    int failed;
    themis_store_window_t *window;
} write_record_t;

static write_record_t writes[WRITES + 1];
static int write_count, now;

/* 1: a read of `block` that begins now may find `value`. */
static int may_read(int block, int value)
{
    int latest = 0; /* the begin of the latest write that has ended */

    for (int i = 0; i < write_count; i++)
        if (writes[i].first <= block && block < writes[i].end && !writes[i].failed && writes[i].ended < now &&
            latest < writes[i].began)
            latest = writes[i].began;
    if (value == 0 && latest == 0)
        return 1;
    for (int i = 0; i < write_count; i++)
        if (writes[i].first <= block && block < writes[i].end && writes[i].value == value && writes[i].ended >= latest)
            return 1;
    return 0;
}

static void check_blocks(void)
{
    static uint8_t bytes[BLOCKS * BLOCK];
    uint64_t length = size_of(2).end;

    REQUIRE(length <= sizeof bytes);
    REQUIRE(transfer(2, THEMIS_READ, 0, bytes, length) == THEMIS_OK);
    for (uint64_t at = 0; at < length; at += at % BLOCK ? 1 : BLOCK - 1) /* the first and last of each block */
        if (!may_read((int)(at / BLOCK), bytes[at]))
            ck_abort_msg("time %d, byte %d: %d", now, (int)at, bytes[at]);
}

static void random_begin(void)
{
    write_record_t *record = &writes[write_count];
    int whole = rand() % 2, unit = whole ? PAGE / BLOCK : 1, units = BLOCKS / unit;
    int first = rand() % units, count = 1 + rand() % (units - first < 4 ? units - first : 4);

    *record = (write_record_t){
        .first = first * unit, .end = (first + count) * unit, .value = write_count + 1, .began = now, .ended = NEVER};
    record->window = begin((uint64_t)record->first * BLOCK, (uint64_t)(record->end - record->first) * BLOCK);
    write_count++;
}

static void random_end(write_record_t *record)
{
    if (rand() % 4)
        window_fill(record->window, record->value);
    else
        record->failed = 1;
    end(record->window, record->failed ? THEMIS_DISCONNECTED : THEMIS_OK);
    record->ended = record->failed ? NEVER : now;
    record->window = NULL;
}

static void random_truncate(void)
{
    int blocks = rand() % BLOCKS;

    writes[write_count++] = (write_record_t){.first = blocks, .end = BLOCKS, .value = 0, .began = now, .ended = now};
    truncate_to(2, (uint64_t)blocks * BLOCK);
}

/* `pinned`: a client has the object mapped, so truncations replace its extents. */
static void random_scene(int pinned)
{
    grant_t grant;

    write_count = 0;
    put(2, 0, 1, 0);
    if (pinned)
        REQUIRE(grant_open(&grant, 2, owner) == THEMIS_OK);
    for (now = 1; write_count < WRITES; now++) {
        write_record_t *under_way[UNDER_WAY];
        int count = 0;
        for (int i = 0; i < write_count; i++)
            if (writes[i].window)
                under_way[count++] = &writes[i];
        if (rand() % 20 == 0)
            random_truncate();
        else if (count == UNDER_WAY || (count && rand() % 2))
            random_end(under_way[rand() % count]);
        else
            random_begin();
        check_blocks();
    }
    for (int i = 0; i < write_count; i++, now++)
        if (writes[i].window) {
            random_end(&writes[i]);
            check_blocks();
        }
    if (pinned)
        grant_close(&grant);
}

TEST(random_windows_show_what_was_written)
{
    enum { SCENES = 200 };

    open_arena(_i);
    for (unsigned seed = 1; seed <= SCENES; seed++) {
        srand(seed);
        random_scene(_i && seed % 2);
        ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    }
    close_arena();
}

int main(void)
{
    Suite *suite = suite_create("store_shadow");

    test_case(suite, "shadow", 120, NULL, NULL,
              TESTS({a_part_of_a_claimed_page_is_seen, 2}, {who_ends_last_is_seen, 2},
                    {a_truncation_cuts_what_was_written_beside_a_claim, 2}, {random_windows_show_what_was_written, 2}));
    return test_run(suite);
}
