/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers with posix stores that are killed and started again while processes work under locks and by the shared file
 * pointer: each keeps its lock, nobody else gets it, and each place of the pointer is given once.
 */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/client/servers.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "themis/themis.h"
#include "util/clock.h"

enum { PROCESSES = 4, TURNS = 40, KILLS = 5, RECORDS = 1 << 16, WORDS = TEST_SERVERS * TEST_STRIPE / 8 };
static const int create = THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE;
static themis_t *session;

static void start(void)
{
    test_scratch_make();
    test_server_directory = test_scratch;
    ck_assert_int_eq(test_servers_start(), 0);
}

static void stop(void)
{
    for (int i = 0; i < TEST_SERVERS; i++)
        test_server_kill(i);
    test_scratch_remove();
}

static themis_file_t *open_file(const char *path)
{
    themis_layout_t layout = {TEST_STRIPE, TEST_SERVERS, 0};
    themis_file_t *file;

    ck_ok(themis_open(session, path, create, 0644, &layout, &file));
    return file;
}

static void connect_all(void)
{
    ck_ok(test_connect(test_server_list, 40 * THEMIS_NS_PER_S, &session));
}

/* All words, which are on all servers, have the same value; they get the next one. */
static void turn_under_lock(themis_file_t *file)
{
    static uint64_t words[WORDS];
    size_t done;

    memset(words, 0, sizeof words);
    ck_ok(themis_lock(file, 0, sizeof words, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_read(file, words, sizeof words, 0, &done));
    for (int i = 1; i < WORDS; i++)
        ck_assert_uint_eq(words[i], words[0]);
    for (int i = 0; i < WORDS; i++)
        words[i]++;
    ck_ok(themis_write(file, words, sizeof words, 0, &done));
    ck_ok(themis_unlock(file, 0, sizeof words));
}

static void turn_by_pointer(themis_file_t *file, uint64_t record)
{
    int64_t place;
    size_t done;

    ck_ok(themis_counter_add(file, sizeof record, &place));
    ck_ok(themis_write(file, &record, sizeof record, RECORDS + (uint64_t)place, &done));
}

static void worker_main(int number)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    connect_all();
    themis_file_t *file = open_file("/turns");
    for (int i = 0; i < TURNS; i++) {
        turn_under_lock(file);
        turn_by_pointer(file, (uint64_t)(number * TURNS + i + 1));
        usleep(5000);
    }
    ck_ok(themis_close(file));
    themis_disconnect(session);
    _exit(0);
}

/* Each record once, in whatever order, and nothing else. */
static void expect_records(themis_file_t *file)
{
    static uint64_t records[PROCESSES * TURNS + 1];
    static int seen[PROCESSES * TURNS + 1];
    size_t done;

    ck_ok(themis_read(file, records, sizeof records, RECORDS, &done));
    ck_assert_uint_eq(done, PROCESSES * TURNS * sizeof *records);
    for (int i = 0; i < PROCESSES * TURNS; i++) {
        ck_assert_uint_ge(records[i], 1);
        ck_assert_uint_le(records[i], PROCESSES * TURNS);
        ck_assert_int_eq(seen[records[i]]++, 0);
    }
}

static uint64_t first_word(themis_file_t *file)
{
    uint64_t word = 0;
    size_t done;

    ck_ok(themis_read(file, &word, sizeof word, 0, &done));
    return word;
}

/* Returns 1 once all workers have ended well. */
static int workers_ended(pid_t *workers)
{
    int ended = 0, status;

    for (int i = 0; i < PROCESSES; i++) {
        if (workers[i] && waitpid(workers[i], &status, WNOHANG) == workers[i]) {
            ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "worker %d failed", i);
            workers[i] = 0;
        }
        ended += workers[i] == 0;
    }
    return ended == PROCESSES;
}

