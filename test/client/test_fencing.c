/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that holds a lock and is stopped for longer than its lease: what it does when it goes on changes nothing.
 */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/client/servers.h"
#include "test/lib/run.h"
#include "themis/themis.h"
#include "util/clock.h"

enum { BYTES = TEST_SERVERS * TEST_STRIPE, APART = 16 * BYTES };
static const int create = THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE;
static const char *const path = "/fenced";
static themis_t *session;
static themis_file_t *alive;
static pid_t holder;
static int to_holder[2], from_holder[2];

static themis_file_t *open_file(void)
{
    themis_layout_t layout = {TEST_STRIPE, TEST_SERVERS, 0};
    themis_file_t *file;

    ck_ok(themis_open(session, path, create, 0644, &layout, &file));
    return file;
}

static themis_status_t write_all(themis_file_t *file, uint64_t offset, char byte)
{
    char bytes[BYTES];
    size_t done;

    memset(bytes, byte, sizeof bytes);
    return themis_write(file, bytes, sizeof bytes, offset, &done);
}

static void expect_all(themis_file_t *file, uint64_t offset, char byte)
{
    char bytes[BYTES], wanted[BYTES];
    size_t done;

    memset(wanted, byte, sizeof wanted);
    ck_ok(themis_read(file, bytes, sizeof bytes, offset, &done));
    ck_assert_uint_eq(done, sizeof bytes);
    ck_assert_mem_eq(bytes, wanted, sizeof bytes);
}

static void tell(int fd, int what)
{
    ck_assert_int_eq(write(fd, &what, sizeof what), sizeof what);
}

static int hear(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t value;
    int what;

    while (alive && poll(&ready, 1, 50) == 0)
        ck_ok(themis_counter_get(alive, &value)); /* this process is not to be taken for one that is stopped */
    ck_assert_int_eq(read(fd, &what, sizeof what), sizeof what);
    return what;
}

/* Locks and writes "a"; when it is told to go on, writes "z" and tells what came of it. */
static void holder_main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ck_ok(test_connect(test_server_list, 20 * THEMIS_NS_PER_S, &session));
    themis_file_t *file = open_file();
    for (;;) {
        ck_ok(themis_lock(file, 0, BYTES, THEMIS_LOCK_EXCLUSIVE));
        ck_ok(write_all(file, 0, 'a'));
        tell(from_holder[1], 0);
        if (hear(to_holder[0]) < 0)
            break;
        tell(from_holder[1], write_all(file, 0, 'z'));
        themis_unlock(file, 0, BYTES);
        hear(to_holder[0]);
    }
    _exit(0);
}

static void start(void)
{
    test_server_lease = "1s"; /* a client ticks once a second at first */
    ck_assert_int_eq(test_servers_start(), 0);
    ck_assert(pipe(to_holder) == 0 && pipe(from_holder) == 0);
    holder = fork();
    if (holder == 0)
        holder_main();
    ck_ok(test_connect(test_server_list, 20 * THEMIS_NS_PER_S, &session));
    alive = open_file();
}

static void stop(void)
{
    themis_close(alive);
    themis_disconnect(session);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    for (int i = 0; i < TEST_SERVERS; i++)
        test_server_kill(i);
}

static void stop_holder(void)
{
    ck_assert_int_eq(hear(from_holder[0]), 0);
    ck_assert_int_eq(kill(holder, SIGSTOP), 0);
    waitpid(holder, NULL, WUNTRACED);
}

/* What came of the holder's write. */
static int wake_holder(void)
{
    tell(to_holder[1], 0);
    kill(holder, SIGCONT);
    return hear(from_holder[0]);
}

TEST(a_holder_that_was_stopped_writes_nothing)
{
    themis_file_t *file = open_file();

    for (int round = 0; round < 3; round++) {
        stop_holder();
        ck_ok(themis_lock(file, 0, BYTES, THEMIS_LOCK_EXCLUSIVE)); /* when the lease has expired */
        ck_ok(write_all(file, 0, 'b'));
        ck_assert_int_eq(wake_holder(), THEMIS_STALE);
        expect_all(file, 0, 'b');
        ck_ok(themis_unlock(file, 0, BYTES));
        expect_all(file, 0, 'b');
        tell(to_holder[1], 0);
    }
    themis_close(file);
}

/* What was read under the lock is what is there until the lock is released. */
TEST(a_reader_is_not_overtaken)
{
    themis_file_t *file = open_file();

    stop_holder();
    ck_ok(themis_lock(file, 0, BYTES, THEMIS_LOCK_SHARED));
    expect_all(file, 0, 'a');
    ck_assert_int_eq(wake_holder(), THEMIS_STALE);
    expect_all(file, 0, 'a');
    ck_ok(themis_unlock(file, 0, BYTES));
    themis_close(file);
}

/* Locks of the same file that others hold are as good as before. */
TEST(others_keep_their_locks)
{
    themis_file_t *file = open_file(), *other = open_file();

    ck_ok(themis_lock(other, APART, BYTES, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(write_all(other, APART, 'o'));
    for (int round = 0; round < 2; round++) {
        stop_holder();
        ck_ok(themis_lock(file, 0, BYTES, THEMIS_LOCK_EXCLUSIVE));
        ck_ok(write_all(file, 0, 'b'));
        ck_ok(write_all(other, APART, (char)('p' + round)));
        expect_all(other, APART, (char)('p' + round));
        ck_ok(themis_unlock(file, 0, BYTES));
        wake_holder();
        tell(to_holder[1], 0);
    }
    ck_ok(themis_unlock(other, APART, BYTES));
    themis_close(other);
    themis_close(file);
}

/* A copy into the server's memory cannot be refused, so there is none under a lock. */
TEST(locked_bytes_go_by_messages)
{
    themis_file_t *file = open_file();
    themis_moved_t before, after;

    for (int i = 0; i < 100; i++)
        ck_ok(write_all(file, APART, 'd'));
    themis_file_moved(file, &before);
    ck_assert_uint_gt(before.direct, 0);
    ck_ok(themis_lock(file, APART, BYTES, THEMIS_LOCK_EXCLUSIVE));
    ck_ok(write_all(file, APART, 'e'));
    expect_all(file, APART, 'e');
    ck_ok(themis_unlock(file, APART, BYTES));
    themis_file_moved(file, &after);
    ck_assert_uint_eq(after.direct, before.direct);
    ck_assert_uint_eq(after.messages, before.messages + 2 * BYTES);
    ck_ok(write_all(file, APART, 'f'));
    themis_file_moved(file, &after);
    ck_assert_uint_eq(after.direct, before.direct + BYTES);
    themis_close(file);
}

int main(void)
{
    Suite *suite = suite_create("fencing");

    if (access("server/themisd", X_OK) != 0) {
        fputs("server/themisd is not built\n", stderr);
        return 77;
    }
    test_case(suite, "all", 60, start, stop,
              TESTS({a_holder_that_was_stopped_writes_nothing, 1}, {a_reader_is_not_overtaken, 1},
                    {others_keep_their_locks, 1}, {locked_bytes_go_by_messages, 1}));
    return test_run(suite);
}
