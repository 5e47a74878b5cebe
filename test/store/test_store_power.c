/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/* A durable arena after a power failure: each page of a file is as it was synced last, or newer, and so are the entries
 * of the directory. This program's fdatasync and fsync come before those of the C library and keep what is durable. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/arena_keeper.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/store/durable.h"
#include "test/store/grants.h"
#include "util/log.h"

enum { NAMES = 512, CHANGES = 12 };

/* Below the scratch directory: the arena; what each of its files was like when it was synced, by number of inode; and
 * the files themselves, under these numbers, so that they can be found when they are removed. */
static char arena[300], synced[300], kept[300], after[300];
static int watching;
static int failing; /* so many fdatasync fail next, and have then lost what was to be written */

/* The names in the directory that are durable. */
static struct {
    char name[64];
    ino_t inode;
} durable_names[NAMES];
static size_t durable_count;

static void path_of(char path[512], const char *directory, ino_t inode)
{
    snprintf(path, 512, "%s/%llu", directory, (unsigned long long)inode);
}

/* --- the device -----------------------------------------------------------------------------------------------------
 */

int fdatasync(int fd)
{
    char path[512], own[64];
    struct stat stat;

    if (failing > 0) {
        failing--;
        errno = EIO;
        return -1;
    }
    if (!watching || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return 0;
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    path_of(path, synced, stat.st_ino);
    int in = open(own, O_RDONLY), out = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(in >= 0 && out >= 0);
    pages_copy(in, out, stat.st_size);
    close(in);
    close(out);
    return 0;
}

static void directory_read(int keep)
{
    DIR *list = opendir(arena);
    const struct dirent *entry;
    char from[600], to[512];

    REQUIRE(list);
    durable_count = keep ? durable_count : 0;
    while ((entry = readdir(list)))
        if (entry->d_name[0] != '.') {
            snprintf(from, sizeof from, "%s/%.200s", arena, entry->d_name);
            path_of(to, kept, entry->d_ino);
            REQUIRE(link(from, to) == 0 || errno == EEXIST);
            if (keep)
                continue;
            REQUIRE(durable_count < NAMES);
            snprintf(durable_names[durable_count].name, sizeof durable_names->name, "%.60s", entry->d_name);
            durable_names[durable_count++].inode = entry->d_ino;
        }
    closedir(list);
}

int fsync(int fd)
{
    struct stat stat;

    if (watching && fstat(fd, &stat) == 0 && S_ISDIR(stat.st_mode))
        directory_read(0);
    return fdatasync(fd);
}

/* --- a failure
 * -------------------------------------------------------------------------------------------------------- */

/* Each page as it is now or, if it was not synced since, maybe as it was before. */
static void file_lose(ino_t inode, const char *name)
{
    static uint8_t now[4096], before[4096];
    char path[512];
    struct stat stat;

    path_of(path, kept, inode);
    int current = open(path, O_RDONLY);
    path_of(path, synced, inode);
    int old = open(path, O_RDONLY);
    snprintf(path, sizeof path, "%s/%s", after, name);
    int out = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    REQUIRE(current >= 0 && out >= 0 && fstat(current, &stat) == 0 && ftruncate(out, stat.st_size) == 0);
    for (off_t at = 0; at < stat.st_size; at += (off_t)sizeof now) {
        memset(before, 0, sizeof before);
        ssize_t length = pread(current, now, sizeof now, at);
        if (old >= 0)
            REQUIRE(pread(old, before, sizeof before, at) >= 0);
        if (memcmp(now, before, sizeof now) == 0) {
            if (now[0] == 0 && memcmp(now, now + 1, sizeof now - 1) == 0)
                continue;
        } else if (draw(2)) {
            memcpy(now, before, sizeof now);
        }
        REQUIRE(pwrite(out, now, (size_t)length, at) == length);
    }
    close(current);
    close(out);
    if (old >= 0)
        close(old);
}

static ino_t inode_of(const char *name)
{
    struct stat found;
    char path[600];

    snprintf(path, sizeof path, "%s/%s", arena, name);
    return stat(path, &found) == 0 ? found.st_ino : 0;
}

/* What is on the device then: names that are durable and still there, and maybe those that were removed or made since.
 */
static void power_fails(void)
{
    DIR *list;
    const struct dirent *entry;
    size_t i;

    directory_read(1);
    REQUIRE(mkdir(after, 0700) == 0);
    for (i = 0; i < durable_count; i++) {
        ino_t now = inode_of(durable_names[i].name);
        if (now == durable_names[i].inode || draw(2))
            file_lose(durable_names[i].inode, durable_names[i].name);
    }
    list = opendir(arena);
    while ((entry = readdir(list))) {
        for (i = 0; i < durable_count && strcmp(durable_names[i].name, entry->d_name) != 0;)
            i++;
        if (entry->d_name[0] != '.' && i == durable_count && draw(2))
            file_lose(entry->d_ino, entry->d_name);
    }
    closedir(list);
}

/* --- tests
 * ------------------------------------------------------------------------------------------------------------ */

static void set_up(void)
{
    test_scratch_make();
    snprintf(arena, sizeof arena, "%s/arena", test_scratch);
    snprintf(synced, sizeof synced, "%s/synced", test_scratch);
    snprintf(kept, sizeof kept, "%s/kept", test_scratch);
    snprintf(after, sizeof after, "%s/after", test_scratch);
    ck_assert_int_eq(mkdir(arena, 0700) || mkdir(synced, 0700) || mkdir(kept, 0700), 0);
    memset(model, 0, sizeof model);
    model_settle();
    durable_count = 0;
    watching = 1;
}

static void tear_down(void)
{
    watching = 0;
    test_scratch_remove();
}

static void sync_all(void)
{
    themis_store_object_t *object;

    for (uint64_t id = 1; id <= MODEL_OBJECTS; id++)
        if (themis_store_open(store, id, 0, owner, &object) == THEMIS_OK) {
            ck_assert_int_eq(themis_store_sync(store, object), THEMIS_OK);
            themis_store_close(store, object);
        }
    model_settle();
}

/* _i & 1: with direct access. The arena is used on after each failure by one that never happened. */
TEST(what_was_synced_is_there)
{
    for (int seed = 0; seed < 17 * _i; seed++)
        draw(2);
    durable_open(arena, 1);
    put(50, 0, 10, 'x'); /* so that something is synced in any case */
    sync_all();
    for (int round = 0; round < 6; round++) {
        for (uint64_t changes = draw(CHANGES); changes-- > 0;)
            change_at_random(_i & 1);
        if (draw(3) == 0)
            sync_all();
        if (draw(6) == 0)
            ck_assert_int_eq(themis_store_arena_checkpoint((themis_store_arena_t *)store), THEMIS_OK);
        for (uint64_t changes = draw(CHANGES); changes-- > 0;)
            change_at_random(_i & 1);
        power_fails();
        themis_store_t *running = store;
        watching = 0;
        durable_open(after, 2);
        model_check();
        themis_store_destroy(store);
        watching = 1;
        store = running;
        directory_remove(after);
    }
    change_end();
    close_direct();
}

/* Memory of a removed object is not used for others before that is durable. */
TEST(freed_memory_waits_for_a_sync)
{
    themis_store_usage_t usage;
    themis_store_object_t *object;

    durable_open(arena, 1);
    put(1, 0, 40 * MIB, 'a');
    ck_assert_int_eq(themis_store_open(store, 1, 0, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_sync(store, object), THEMIS_OK);
    themis_store_close(store, object);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_ge(usage.used, 40 * MIB);
    put(2, 0, 10 * MIB, 'b');
    power_fails();
    themis_store_t *running = store;
    watching = 0;
    durable_open(after, 2);
    expect(1, 0, 40 * MIB, 'a');
    themis_store_destroy(store);
    watching = 1;
    store = running;
    put(3, 0, 40 * MIB, 'c'); /* there is room only where the first one was */
    expect(2, 0, 10 * MIB, 'b');
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_lt(usage.used, 60 * MIB);
    themis_store_destroy(store);
}

/* Fills the rest of a file of the log, so that it goes on in another one. */
static void log_fill(uint64_t id)
{
    char first[512], path[512];
    themis_store_object_t *object;

    last_log(arena, first);
    ck_assert_int_eq(themis_store_open(store, id, 0, owner, &object), THEMIS_OK);
    do {
        for (uint64_t i = 0; i < 1000; i++)
            REQUIRE(themis_store_set_modified(store, object, i) == THEMIS_OK);
        last_log(arena, path);
    } while (strcmp(path, first) == 0);
    themis_store_close(store, object);
}

/* What was lost with the end of a file of the log, and the files behind, is also lost for later starts: they find these
 * files still, before the one in which the log went on. */
TEST(what_was_lost_stays_so)
{
    durable_open(arena, 1);
    put(1, 0, 5000, 'a');
    put(2, 0, 5000, 'b');
    sync_all();
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    log_fill(2);
    themis_store_t *running = store;
    for (int failure = 0; failure < 6; failure++) {
        watching = 1;
        power_fails();
        watching = 0;
        for (int start = 0; start < 3; start++) {
            durable_open(after, 2 + start / 2); /* another failure before the last one */
            expect(1, 0, 5000, 'a');
            for (int before = 0; before < start; before++)
                expect((uint64_t)(10 + before), 0, 100, 'c');
            put((uint64_t)(10 + start), 0, 100, 'c');
            themis_store_destroy(store);
        }
        directory_remove(after);
    }
    store = running;
    themis_store_destroy(store);
}

static themis_status_t sync_object(uint64_t id)
{
    themis_store_object_t *object;

    ck_assert_int_eq(themis_store_open(store, id, 0, owner, &object), THEMIS_OK);
    themis_status_t status = themis_store_sync(store, object);
    themis_store_close(store, object);
    return status;
}

/* The kernel tells of it once. _i: how many syncs fail; there are those of the bytes and of the log. */
TEST(a_failed_sync_is_not_forgotten)
{
    durable_open(arena, 1);
    put(1, 0, 5000, 'a');
    ck_assert_int_eq(sync_object(1), THEMIS_OK);
    put(1, 0, 9000, 'b');
    failing = _i + 1;
    ck_assert_int_eq(sync_object(1), THEMIS_IO);
    failing = 0;
    ck_assert_int_eq(sync_object(1), THEMIS_IO);
    put(1, 0, 5000, 'c');
    ck_assert_int_eq(sync_object(1), THEMIS_IO);
    expect(1, 0, 5000, 'c');
    themis_store_destroy(store);
    durable_open(arena, 1);
    expect(1, 0, 5000, 'c');
    ck_assert_int_eq(sync_object(1), THEMIS_OK);
    themis_store_destroy(store);
}

/* Without descriptors nothing is synced, and then later. */
TEST(a_sync_without_descriptors_fails)
{
    struct rlimit before, low;

    durable_open(arena, 1);
    put(1, 0, 5000, 'a');
    ck_assert_int_eq(sync_object(1), THEMIS_OK);
    put(1, 0, 5000, 'b'); /* only bytes change */
    int lowest = dup(0);
    ck_assert_int_eq(close(lowest) || getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    themis_status_t status = sync_object(1);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_ne(status, THEMIS_OK);
    ck_assert_int_eq(sync_object(1), THEMIS_OK);
    power_fails();
    themis_store_t *running = store;
    watching = 0;
    durable_open(after, 2);
    expect(1, 0, 5000, 'b');
    themis_store_destroy(store);
    watching = 1;
    store = running;
    themis_store_destroy(store);
}

int main(void)
{
    const char *text = getenv("POWER_LOSSES");
    int runs = text ? atoi(text) : 6;
    Suite *suite = suite_create("store_power");

    themis_util_log_set_level(THEMIS_LOG_ERROR);
    test_case(suite, "power", 120, set_up, tear_down,
              TESTS({what_was_synced_is_there, runs}, {freed_memory_waits_for_a_sync, 1}, {what_was_lost_stays_so, 1},
                    {a_failed_sync_is_not_forgotten, 2}, {a_sync_without_descriptors_fails, 1}));
    return test_run(suite);
}
