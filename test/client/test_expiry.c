/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are open for longer than their capabilities last. */
#define _GNU_SOURCE
#include <check.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/client/servers.h"
#include "test/lib/run.h"
#include "util/clock.h"

enum { NOBODY = 65534, BYTES = 5 * TEST_STRIPE };

static themis_t *session;
static themis_file_t *file;
static unsigned char bytes[BYTES], seen[BYTES + 1];
static size_t done;

/* Root needs no capabilities, so the process of a test becomes that of another user. */
static void open_file(void)
{
    setenv("THEMIS_DIRECT", "off", 1);
    if (geteuid() == 0) {
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setgid(NOBODY), 0);
        ck_assert_int_eq(setuid(NOBODY), 0);
    }
    ck_ok(test_connect(test_server_list, 10 * THEMIS_NS_PER_S, &session));
    memset(bytes, 'x', sizeof bytes);
    ck_ok(themis_open(session, "/f", THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_TRUNCATE,
                      0600, NULL, &file));
    ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
}

static void close_file(void)
{
    ck_ok(themis_close(file));
    themis_unlink(session, "/f");
    themis_disconnect(session);
}

static void let_expire(void)
{
    usleep(1200000);
}

/* Each is the first to learn that the capability has expired. */
static void each_operation(int number)
{
    themis_stat_t stat;
    int64_t before;

    let_expire();
    switch (number) {
    case 0:
        ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
        ck_assert_uint_eq(done, sizeof bytes);
        break;
    case 1:
        ck_ok(themis_read(file, seen, sizeof seen, 0, &done)); /* over the end: the servers are asked for it */
        ck_assert_uint_eq(done, sizeof bytes);
        ck_assert_mem_eq(seen, bytes, sizeof bytes);
        break;
    case 2:
        ck_ok(themis_file_stat(file, &stat));
        ck_assert_uint_eq(stat.size, sizeof bytes);
        break;
    case 3:
        ck_ok(themis_truncate(file, sizeof bytes));
        break;
    case 4:
        ck_ok(themis_allocate(file, sizeof bytes));
        break;
    case 5:
        ck_ok(themis_sync(file));
        break;
    case 6:
        ck_ok(themis_lock(file, 0, 10, THEMIS_LOCK_EXCLUSIVE));
        let_expire();
        ck_ok(themis_write(file, bytes, 10, 0, &done)); /* under the lock */
        let_expire();
        ck_ok(themis_unlock(file, 0, 10));
        break;
    case 7:
        ck_ok(themis_counter_add(file, 3, &before));
        break;
    }
}

TEST(operations_go_on)
{
    each_operation(_i);
}

TEST(a_handle_of_another_rank_goes_on)
{
    char packed[4096];
    size_t length;
    themis_file_t *other;

    ck_ok(themis_file_pack(file, packed, sizeof packed, &length));
    let_expire();
    ck_ok(themis_file_unpack(session, packed, length, &other));
    ck_ok(themis_read(other, seen, sizeof bytes, 0, &done));
    ck_assert_mem_eq(seen, bytes, sizeof bytes);
    ck_ok(themis_close(other));
}

TEST(rights_last_until_they_expire)
{
    ck_ok(themis_chmod(session, "/f", 0400));
    ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
    let_expire();
    ck_assert_int_eq(themis_write(file, bytes, sizeof bytes, 0, &done), THEMIS_ACCESS);
    ck_ok(themis_chmod(session, "/f", 0600));
    ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
}

TEST(without_the_name_they_are_not_renewed)
{
    themis_file_t *other;

    ck_ok(themis_rename(session, "/f", "/g"));
    ck_ok(themis_read(file, seen, sizeof bytes, 0, &done));
    let_expire();
    ck_assert_int_eq(themis_read(file, seen, sizeof bytes, 0, &done), THEMIS_STALE);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "expired"));
    ck_ok(themis_open(session, "/f", THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0600, NULL, &other));
    ck_assert_int_eq(themis_write(file, bytes, sizeof bytes, 0, &done), THEMIS_STALE); /* not another file's */
    ck_ok(themis_close(other));
    ck_ok(themis_unlink(session, "/g"));
}

int main(void)
{
    Suite *suite = suite_create("expiry");

    test_server_capability_lifetime = "1s";
    if (test_servers_start() != 0)
        return 77;
    test_case(suite, "all", 60, open_file, close_file,
              TESTS({operations_go_on, 8}, {a_handle_of_another_rank_goes_on, 1}, {rights_last_until_they_expire, 1},
                    {without_the_name_they_are_not_renewed, 1}));
    int failed = test_run(suite);
    test_servers_stop();
    return failed;
}