TEST(nobody_notices_that_servers_are_killed)
{
    pid_t workers[PROCESSES];
    unsigned seed = (unsigned)getpid();

    for (int i = 0; i < PROCESSES; i++)
        if ((workers[i] = fork()) == 0)
            worker_main(i);
    for (int kills = 0; kills < KILLS && !workers_ended(workers); kills++) {
        int victim = kills % 2 ? (int)(rand_r(&seed) % TEST_SERVERS) : 0; /* 0 has the locks and the pointer */
        usleep(100000 + rand_r(&seed) % 300000);
        test_server_kill(victim);
        test_server_start(victim);
    }
    while (!workers_ended(workers))
        usleep(10000);
    connect_all();
    themis_file_t *file = open_file("/turns");
    ck_assert_uint_eq(first_word(file), PROCESSES * TURNS);
    expect_records(file);
    ck_ok(themis_close(file));
    themis_disconnect(session);
}

static void restart(void)
{
    test_server_kill(0);
    test_server_start(0);
}

static themis_file_t *other_file(themis_t **other, const char *path)
{
    themis_t *mine = session;

    connect_all();
    *other = session;
    themis_file_t *file = open_file(path);
    session = mine;
    return file;
}

/* Who has locks keeps them, also where only a part is left; others get them when they are released. */
TEST(locks_are_reclaimed)
{
    themis_t *other;

    connect_all();
    themis_file_t *file = open_file("/held"), *theirs = other_file(&other, "/held");
    ck_ok(themis_lock(file, 0, 1000, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_unlock(file, 400, 100));
    ck_ok(themis_lock(file, 2000, UINT64_MAX, 0));
    for (int i = 0; i < 2; i++) {
        restart();
        ck_assert_int_eq(themis_lock(theirs, 399, 1, THEMIS_LOCK_TRY), THEMIS_LOCKED);
        first_word(file); /* what follows an access tells */
        ck_ok(themis_lock(theirs, 400, 100, THEMIS_LOCK_EXCLUSIVE));
        ck_assert_int_eq(themis_lock(theirs, 399, 1, THEMIS_LOCK_TRY), THEMIS_LOCKED);
        ck_assert_int_eq(themis_lock(theirs, 500, 1, THEMIS_LOCK_TRY), THEMIS_LOCKED);
        ck_ok(themis_lock(theirs, 1000, 1000, THEMIS_LOCK_TRY | THEMIS_LOCK_EXCLUSIVE));
        ck_ok(themis_lock(theirs, 5000, 1, THEMIS_LOCK_TRY));
        ck_assert_int_eq(themis_lock(theirs, 5000, 1, THEMIS_LOCK_TRY | THEMIS_LOCK_EXCLUSIVE), THEMIS_LOCKED);
        ck_ok(themis_unlock(theirs, 0, UINT64_MAX));
    }
    ck_ok(themis_unlock(file, 0, UINT64_MAX));
    ck_ok(themis_lock(theirs, 0, UINT64_MAX, THEMIS_LOCK_TRY | THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_close(theirs));
    ck_ok(themis_close(file));
    themis_disconnect(other);
    themis_disconnect(session);
}

/* Those that were replaced are reclaimed as they are now. */
TEST(replaced_locks_are_reclaimed)
{
    const int now = THEMIS_LOCK_TRY, replaced = THEMIS_LOCK_TRY | THEMIS_LOCK_REPLACE;
    themis_t *other;

    connect_all();
    themis_file_t *file = open_file("/replaced"), *theirs = other_file(&other, "/replaced");
    ck_ok(themis_lock(file, 0, 1000, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_lock(file, 400, 100, replaced));
    ck_ok(themis_lock(file, 2000, 100, replaced));
    ck_ok(themis_lock(file, 2000, 100, replaced | THEMIS_LOCK_EXCLUSIVE));
    restart();
    ck_assert_int_eq(themis_lock(theirs, 3000, 1, now | THEMIS_LOCK_TEST), THEMIS_LOCKED); /* who knows */
    ck_ok(themis_lock(file, 3000, 1, now | THEMIS_LOCK_TEST));
    ck_ok(themis_lock(theirs, 400, 100, now | THEMIS_LOCK_TEST));
    ck_ok(themis_lock(theirs, 400, 100, 0));
    ck_assert_int_eq(themis_lock(theirs, 399, 1, now | THEMIS_LOCK_TEST), THEMIS_LOCKED);
    ck_assert_int_eq(themis_lock(theirs, 500, 1, now | THEMIS_LOCK_TEST), THEMIS_LOCKED);
    ck_assert_int_eq(themis_lock(theirs, 2099, 1, now | THEMIS_LOCK_TEST), THEMIS_LOCKED);
    ck_ok(themis_unlock(file, 0, UINT64_MAX));
    ck_ok(themis_lock(theirs, 0, UINT64_MAX, replaced | THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_close(theirs));
    ck_ok(themis_close(file));
    themis_disconnect(other);
    themis_disconnect(session);
}

/* The grace period is a lease; then locks of those who did not come back are lost, and stay so. */
TEST(locks_that_are_not_reclaimed_are_lost)
{
    themis_t *other;
    size_t done;

    connect_all();
    themis_file_t *file = open_file("/lost"), *theirs = other_file(&other, "/lost");
    ck_ok(themis_lock(file, 0, 1000, THEMIS_LOCK_EXCLUSIVE));
    uint64_t begun = themis_util_clock_now();
    restart();
    ck_ok(themis_lock(theirs, 0, 1000, THEMIS_LOCK_EXCLUSIVE)); /* meanwhile the first client does not poll */
    ck_assert_uint_ge(themis_util_clock_now() - begun, 2 * THEMIS_NS_PER_S);
    ck_ok(themis_write(theirs, "b", 1, 0, &done));
    restart();
    ck_ok(themis_write(theirs, "c", 1, 0, &done)); /* reclaims its lock */
    ck_assert_int_eq(themis_write(file, "a", 1, 0, &done), THEMIS_STALE);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "/lost: server 127.0.0.1:"));
    ck_assert_int_eq(themis_write(file, "a", 1, 0, &done), THEMIS_STALE);
    ck_assert_int_eq(themis_lock(file, 2000, 100, THEMIS_LOCK_EXCLUSIVE), THEMIS_STALE);
    ck_assert_int_eq(themis_unlock(file, 0, 1000), THEMIS_STALE);
    ck_ok(themis_unlock(theirs, 0, 1000));
    ck_ok(themis_lock(file, 0, 1000, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_close(theirs));
    ck_ok(themis_close(file));
    themis_disconnect(other);
    themis_disconnect(session);
}

/* A server whose clients held no locks lately does not wait for them. */
TEST(without_holders_there_is_no_grace_period)
{
    themis_t *other;

    connect_all();
    themis_file_t *file = open_file("/free"), *theirs = other_file(&other, "/free");
    ck_ok(themis_lock(file, 0, 1000, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_unlock(file, 0, 1000));
    for (int i = 0; i < 20; i++) { /* the server looks twice a second */
        usleep(100000);
        first_word(file);
    }
    restart();
    ck_ok(themis_lock(theirs, 0, 1000, THEMIS_LOCK_TRY | THEMIS_LOCK_EXCLUSIVE));
    ck_ok(themis_close(theirs));
    ck_ok(themis_close(file));
    themis_disconnect(other);
    themis_disconnect(session);
}

int main(void)
{
    Suite *suite = suite_create("reclaim");

    if (access("server/themisd", X_OK) != 0) {
        fputs("server/themisd is not built\n", stderr);
        return 77;
    }
    test_server_lease = "3s";
    test_case(suite, "all", 120, start, stop,
              TESTS({locks_are_reclaimed, 1}, {replaced_locks_are_reclaimed, 1},
                    {locks_that_are_not_reclaimed_are_lost, 1}, {without_holders_there_is_no_grace_period, 1},
                    {nobody_notices_that_servers_are_killed, 1}));
    return test_run(suite);
}
