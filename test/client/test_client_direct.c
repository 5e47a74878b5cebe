/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct access: what it moves is what messages move, whatever servers grant, refuse and take back. The first cases
 * use themisd, those below "a server that does as it is told" one in this process.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/client/fake.h"
#include "test/client/random.h"
#include "test/client/servers.h"
#include "test/lib/run.h"
#include "util/clock.h"

enum { READ_WRITE = THEMIS_OPEN_READ | THEMIS_OPEN_WRITE, MODEL_BYTES = 1 << 20, THREADS = 4 };
static const uint64_t timeout = 1500 * THEMIS_NS_PER_MS;

static unsigned char model[2 * MODEL_BYTES];

/* Two handles of a file: what the first does is direct, what the second does is not. */
static themis_t *session;
static themis_file_t *direct, *plain;

static uint64_t moved_directly(const themis_file_t *file)
{
    themis_moved_t moved;

    themis_file_moved(file, &moved);
    return moved.direct;
}

static uint64_t moved_by_messages(const themis_file_t *file)
{
    themis_moved_t moved;

    themis_file_moved(file, &moved);
    return moved.messages;
}

static void open_both(const char *list, const char *path, int flags)
{
    ck_ok(test_connect(list, timeout, &session));
    ck_ok(themis_open(session, path, READ_WRITE | flags, 0644, NULL, &direct));
    ck_ok(themis_open(session, path, READ_WRITE, 0644, NULL, &plain));
    ck_ok(themis_file_set_direct(direct, 1));
    ck_ok(themis_file_set_direct(plain, -1));
}

static void close_both(void)
{
    ck_ok(themis_close(direct));
    ck_ok(themis_close(plain));
    themis_disconnect(session);
}

static void write_all(themis_file_t *file, const void *bytes, size_t count, uint64_t offset)
{
    size_t done = 0;

    ck_ok(themis_write(file, bytes, count, offset, &done));
    ck_assert_uint_eq(done, count);
}

static void expect_at(themis_file_t *file, const void *bytes, size_t count, uint64_t offset)
{
    unsigned char *found = malloc(count);
    size_t done = 0;

    memset(found, 0x5a, count);
    ck_ok(themis_read(file, found, count, offset, &done));
    ck_assert_uint_eq(done, count);
    ck_assert(memcmp(found, bytes, count) == 0);
    free(found);
}

/* --- themisd ------------------------------------------------------------------------------------------------------ */

static void open_fresh(void)
{
    open_both(test_server_list, "/direct", THEMIS_OPEN_CREATE | THEMIS_OPEN_TRUNCATE);
    write_all(plain, model, sizeof model, 0); /* connects with all servers */
    ck_ok(themis_truncate(plain, 0));
}

static void themisd_begin(void)
{
    ck_assert_int_eq(test_servers_start(), 0);
    open_fresh();
}

static void themisd_end(void)
{
    close_both();
    test_servers_stop();
}

TEST(both_ways_meet_in_the_same_bytes)
{
    static unsigned char bytes[5 * TEST_STRIPE];

    for (int round = 0; round < 50; round++) {
        uint64_t offset = draw(MODEL_BYTES), count = 1 + draw(sizeof bytes);
        memset(bytes, 1 + round, count);
        write_all(round % 2 ? direct : plain, bytes, count, offset);
        expect_at(round % 2 ? plain : direct, bytes, count, offset);
    }
    ck_assert_uint_gt(moved_directly(direct), 0);
    ck_assert_uint_eq(moved_by_messages(direct), 0);
    ck_assert_uint_eq(moved_directly(plain), 0);
}

/* Whole pages are written to memory that was used before, then parts of the pages beside them. */
TEST(pages_beside_those_written_are_zeros)
{
    enum { PAGE = 4096, LARGE = 64 * PAGE };
    static unsigned char used[MODEL_BYTES];

    for (int round = 0; round < 10; round++) {
        uint64_t place = (uint64_t)(1 + draw(20)) * PAGE, count = LARGE + draw(64) * PAGE;
        memset(used, 0xee, sizeof used);
        write_all(direct, used, sizeof used, 0);
        ck_ok(themis_truncate(direct, 0));
        memset(used, 0, sizeof used);
        memset(used + place, 1, count);
        write_all(direct, used + place, count, place);
        memset(used + place + count + 10, 2, 100);
        write_all(round % 2 ? plain : direct, used + place + count + 10, 100, place + count + 10);
        memset(used + place - 100, 3, 200);
        write_all(round % 2 ? direct : plain, used + place - 100, 200, place - 100);
        expect_at(direct, used, place + count + 110, 0);
        expect_at(plain, used, place + count + 110, 0);
        ck_ok(themis_truncate(plain, sizeof used));
        expect_at(direct, used, sizeof used, 0);
        ck_ok(themis_truncate(plain, 0));
    }
    ck_assert_uint_gt(moved_directly(direct), 10 * (sizeof used + LARGE));
}

