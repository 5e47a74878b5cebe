/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that come back without what they had: whoever had a file open is told so. */
#define _GNU_SOURCE
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/namespace.h"
#include "test/client/scene.h"
#include "test/lib/run.h"
#include "themis/themis.h"
#include "util/clock.h"

/* --- data that are lost ------------------------------------------------------------------------------------------- */

/* Server 1 is started again, without what it had. Returns when it answers. */
static void lose_data(void)
{
    themis_t *other;
    char *text;

    test_server_kill(1);
    test_server_start(1);
    ck_ok(test_connect(test_server_list, 10 * THEMIS_NS_PER_S, &other));
    ck_ok(themis_query(other, 1, "instance", &text));
    free(text);
    themis_disconnect(other);
}

static const char *server_name(int index)
{
    static char name[64];
    const char *at = test_server_list;

    while (index-- > 0)
        at = strchr(at, ',') + 1;
    snprintf(name, sizeof name, "server %.*s:", (int)strcspn(at, ","), at);
    return name;
}

static const uint64_t in_time = 3 * THEMIS_NS_PER_S; /* a second, and what a loaded machine adds */

#define ck_lost(call)                                                                                                  \
    do {                                                                                                               \
        uint64_t begun = themis_util_clock_now();                                                                      \
        ck_assert_int_eq((call), THEMIS_LOST);                                                                         \
        ck_assert_uint_lt(themis_util_clock_now() - begun, in_time);                                                   \
        ck_assert_ptr_nonnull(strstr(themis_last_error(), server_name(1)));                                            \
        ck_assert_ptr_nonnull(strstr(themis_last_error(), "gone"));                                                    \
    } while (0)

static const int modes[] = {1, -1}; /* of direct access */

TEST(lost_data_are_reported)
{
    unsigned char bytes[TEST_STRIPE];
    themis_stat_t stat;
    size_t done;
    themis_file_t *file = open_file("/lost");

    ck_ok(themis_file_set_direct(file, modes[_i]));
    ck_ok(write_all(file));
    ck_ok(themis_sync(file));
    lose_data();
    ck_lost(write_all(file));
    ck_lost(themis_read(file, bytes, sizeof bytes, TEST_STRIPE, &done));
    ck_lost(themis_sync(file));
    ck_lost(themis_file_stat(file, &stat));
    ck_lost(themis_allocate(file, 100));
    ck_ok(themis_write(file, bytes, 100, 0, &done)); /* the other servers have all they had */
    ck_ok(themis_read(file, bytes, sizeof bytes, 2 * TEST_STRIPE, &done));
    ck_lost(themis_truncate(file, 0));
    ck_lost(themis_close(file));
}

/* A path that another server keeps. */
static const char *kept_path(const char *base)
{
    static char paths[4][32];
    static int next;
    char *path = paths[next++ % 4];

    for (int i = 0; i == 0 || themis_client_namespace_home(session, path) == 1; i++)
        snprintf(path, sizeof paths[0], "/%s%d", base, i);
    return path;
}

static themis_file_t *open_anew(const char *path, int flags)
{
    themis_file_t *file;

    ck_ok(themis_open(session, path, THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | flags, 0, NULL, &file));
    return file;
}

/* The handle does not write to what another handle of the same file has made of it. */
TEST(new_handles_do_not_help_old_ones)
{
    unsigned char old_bytes[TEST_STRIPE], bytes[TEST_STRIPE], found[TEST_STRIPE];
    size_t done;
    themis_file_t *file, *fresh;
    const char *path = kept_path("again");
    themis_stat_t stat;

    memset(old_bytes, 'o', sizeof old_bytes);
    memset(bytes, 'n', sizeof bytes);
    file = open_file(path);
    ck_ok(themis_file_set_direct(file, modes[_i]));
    ck_ok(write_all(file));
    lose_data();
    fresh = open_anew(path, THEMIS_OPEN_TRUNCATE);
    ck_ok(themis_file_set_direct(fresh, modes[_i]));
    for (int i = 0; i < 3; i++) {
        ck_ok(themis_write(fresh, bytes, sizeof bytes, TEST_STRIPE, &done));
        ck_lost(themis_write(file, old_bytes, sizeof old_bytes, TEST_STRIPE, &done));
        ck_ok(themis_read(fresh, found, sizeof found, TEST_STRIPE, &done));
        ck_assert_mem_eq(found, bytes, sizeof found);
    }
    ck_ok(themis_sync(fresh));
    ck_ok(themis_file_stat(fresh, &stat));
    ck_ok(themis_close(fresh));
    ck_lost(themis_close(file));
}

/* Nothing but the close notices it; and one that has changed nothing there has lost nothing. */
TEST(a_close_reports_lost_data)
{
    themis_file_t *written = open_file("/written"), *synced = open_file("/synced"),
                  *untouched = open_file("/untouched");

    ck_ok(themis_file_set_direct(written, modes[_i]));
    ck_ok(write_all(written));
    ck_ok(write_all(synced));
    ck_ok(themis_sync(synced));
    lose_data();
    ck_ok(themis_close(untouched));
    ck_lost(themis_close(written));
    ck_lost(themis_close(synced)); /* it is known by now */
}

/* The handle was made on another rank, and this session meets the server only after it has lost its data. */
TEST(a_packed_handle_knows_the_stores)
{
    static char bytes[THEMIS_HANDLE_BYTES];
    themis_file_t *file = open_file("/packed"), *copy;
    themis_t *other;
    size_t length;

    ck_ok(write_all(file));
    ck_ok(themis_file_pack(file, bytes, sizeof bytes, &length));
    lose_data();
    ck_ok(test_connect(test_server_list, 10 * THEMIS_NS_PER_S, &other));
    ck_ok(themis_file_unpack(other, bytes, length, &copy));
    ck_lost(write_all(copy));
    ck_lost(themis_sync(copy));
    ck_ok(themis_close(copy)); /* it has changed nothing */
    themis_disconnect(other);
    ck_lost(themis_close(file));
}

/* A request that waits for the server ends when that is back, without its data. */
TEST(requests_do_not_wait_for_lost_data)
{
    static unsigned char bytes[TEST_STRIPE];
    themis_run_t run = {TEST_STRIPE, sizeof bytes, sizeof bytes, 1};
    themis_request_t *requests[4];
    struct iovec memory;
    themis_list_t list = test_list(bytes, &run, &memory);
    themis_file_t *file = open_file("/waiting");

    ck_ok(write_all(file));
    test_server_kill(1);
    for (int i = 0; i < 4; i++)
        ck_ok((i % 2 ? themis_iread_list : themis_iwrite_list)(file, &list, &requests[i]));
    ck_assert_int_eq(themis_request_test(requests[0], NULL), THEMIS_IN_PROGRESS);
    lose_data();
    for (int i = 0; i < 4; i++)
        ck_lost(themis_request_wait(requests[i], NULL));
    ck_lost(themis_close(file));
}

/* The bytes are on the first server alone, the names where their hash says. */
TEST(lost_names_are_reported)
{
    enum { FILES = 12 };
    themis_layout_t layout = {TEST_STRIPE, 1, 0};
    themis_file_t *files[FILES];
    char path[32];
    size_t done;
    int lost = 0;

    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "/name%d", i);
        ck_ok(themis_open(session, path, THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, &layout,
                          &files[i]));
        ck_ok(themis_write(files[i], "x", 1, 0, &done));
        ck_ok(themis_sync(files[i]));
    }
    lose_data();
    for (int i = 0; i < FILES; i++) {
        ck_ok(themis_write(files[i], "y", 1, 0, &done));
        themis_status_t status = themis_sync(files[i]);
        ck_assert(status == THEMIS_OK || status == THEMIS_LOST);
        lost += status == THEMIS_LOST && strstr(themis_last_error(), server_name(1));
        ck_ok(themis_close(files[i]));
    }
    ck_assert(lost > 0 && lost < FILES);
}

/* --- files that are opened later ---------------------------------------------------------------------------------- */

/* What was on the server is missed, not taken for zeros, and not written over; names stay, and can be removed. */
TEST(lost_bytes_are_missed)
{
    static unsigned char bytes[TEST_SERVERS * TEST_STRIPE];
    const char *path = kept_path("missed"), *renamed = kept_path("renamed");
    themis_file_t *file = open_file(path);
    themis_stat_t stat;
    size_t done;

    ck_ok(themis_file_set_direct(file, modes[_i]));
    ck_ok(write_all(file));
    ck_ok(themis_close(file));
    lose_data();
    ck_ok(themis_rename(session, path, renamed));
    ck_ok(themis_stat(session, renamed, &stat));
    ck_assert_uint_eq(stat.lost, 1);
    file = open_anew(renamed, 0);
    ck_ok(themis_file_set_direct(file, modes[_i]));
    ck_ok(themis_read(file, bytes, TEST_STRIPE, 0, &done));
    ck_assert_uint_eq(done, TEST_STRIPE);
    ck_lost(themis_read(file, bytes, sizeof bytes, 0, &done));
    ck_lost(themis_file_stat(file, &stat));
    ck_lost(themis_write(file, bytes, 100, TEST_STRIPE, &done));
    ck_lost(themis_allocate(file, sizeof bytes));
    ck_ok(themis_close(file));
    ck_ok(themis_unlink(session, renamed));
}