static uint64_t model_size;

static themis_run_t random_run(void)
{
    themis_run_t run = {.offset = draw(MODEL_BYTES), .length = 1 + draw(draw(4) ? 100 : 9000), .count = 1 + draw(20)};

    if (draw(3) == 0)
        run.length = UINT64_C(8) << draw(5);
    run.stride = run.length + (draw(2) ? draw(200) : draw(8000));
    return run;
}

/* Memory in several pieces, with empty ones between them. */
static themis_list_t split_list(char *bytes, const themis_run_t *run, struct iovec *memory)
{
    uint64_t total = run->length * run->count, at = 0, step = draw(2) ? run->length : 1 + draw(total);
    size_t pieces = 0;

    for (;; at += step, pieces++) {
        uint64_t part = pieces >= 50 || step > total - at ? total - at : step;
        memory[pieces] = (struct iovec){bytes + at, part};
        if (part == total - at)
            break;
        if (draw(4) == 0)
            memory[++pieces] = (struct iovec){NULL, 0};
    }
    return (themis_list_t){memory, pieces + 1, run, 1};
}

static void write_random(themis_file_t *file)
{
    static char bytes[20 * 9001];
    themis_run_t run = random_run();
    struct iovec memory[64];
    size_t done = 0, at = 0;

    for (uint64_t i = 0; i < run.count; i++)
        for (uint64_t b = 0; b < run.length; b++)
            model[run.offset + i * run.stride + b] = (unsigned char)(bytes[at++] = (char)draw(256));
    uint64_t end = run.offset + (run.count - 1) * run.stride + run.length;
    model_size = end > model_size ? end : model_size;
    themis_list_t list = split_list(bytes, &run, memory);
    ck_ok(themis_write_list(file, &list, &done));
    ck_assert_uint_eq(done, at);
}

static void read_random(themis_file_t *file)
{
    static char bytes[20 * 9001];
    themis_run_t run = random_run();
    struct iovec memory[64];
    themis_list_t list = split_list(bytes, &run, memory);
    size_t done = 0, at = 0, wanted = SIZE_MAX, wrong = 0;

    memset(bytes, 0x5a, sizeof bytes);
    ck_ok(themis_read_list(file, &list, &done));
    for (uint64_t i = 0; i < run.count; i++)
        for (uint64_t b = 0; b < run.length; b++, at++) {
            uint64_t offset = run.offset + i * run.stride + b;
            if (offset >= model_size && wanted == SIZE_MAX)
                wanted = at;
            wrong += (unsigned char)bytes[at] != (offset < model_size ? model[offset] : 0x5a);
        }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(done, wanted == SIZE_MAX ? at : wanted);
}

static void check_against_model(void)
{
    themis_stat_t stat;
    uint64_t size = draw(2 * MODEL_BYTES);

    switch (draw(20)) {
    case 0:
        ck_ok(themis_truncate(plain, size));
        if (size < model_size)
            memset(model + size, 0, model_size - size);
        model_size = size;
        break;
    case 1:
        ck_ok(themis_file_stat(plain, &stat));
        ck_assert_uint_eq(stat.size, model_size);
        break;
    case 2:
    case 3:
        write_random(plain);
        break;
    case 4:
    case 5:
        read_random(plain);
        break;
    default:
        (draw(2) ? write_random : read_random)(direct);
    }
}

TEST(random_accesses_agree_with_a_model)
{
    for (int round = 0; round < 3000; round++)
        check_against_model();
    ck_assert_uint_gt(moved_directly(direct), moved_by_messages(direct));
}