/* Who has the file open makes nothing on the server that others would take for what was there. */
TEST(old_handles_make_nothing)
{
    static unsigned char bytes[TEST_STRIPE];
    const themis_layout_t layouts[] = {{TEST_STRIPE, TEST_SERVERS, 0}, {TEST_STRIPE, TEST_SERVERS, 1}};
    themis_file_t *file;
    themis_stat_t stat;
    size_t done;

    for (uint64_t index = 0; index < 2; index++) { /* of server 1, in the layout */
        const char *path = kept_path("old");
        const uint64_t at = (1 - index) * TEST_STRIPE;
        ck_ok(themis_open(session, path, THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, &layouts[index], &file));
        ck_ok(themis_file_set_direct(file, modes[_i]));
        ck_ok(write_all(file));
        lose_data();
        for (int i = 0; i < 3; i++)
            ck_lost(themis_write(file, bytes, sizeof bytes, at, &done));
        ck_ok(themis_stat(session, path, &stat));
        ck_assert_uint_eq(stat.lost, 1);
        ck_lost(themis_close(file));
        ck_ok(themis_unlink(session, path));
    }
}

/* A file that is cut to what is left is whole. */
TEST(what_is_cut_off_is_not_missed)
{
    themis_file_t *file;
    themis_stat_t stat;
    const char *path = kept_path("cut");

    file = open_file(path);
    ck_ok(write_all(file));
    ck_ok(themis_close(file));
    lose_data();
    file = open_anew(path, 0);
    ck_ok(themis_truncate(file, 100));
    ck_ok(themis_file_stat(file, &stat));
    ck_assert_uint_eq(stat.size, 100);
    ck_ok(themis_allocate(file, 200)); /* nothing on the other servers */
    ck_ok(themis_close(file));
    lose_data();
    ck_ok(themis_stat(session, path, &stat));
    ck_assert_uint_eq(stat.lost, 0);
}

/* Where the server had nothing, nothing is lost. */
TEST(holes_are_not_lost)
{
    static unsigned char bytes[TEST_SERVERS * TEST_STRIPE], zeros[TEST_STRIPE];
    const char *path = kept_path("short"), *other = kept_path("sparse");
    themis_file_t *file = open_file(path), *sparse = open_file(other);
    themis_stat_t stat;
    size_t done;

    memset(bytes, 'x', sizeof bytes);
    ck_ok(themis_write(file, bytes, 100, 0, &done));
    ck_ok(themis_close(file));
    ck_ok(themis_write(sparse, bytes, TEST_STRIPE, 2 * TEST_STRIPE, &done));
    ck_ok(themis_close(sparse));
    lose_data();
    ck_ok(themis_stat(session, path, &stat));
    ck_assert(stat.lost == 0 && stat.size == 100);
    file = open_anew(path, 0);
    ck_ok(themis_file_set_direct(file, modes[_i]));
    ck_ok(themis_read(file, bytes, sizeof bytes, 0, &done));
    ck_assert_uint_eq(done, 100);
    ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
    ck_ok(themis_close(file));
    sparse = open_anew(other, 0);
    ck_ok(themis_read(sparse, bytes, sizeof bytes, 0, &done));
    ck_assert_uint_eq(done, sizeof bytes);
    ck_assert_mem_eq(bytes + TEST_STRIPE, zeros, TEST_STRIPE);
    ck_ok(themis_close(sparse));
    lose_data(); /* what was written since */
    ck_ok(themis_stat(session, path, &stat));
    ck_assert_uint_eq(stat.lost, 1);
    ck_ok(themis_stat(session, other, &stat));
    ck_assert_uint_eq(stat.lost, 0);
}

/* Who begins anew misses nothing, also on the first server of a file; until that is lost again. */
TEST(a_lost_file_is_begun_anew)
{
    static unsigned char bytes[TEST_SERVERS * TEST_STRIPE], found[sizeof bytes];
    const themis_layout_t layouts[] = {{TEST_STRIPE, TEST_SERVERS, 0}, {TEST_STRIPE, TEST_SERVERS, 1}};
    const char *const paths[] = {kept_path("begun"), kept_path("again")};
    themis_file_t *file;
    themis_stat_t stat;
    size_t done;

    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 2; i++) {
        ck_ok(themis_open(session, paths[i], THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, &layouts[i], &file));
        ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
        ck_ok(themis_close(file));
    }
    lose_data();
    for (int i = 0; i < 2; i++) {
        ck_ok(themis_stat(session, paths[i], &stat));
        ck_assert_uint_eq(stat.lost, 1);
        file = i ? NULL : open_anew(paths[i], 0);
        if (i)
            ck_lost(themis_open(session, paths[i], THEMIS_OPEN_READ, 0, NULL, &file));
        else
            ck_ok(themis_close(file));
        file = open_anew(paths[i], THEMIS_OPEN_TRUNCATE);
        ck_ok(themis_file_stat(file, &stat));
        ck_assert_uint_eq(stat.size, 0);
        ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
        ck_ok(themis_close(file));
        file = open_anew(paths[i], 0);
        ck_ok(themis_read(file, found, sizeof found, 0, &done));
        ck_assert_mem_eq(bytes, found, sizeof found);
        ck_ok(themis_close(file));
    }
    lose_data();
    for (int i = 0; i < 2; i++) {
        ck_ok(themis_stat(session, paths[i], &stat));
        ck_assert_uint_eq(stat.lost, 1);
    }
}

/* --- objects that are lost ---------------------------------------------------------------------------------------- */

static int remove_object(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    return type == FTW_F && strcmp(path + ftw->base, "STORE") != 0 ? remove(path) : 0;
}

static void lose_objects(void)
{
    char objects[300];

    snprintf(objects, sizeof objects, "%s/objects1", test_server_directory);
    test_server_kill(1);
    ck_assert_int_eq(nftw(objects, remove_object, 16, FTW_PHYS), 0);
    test_server_start(1);
}

TEST(lost_objects_are_reported)
{
    unsigned char bytes[TEST_STRIPE];
    themis_file_t *file = open_file("/objects"), *removed = open_file("/removed"), *other = open_file("/other");
    uint32_t known[THEMIS_KNOWN_WORDS(TEST_SERVERS)];
    themis_stat_t stat;
    size_t done;

    ck_ok(write_all(file));
    ck_ok(themis_sync(file));
    ck_ok(write_all(removed));
    ck_ok(themis_unlink(session, "/removed"));
    ck_ok(themis_sync(removed)); /* the server knows why it is not there */
    lose_objects();
    ck_lost(themis_sync(file));
    ck_lost(themis_read(file, bytes, sizeof bytes, TEST_STRIPE, &done));
    ck_lost(write_all(file)); /* and does not make another one */
    ck_lost(themis_sync(file));
    ck_lost(themis_file_stat(file, &stat));
    ck_ok(themis_sync(other));
    themis_file_known(file, known);
    ck_assert_uint_eq(known[0], 7);
    themis_file_known(other, known);
    ck_assert_uint_eq(known[0], 0);
    ck_ok(write_all(other));
    ck_ok(themis_sync(other));
    themis_close(file);
    themis_close(removed);
    ck_ok(themis_close(other));
}

/* A handle that has not written to the file learns of the others' objects. */
TEST(objects_of_other_handles_are_missed)
{
    themis_file_t *file = open_file("/told"), *other = open_file("/told");
    uint32_t known[THEMIS_KNOWN_WORDS(TEST_SERVERS)];

    ck_ok(write_all(other));
    themis_file_known(other, known);
    ck_ok(themis_sync(file));
    lose_objects();
    ck_ok(themis_sync(file));
    themis_file_learn(file, known);
    ck_lost(themis_sync(file));
    themis_close(file);
    themis_close(other);
}

int main(void)
{
    Suite *suite = suite_create("lost data");

    if (access("server/themisd", X_OK) != 0) {
        fputs("server/themisd is not built\n", stderr);
        return 77;
    }
    test_case(suite, "arena", 60, start_servers, stop_servers,
              TESTS({lost_data_are_reported, 2}, {new_handles_do_not_help_old_ones, 2}, {a_close_reports_lost_data, 2},
                    {a_packed_handle_knows_the_stores, 1}, {lost_names_are_reported, 1},
                    {requests_do_not_wait_for_lost_data, 1}, {lost_bytes_are_missed, 2}, {old_handles_make_nothing, 2},
                    {what_is_cut_off_is_not_missed, 1}, {holes_are_not_lost, 2}, {a_lost_file_is_begun_anew, 1}));
    test_case(suite, "posix", 60, start_posix_servers, stop_posix_servers,
              TESTS({lost_objects_are_reported, 1}, {objects_of_other_handles_are_missed, 1}));
    return test_run(suite);
}