TEST(a_read_ends_where_the_file_does)
{
    char bytes[300];
    size_t done = 1;

    memset(bytes, 'x', sizeof bytes);
    write_all(direct, bytes, 200, 1000);
    ck_ok(themis_read(direct, bytes, sizeof bytes, 1100, &done));
    ck_assert_uint_eq(done, 100);
    ck_ok(themis_read(direct, bytes, sizeof bytes, 1200, &done));
    ck_assert_uint_eq(done, 0);
    write_all(direct, bytes, 300, 1150);
    expect_at(direct, bytes, 300, 1150);
}

TEST(a_write_says_when_it_was)
{
    themis_stat_t before, after;

    write_all(direct, "a", 1, 0);
    ck_ok(themis_file_stat(plain, &before));
    usleep(50000);
    write_all(direct, "b", 1, 0);
    ck_ok(themis_file_stat(plain, &after));
    ck_assert_uint_ge(after.modified, before.modified + 30 * THEMIS_NS_PER_MS);
}

TEST(memory_that_is_not_there_is_refused)
{
    size_t done;

    write_all(direct, model, 4096, 0);
    uint64_t before = moved_directly(direct);
    ck_assert_int_eq(themis_read(direct, NULL, 4096, 0, &done), THEMIS_BAD_ADDRESS);
    ck_assert_int_eq(themis_write(direct, (void *)64, 100, 0, &done), THEMIS_BAD_ADDRESS);
    ck_assert_uint_eq(moved_directly(direct), before);
}

TEST(requests_end_at_once)
{
    static char bytes[3 * TEST_STRIPE], found[3 * TEST_STRIPE];
    themis_run_t run = {10, sizeof bytes, sizeof bytes, 1};
    themis_request_t *request;
    struct iovec memory;
    themis_list_t list = test_list(bytes, &run, &memory);
    size_t done = 0;

    memset(bytes, 'r', sizeof bytes);
    ck_ok(themis_iwrite_list(direct, &list, &request));
    ck_assert_int_eq(themis_request_test(request, &done), THEMIS_OK);
    ck_assert_uint_eq(done, sizeof bytes);
    list = test_list(found, &run, &memory);
    ck_ok(themis_iread_list(direct, &list, &request));
    ck_ok(themis_request_wait(request, &done));
    ck_assert(done == sizeof bytes && memcmp(bytes, found, sizeof bytes) == 0);
    ck_assert_uint_eq(moved_directly(direct), 2 * sizeof bytes);
}

static unsigned count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned count = 0;

    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:") != NULL;
    fclose(maps);
    return count;
}

TEST(a_child_has_no_access)
{
    int status;

    unsigned before = count_mappings();
    write_all(direct, model, 4096, 0);
    ck_assert_uint_gt(count_mappings(), before);
    pid_t child = fork();
    if (child == 0)
        _exit(count_mappings() > before);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int last_server_is_named(void)
{
    return strstr(themis_last_error(), strrchr(test_server_list, ':')) != NULL;
}

/* The error is that of the messages, and names the server. What comes back is used by handles that are opened then, and
 * by none that was open before. */
TEST(a_server_that_dies_is_named)
{
    size_t done;

    write_all(direct, model, 3 * TEST_STRIPE, 0);
    test_server_kill(2);
    int failed = 0;
    for (uint64_t stripe = 0; stripe < 3; stripe++)
        if (themis_write(direct, model, TEST_STRIPE, stripe * TEST_STRIPE, &done) != THEMIS_OK) {
            failed++;
            ck_assert(last_server_is_named());
        }
    ck_assert_int_eq(failed, 1);
    test_server_start(2);
    themis_status_t status = THEMIS_UNREACHABLE;
    while (status == THEMIS_UNREACHABLE) /* until it has started */
        status = themis_write(direct, model, 3 * TEST_STRIPE, 0, &done);
    ck_assert_int_eq(status, THEMIS_LOST);
    ck_assert(last_server_is_named());
    ck_assert_int_eq(themis_close(direct), THEMIS_LOST);
    ck_assert_int_eq(themis_close(plain), THEMIS_LOST);
    themis_disconnect(session);
    open_fresh();
    uint64_t before = moved_directly(direct);
    write_all(direct, model, 3 * TEST_STRIPE, 0);
    ck_assert_uint_eq(moved_directly(direct), before + 3 * TEST_STRIPE);
}

/* --- a server that does as it is told ----------------------------------------------------------------------------- */

static fake_t fake;

static void fake_open(void)
{
    fake_start(&fake);
    open_both(fake.list, "/f", 0);
    write_all(plain, "", 1, 0);
}

static void fake_close(void)
{
    close_both();
    fake_stop(&fake);
}

typedef struct region {
    int number;
    themis_file_t *file;
    int rounds;
    pthread_t thread;
} region_t;

/* Writes into a part of its own of each block, and reads it again. */
static void *use_region(void *arg)
{
    const region_t *region = arg;
    enum { PART = 900, BLOCK = PART * THREADS };
    unsigned char bytes[8 * PART], found[8 * PART];

    for (int round = 0; round < region->rounds; round++) {
        themis_run_t run = {(uint64_t)(round * 37 % 200) * BLOCK + (uint64_t)region->number * PART, PART, BLOCK, 8};
        struct iovec memory;
        themis_list_t list = test_list(bytes, &run, &memory);
        size_t done = 0;
        memset(bytes, region->number * 50 + round % 50, sizeof bytes);
        memset(found, 0x5a, sizeof found);
        if (themis_write_list(region->file, &list, &done) != THEMIS_OK || done != sizeof bytes)
            return (char *)"a write failed";
        list = test_list(found, &run, &memory);
        if (themis_read_list(region->file, &list, &done) != THEMIS_OK || done != sizeof bytes)
            return (char *)"a read failed";
        if (memcmp(bytes, found, sizeof bytes) != 0)
            return (char *)"what was written is not there";
    }
    return NULL;
}

static void join_all(region_t *regions)
{
    void *fault;

    for (int i = 0; i < THREADS; i++) {
        pthread_join(regions[i].thread, &fault);
        ck_assert_msg(!fault, "thread %d: %s", i, (const char *)fault);
    }
}

TEST(what_is_taken_back_is_moved_again)
{
    region_t regions[THREADS];

    for (int i = 0; i < THREADS; i++) {
        regions[i] = (region_t){.number = i, .file = direct, .rounds = 4000};
        pthread_create(&regions[i].thread, NULL, use_region, &regions[i]);
    }
    for (int i = 0; i < 400; i++) {
        fake_revoke(&fake);
        usleep((useconds_t)draw(2000));
    }
    join_all(regions);
    ck_assert_uint_gt(moved_directly(direct), 0);
    ck_assert_uint_gt(fake.maps, 10);
}

static void *revoke_once(void *arg)
{
    fake_revoke(&fake);
    return arg;
}

/* A copy of 1 MiB has several looks in it: the server takes the grant back while it is under way. */
TEST(large_copies_are_done_again)
{
    static unsigned char bytes[FAKE_BYTES];
    pthread_t revoker;

    for (int round = 0; round < 300; round++) {
        memset(bytes, 1 + round % 200, sizeof bytes);
        pthread_create(&revoker, NULL, revoke_once, NULL);
        write_all(direct, bytes, sizeof bytes, 0);
        pthread_join(revoker, NULL);
        expect_at(round % 2 ? direct : plain, bytes, sizeof bytes, 0);
    }
    ck_assert_uint_gt(moved_directly(direct), 0);
}

TEST(a_refusal_holds_as_long_as_it_says)
{
    fake.refuse = 200 * THEMIS_NS_PER_MS;
    for (int i = 0; i < 20; i++)
        write_all(direct, model, 100, 0);
    ck_assert_uint_eq(fake.maps, 1);
    fake.refuse = 0;
    usleep(210000);
    write_all(direct, model, 100, 0);
    ck_assert_uint_eq(fake.maps, 2);
    ck_assert_uint_eq(moved_directly(direct), 100);
}

TEST(never_holds_for_the_connection)
{
    fake.refuse = UINT64_MAX;
    for (int i = 0; i < 20; i++)
        write_all(direct, model, 100, 0);
    ck_assert_uint_eq(fake.maps, 1);
    fake.refuse = 0;
    write_all(direct, model, 100, 0);
    ck_assert_uint_eq(fake.maps, 1);
    fake_disconnect(&fake);
    write_all(plain, model, 100, 0);
    write_all(direct, model, 100, 0);
    ck_assert_uint_eq(fake.maps, 2);
    ck_assert_uint_eq(moved_directly(direct), 100);
}

TEST(another_connection_begins_anew)
{
    write_all(direct, model, FAKE_EXTENT, 0);
    ck_assert_uint_eq(fake.segments, 2);
    fake_disconnect(&fake);
    write_all(direct, model, FAKE_EXTENT, 0);
    expect_at(plain, model, FAKE_EXTENT, 0);
    ck_assert_uint_eq(fake.segments, 4);
    ck_assert_uint_eq(moved_directly(direct), 2 * FAKE_EXTENT);
}

TEST(a_dead_beacon_is_seen)
{
    write_all(direct, model, 100, 0);
    fake.beacon->word |= THEMIS_UTIL_DIRECT_DEAD;
    write_all(direct, model, 100, 0);
    expect_at(direct, model, 100, 0);
    ck_assert_uint_eq(moved_directly(direct), 100);
    ck_assert_uint_eq(fake.maps, 1);
}

TEST(untruths_are_noticed)
{
    fake.lie = 1 + _i;
    write_all(direct, "abc", 3, 5 * FAKE_EXTENT);
    expect_at(direct, "abc", 3, 5 * FAKE_EXTENT);
    ck_assert_uint_eq(moved_directly(direct), 0);
    ck_assert_uint_gt(fake.maps, 0);
}

/* Holes stay holes when a few bytes are written far from each other; what is read never makes memory. */
static int is_allocated(unsigned extent)
{
    pthread_mutex_lock(&fake.lock);
    int allocated = fake.allocated[extent];
    pthread_mutex_unlock(&fake.lock);
    return allocated;
}

TEST(little_is_allocated)
{
    static char bytes[FAKE_BYTES];
    themis_run_t run = {0, 1, FAKE_BYTES - 1, 2};
    struct iovec memory;
    themis_list_t list = test_list(bytes, &run, &memory);
    size_t done;

    ck_ok(themis_read(direct, bytes, sizeof bytes, 0, &done));
    ck_assert_int_eq(is_allocated(9), 1); /* by messages, as this server does it */
    pthread_mutex_lock(&fake.lock);
    memset(fake.allocated + 1, 0, sizeof fake.allocated - 1);
    pthread_mutex_unlock(&fake.lock);
    write_all(direct, bytes, 10, 2 * FAKE_EXTENT);
    ck_assert(is_allocated(2) && !is_allocated(3));
    ck_ok(themis_write_list(direct, &list, &done));
    ck_assert_int_eq(is_allocated(9), 1); /* up to 4 MiB the range is allocated whole */
}

/* Closed files keep their grants for a while, and the last handle of many gives them back. */
TEST(a_grant_outlives_its_file)
{
    write_all(direct, model, 100, 0);
    ck_ok(themis_close(direct));
    ck_ok(themis_open(session, "/f", READ_WRITE, 0644, NULL, &direct));
    write_all(direct, model, 100, 0);
    ck_assert_uint_eq(fake.maps, 1);
    ck_assert_uint_eq(moved_directly(direct), 100);
    ck_assert_uint_eq(fake.unmaps, 0);
}

static Suite *direct_suite(void)
{
    Suite *suite = suite_create("direct access");

    test_case(suite, "themisd", 120, themisd_begin, themisd_end,
              TESTS({both_ways_meet_in_the_same_bytes, 1}, {pages_beside_those_written_are_zeros, 1},
                    {random_accesses_agree_with_a_model, 1}, {a_read_ends_where_the_file_does, 1},
                    {a_write_says_when_it_was, 1}, {memory_that_is_not_there_is_refused, 1}, {requests_end_at_once, 1},
                    {a_child_has_no_access, 1}, {a_server_that_dies_is_named, 1}));
    test_case(suite, "fake", 120, fake_open, fake_close,
              TESTS({what_is_taken_back_is_moved_again, 1}, {large_copies_are_done_again, 1},
                    {a_refusal_holds_as_long_as_it_says, 1}, {never_holds_for_the_connection, 1},
                    {another_connection_begins_anew, 1}, {a_dead_beacon_is_seen, 1},
                    {untruths_are_noticed, FAKE_LIES - 1}, {little_is_allocated, 1}, {a_grant_outlives_its_file, 1}));
    return suite;
}

int main(void)
{
    setenv("UCX_NET_DEVICES", "lo", 0);
    if (access("server/themisd", X_OK) != 0) {
        fputs("server/themisd is not built\n", stderr);
        return 77;
    }
    return test_run(direct_suite());
}
