/* SPDX-License-Identifier: BSD-3-Clause */
/* The client library against servers of this build. */
#define _DEFAULT_SOURCE
#include <check.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/client/random.h"
#include "test/client/servers.h"
#include "test/lib/run.h"
#include "themis/themis.h"

enum { FILE_BYTES = 100000, MAX_PIECES = 12, ROUNDS = 150, READ_WRITE = THEMIS_OPEN_READ | THEMIS_OPEN_WRITE };
static const int create = READ_WRITE | THEMIS_OPEN_CREATE;

static themis_t *session;

static void connect_session(void)
{
    ck_ok(test_connect(test_server_list, UINT64_C(10000000000), &session));
}

static void disconnect_session(void)
{
    themis_disconnect(session);
}

static themis_file_t *open_file(const char *path, uint32_t count)
{
    themis_layout_t layout = {TEST_STRIPE, count, THEMIS_FIRST_ANY};
    themis_file_t *file;

    ck_ok(themis_open(session, path, create | THEMIS_OPEN_TRUNCATE, 0644, &layout, &file));
    return file;
}

static void close_and_remove(themis_file_t *file)
{
    char path[256];

    snprintf(path, sizeof path, "%s", themis_file_path(file));
    ck_ok(themis_close(file));
    ck_ok(themis_unlink(session, path));
}

/* --- data --------------------------------------------------------------------------------------------------------- */

/* What the file should hold. */
typedef struct model {
    unsigned char bytes[FILE_BYTES];
    uint64_t size;
} model_t;

/* A random list: runs of the file and pieces of memory that together have as many bytes. */
typedef struct access {
    themis_run_t runs[MAX_PIECES];
    struct iovec memory[MAX_PIECES + 1];
    themis_list_t list;
    unsigned char *buffer; /* the bytes in order, with a gap of one byte between pieces of memory */
    size_t bytes;
} access_t;

static void make_runs(access_t *access)
{
    size_t count = 1 + draw(MAX_PIECES);

    access->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        themis_run_t run = {draw(FILE_BYTES / 2), 1 + draw(draw(2) ? 9000 : 90), 0, 1 + draw(5)};
        run.stride = run.length + draw(300);
        if (run.offset + run.stride * run.count > FILE_BYTES)
            run.count = 1;
        access->runs[i] = run;
        access->bytes += run.length * run.count;
    }
    access->list.runs = access->runs;
    access->list.run_count = count;
}

static void make_memory(access_t *access)
{
    size_t left = access->bytes, count = 0, used = 0;

    access->buffer = calloc(1, access->bytes + MAX_PIECES + 1);
    while (left > 0) {
        size_t part = count == MAX_PIECES ? left : 1 + draw(left);
        access->memory[count++] = (struct iovec){access->buffer + used, part};
        used += part + 1;
        left -= part;
    }
    access->list.memory = access->memory;
    access->list.memory_count = count;
}

/* Calls `visit` with each byte of memory and its place in the file, in order. */
typedef void (*visit_fn)(model_t *model, unsigned char *byte, uint64_t offset);

static void walk(access_t *access, model_t *model, visit_fn visit)
{
    size_t piece = 0, within = 0;

    for (size_t r = 0; r < access->list.run_count; r++)
        for (uint64_t i = 0; i < access->runs[r].count; i++)
            for (uint64_t b = 0; b < access->runs[r].length; b++) {
                if (within == access->memory[piece].iov_len) {
                    piece++;
                    within = 0;
                }
                visit(model, (unsigned char *)access->memory[piece].iov_base + within++,
                      access->runs[r].offset + i * access->runs[r].stride + b);
            }
}

/* The same byte for each place, however often a list names it. */
static void put_byte(model_t *model, unsigned char *byte, uint64_t offset)
{
    *byte = (unsigned char)(offset * 31 + random_state % 251);
    model->bytes[offset] = *byte;
    if (offset >= model->size)
        model->size = offset + 1;
}

static void mark_byte(model_t *model, unsigned char *byte, uint64_t offset)
{
    *byte = 0xee;
}

static void expect_byte(model_t *model, unsigned char *byte, uint64_t offset)
{
    ck_assert_uint_eq(*byte, offset < model->size ? model->bytes[offset] : 0xee);
}

static size_t expected_done(const access_t *access, const model_t *model)
{
    size_t done = 0;

    for (size_t r = 0; r < access->list.run_count; r++)
        for (uint64_t i = 0; i < access->runs[r].count; i++)
            for (uint64_t b = 0; b < access->runs[r].length; b++, done++)
                if (access->runs[r].offset + i * access->runs[r].stride + b >= model->size)
                    return done;
    return done;
}

TEST(lists_read_what_lists_wrote)
{
    uint32_t count = (uint32_t)_i + 1;
    static model_t model;
    char path[32];

    snprintf(path, sizeof path, "/lists%u", count);
    themis_file_t *file = open_file(path, count);
    for (int round = 0; round < ROUNDS; round++) {
        access_t access;
        size_t done = 0;
        make_runs(&access);
        make_memory(&access);
        if (round % 10 == 9) {
            model.size = draw(FILE_BYTES);
            memset(model.bytes + model.size, 0, FILE_BYTES - model.size);
            ck_ok(themis_truncate(file, model.size));
        } else if (draw(2)) {
            walk(&access, &model, put_byte);
            ck_ok(themis_write_list(file, &access.list, &done));
            ck_assert_uint_eq(done, access.bytes);
        } else {
            walk(&access, &model, mark_byte);
            ck_ok(themis_read_list(file, &access.list, &done));
            walk(&access, &model, expect_byte);
            ck_assert_uint_eq(done, expected_done(&access, &model));
        }
        free(access.buffer);
    }
    themis_stat_t stat;
    ck_ok(themis_file_stat(file, &stat));
    ck_assert_uint_eq(stat.size, model.size);
    close_and_remove(file);
}

TEST(holes_read_as_zeros_up_to_the_end)
{
    themis_file_t *file = open_file("/holes", 3);
    unsigned char bytes[5 * TEST_STRIPE], one = 7;
    size_t done;

    ck_ok(themis_read(file, bytes, sizeof bytes, 0, &done));
    ck_assert_uint_eq(done, 0);
    ck_ok(themis_write(file, &one, 1, 4 * TEST_STRIPE + 10, &done)); /* only the second server holds anything */
    memset(bytes, 0xee, sizeof bytes);
    ck_ok(themis_read(file, bytes, sizeof bytes, 0, &done));
    ck_assert_uint_eq(done, 4 * TEST_STRIPE + 11);
    for (size_t i = 0; i < sizeof bytes; i++)
        ck_assert_uint_eq(bytes[i], i + 1 == done ? 7 : i < done ? 0 : 0xee);
    ck_ok(themis_read(file, bytes, 100, 4 * TEST_STRIPE + 11, &done));
    ck_assert_uint_eq(done, 0);
    ck_ok(themis_read(file, bytes, 10, UINT64_C(1) << 42, &done));
    ck_assert_uint_eq(done, 0);
    close_and_remove(file);
}

TEST(large_offsets_and_long_lists)
{
    enum { PIECES = 40000 };
    themis_file_t *file = open_file("/large", 2);
    themis_run_t *runs = malloc(PIECES * sizeof *runs);
    unsigned char *bytes = malloc(PIECES), *back = malloc(PIECES);
    struct iovec memory = {bytes, PIECES};
    themis_list_t list = {&memory, 1, runs, PIECES};
    uint64_t offset = UINT64_C(5) << 40;
    size_t done;

    for (int i = 0; i < PIECES; i++) { /* irregular, so that nothing compresses it below what a message holds */
        offset += 2 + draw(7);
        runs[i] = (themis_run_t){offset, 1, 1, 1};
        bytes[i] = (unsigned char)draw(256);
    }
    ck_ok(themis_write_list(file, &list, &done));
    ck_assert_uint_eq(done, PIECES);
    memory.iov_base = back;
    ck_ok(themis_read_list(file, &list, &done));
    ck_assert_uint_eq(done, PIECES);
    ck_assert_mem_eq(bytes, back, PIECES);
    themis_stat_t stat;
    ck_ok(themis_file_stat(file, &stat));
    ck_assert_uint_eq(stat.size, offset + 1);
    free(runs);
    free(bytes);
    free(back);
    close_and_remove(file);
}

TEST(many_requests_at_once)
{
    enum { REQUESTS = 64, BYTES = 3 * TEST_STRIPE };
    themis_file_t *file = open_file("/async", 3);
    themis_request_t *requests[REQUESTS];
    unsigned char *bytes = malloc((size_t)REQUESTS * BYTES), *back = calloc(REQUESTS, BYTES);
    size_t done;

    for (size_t i = 0; i < (size_t)REQUESTS * BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < REQUESTS; i++) {
            struct iovec memory;
            themis_run_t run = {(uint64_t)i * BYTES, BYTES, BYTES, 1};
            themis_list_t list = test_list((pass ? back : bytes) + (size_t)i * BYTES, &run, &memory);
            ck_ok(pass ? themis_iread_list(file, &list, &requests[i]) : themis_iwrite_list(file, &list, &requests[i]));
        }
        for (int left = REQUESTS; left > 0;) {
            for (int i = 0; i < REQUESTS; i++) {
                themis_status_t status = requests[i] ? themis_request_test(requests[i], &done) : THEMIS_IN_PROGRESS;
                if (status == THEMIS_IN_PROGRESS)
                    continue;
                ck_ok(status);
                ck_assert_uint_eq(done, BYTES);
                requests[i] = NULL;
                left--;
            }
            if (left > 0)
                themis_progress(session, 1000000);
        }
    }
    ck_assert_mem_eq(bytes, back, (size_t)REQUESTS * BYTES);
    free(bytes);
    free(back);
    close_and_remove(file);
}

static void *write_part(void *arg)
{
    themis_file_t *file = arg;
    static _Atomic int next;
    int part = next++;
    unsigned char bytes[1000], back[1000];
    size_t done;

    for (int i = 0; i < 200; i++) {
        uint64_t offset = ((uint64_t)i * 4 + (uint64_t)part) * sizeof bytes;
        memset(bytes, part * 50 + i % 50, sizeof bytes);
        if (themis_write(file, bytes, sizeof bytes, offset, &done) != THEMIS_OK ||
            themis_read(file, back, sizeof back, offset, &done) != THEMIS_OK || done != sizeof back ||
            memcmp(bytes, back, sizeof back) != 0)
            return arg;
    }
    return NULL;
}

TEST(threads_share_a_file)
{
    themis_file_t *file = open_file("/threads", 3);
    pthread_t threads[4];
    void *failed;

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_part, file), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    close_and_remove(file);
}

TEST(wrong_lists_are_refused)
{
    themis_file_t *file = open_file("/wrong", 2), *reader;
    char byte = 0;
    struct iovec memory = {&byte, 1};
    themis_run_t run = {0, 2, 2, 1};
    themis_list_t list = {&memory, 1, &run, 1};
    size_t done = 77;

    ck_assert_int_eq(themis_write_list(file, &list, &done), THEMIS_INVALID);
    ck_assert_int_eq(themis_write(file, &byte, 1, UINT64_MAX - 5, &done), THEMIS_RANGE);
    ck_assert_uint_eq(done, 77);
    ck_ok(themis_write(file, &byte, 0, 0, &done));
    ck_assert_uint_eq(done, 0);
    ck_ok(themis_open(session, "/wrong", THEMIS_OPEN_READ, 0, NULL, &reader));
    ck_assert_int_eq(themis_write(reader, &byte, 1, 0, &done), THEMIS_READ_ONLY);
    ck_assert_int_eq(themis_truncate(reader, 0), THEMIS_READ_ONLY);
    ck_ok(themis_close(reader));
    close_and_remove(file);
}

TEST(handles_travel_as_bytes)
{
    themis_file_t *file = open_file("/packed", 2), *copy;
    unsigned char bytes[THEMIS_HANDLE_BYTES], back = 0;
    size_t length, done;

    ck_ok(themis_file_pack(file, bytes, sizeof bytes, &length));
    ck_assert_int_eq(themis_file_pack(file, bytes, length - 1, &done), THEMIS_RANGE);
    ck_ok(themis_file_unpack(session, bytes, length, &copy));
    ck_ok(themis_write(file, "x", 1, 5000, &done));
    ck_ok(themis_read(copy, &back, 1, 5000, &done));
    ck_assert_uint_eq(back, 'x');
    ck_assert_str_eq(themis_file_path(copy), "/packed");
    ck_ok(themis_close(copy));
    ck_assert_int_eq(themis_file_unpack(session, bytes, length - 1, &copy), THEMIS_INVALID);
    bytes[0]++;
    ck_assert_int_eq(themis_file_unpack(session, bytes, length, &copy), THEMIS_INVALID);
    close_and_remove(file);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

TEST(names_come_and_go)
{
    themis_file_t *file;
    themis_stat_t stat;

    ck_ok(themis_mkdir(session, "/names", 0755));
    ck_assert_int_eq(themis_mkdir(session, "/names", 0755), THEMIS_EXISTS);
    ck_assert_int_eq(themis_mkdir(session, "/nowhere/x", 0755), THEMIS_NO_ENTRY);
    ck_assert_int_eq(themis_open(session, "/names/f", READ_WRITE, 0, NULL, &file), THEMIS_NO_ENTRY);
    ck_ok(themis_open(session, "/names/f", create | THEMIS_OPEN_EXCLUSIVE, 0640, NULL, &file));
    ck_ok(themis_close(file));
    ck_assert_int_eq(themis_open(session, "/names/f", create | THEMIS_OPEN_EXCLUSIVE, 0, NULL, &file), THEMIS_EXISTS);
    ck_ok(themis_stat(session, "/names//./f", &stat));
    ck_assert_int_eq(stat.type, THEMIS_TYPE_FILE);
    ck_assert_uint_eq(stat.mode & 0777, 0640);
    ck_ok(themis_chmod(session, "/names/f", 0600));
    ck_ok(themis_stat(session, "/names/f", &stat));
    ck_assert_uint_eq(stat.mode & 0777, 0600);
    ck_assert_int_eq(themis_open(session, "/names", READ_WRITE, 0, NULL, &file), THEMIS_IS_DIRECTORY);
    ck_assert_int_eq(themis_open(session, "/names/f/x", create, 0644, NULL, &file), THEMIS_NOT_DIRECTORY);
    ck_assert_int_eq(themis_rmdir(session, "/names"), THEMIS_NOT_EMPTY);
    ck_assert_int_eq(themis_rmdir(session, "/names/f"), THEMIS_NOT_DIRECTORY);
    ck_assert_int_eq(themis_unlink(session, "/names"), THEMIS_IS_DIRECTORY);
    ck_ok(themis_unlink(session, "/names/f"));
    ck_assert_int_eq(themis_unlink(session, "/names/f"), THEMIS_NO_ENTRY);
    ck_ok(themis_rmdir(session, "/names"));
    ck_assert_int_eq(themis_stat(session, "/names", &stat), THEMIS_NO_ENTRY);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "/names"));
    ck_assert_int_eq(themis_stat(session, "names", &stat), THEMIS_BAD_NAME);
}

/* Whoever has a file open that another process removes is told; what it reads is not the end of the file. */
TEST(what_another_removes_is_no_empty_file)
{
    unsigned char bytes[100000];
    themis_t *other;
    themis_file_t *file, *empty;
    size_t done;

    memset(bytes, 7, sizeof bytes);
    file = open_file("/removed", TEST_SERVERS);
    ck_ok(themis_write(file, bytes, sizeof bytes, 0, &done));
    ck_ok(themis_read(file, bytes, sizeof bytes, 0, &done));
    ck_assert_uint_eq(done, sizeof bytes);
    ck_ok(themis_open(session, "/empty", create, 0644, NULL, &empty));
    ck_ok(test_connect(test_server_list, UINT64_C(10000000000), &other));
    ck_ok(themis_unlink(other, "/removed"));
    ck_ok(themis_unlink(other, "/empty"));
    ck_assert_int_eq(themis_read(file, bytes, sizeof bytes, 0, &done), THEMIS_STALE);
    ck_assert_int_eq(themis_read(file, bytes, sizeof bytes, 50000, &done), THEMIS_STALE);
    ck_assert_int_eq(themis_write(file, bytes, sizeof bytes, 0, &done), THEMIS_STALE);
    ck_assert_int_eq(themis_read(empty, bytes, sizeof bytes, 0, &done), THEMIS_STALE);
    themis_close(file);
    themis_close(empty);
    themis_disconnect(other);
}

typedef struct seen {
    int count, sorted;
    char last[256];
} seen_t;

static int see_entry(void *arg, const char *name, themis_type_t type)
{
    seen_t *seen = arg;

    seen->sorted &= seen->count == 0 || strcmp(seen->last, name) < 0;
    snprintf(seen->last, sizeof seen->last, "%s", name);
    seen->count++;
    return 0;
}

TEST(directories_are_listed_in_order)
{
    enum { NAMES = 1500 }; /* more than one message holds */
    seen_t seen = {0, 1, ""};
    char path[64];

    ck_ok(themis_mkdir(session, "/many", 0755));
    for (int i = 0; i < NAMES; i++) {
        themis_file_t *file;
        snprintf(path, sizeof path, "/many/n%05d", i * 7919 % NAMES);
        ck_ok(themis_open(session, path, create, 0644, NULL, &file));
        ck_ok(themis_close(file));
    }
    ck_ok(themis_readdir(session, "/many", see_entry, &seen));
    ck_assert_int_eq(seen.count, NAMES);
    ck_assert(seen.sorted);
    for (int i = 0; i < NAMES; i++) {
        snprintf(path, sizeof path, "/many/n%05d", i);
        ck_ok(themis_unlink(session, path));
    }
    ck_ok(themis_rmdir(session, "/many"));
}

static void put_text(const char *path, const char *text)
{
    themis_file_t *file;
    size_t done;

    ck_ok(themis_open(session, path, create | THEMIS_OPEN_TRUNCATE, 0644, NULL, &file));
    ck_ok(themis_write(file, text, strlen(text), 0, &done));
    ck_ok(themis_close(file));
}

static void expect_text(const char *path, const char *text)
{
    char bytes[64] = "";
    themis_file_t *file;
    size_t done;

    ck_ok(themis_open(session, path, THEMIS_OPEN_READ, 0, NULL, &file));
    ck_ok(themis_read(file, bytes, sizeof bytes - 1, 0, &done));
    ck_assert_str_eq(bytes, text);
    ck_ok(themis_close(file));
}

TEST(renaming)
{
    themis_stat_t stat;

    ck_ok(themis_mkdir(session, "/from", 0755));
    ck_ok(themis_mkdir(session, "/from/sub", 0755));
    put_text("/from/a", "first");
    put_text("/from/sub/b", "second");
    ck_ok(themis_rename(session, "/from/a", "/from/c"));
    expect_text("/from/c", "first");
    ck_assert_int_eq(themis_stat(session, "/from/a", &stat), THEMIS_NO_ENTRY);
    put_text("/from/d", "third");
    ck_ok(themis_rename(session, "/from/d", "/from/c")); /* replaces */
    expect_text("/from/c", "third");
    ck_assert_int_eq(themis_rename(session, "/from", "/from/sub/x"), THEMIS_INVALID);
    ck_ok(themis_rename(session, "/from", "/to"));
    expect_text("/to/c", "third");
    expect_text("/to/sub/b", "second");
    ck_assert_int_eq(themis_stat(session, "/from", &stat), THEMIS_NO_ENTRY);
    ck_assert_int_eq(themis_rename(session, "/to/c", "/to/sub"), THEMIS_IS_DIRECTORY);
    ck_ok(themis_unlink(session, "/to/sub/b"));
    ck_ok(themis_unlink(session, "/to/c"));
    ck_ok(themis_rmdir(session, "/to/sub"));
    ck_ok(themis_rmdir(session, "/to"));
}

/* --- rights ------------------------------------------------------------------------------------------------------- */

enum { FILES = 8 }; /* so many that some have their directory's home, and some have not */

/* The path "<directory>/<letter><i>", valid for seven more calls. */
static const char *numbered(const char *directory, const char *letter, int i)
{
    static char paths[8][64];
    static unsigned next;

    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s%d", directory, letter, i);
    return paths[next];
}

static int count_directory(void *arg, const char *name, themis_type_t type)
{
    int *counts = arg;

    counts[type == THEMIS_TYPE_DIRECTORY]++;
    return 0;
}

static void expect_counts(const char *path, int files, int directories)
{
    int counts[2] = {0, 0};

    ck_ok(themis_readdir(session, path, count_directory, counts));
    ck_assert_int_eq(counts[0], files);
    ck_assert_int_eq(counts[1], directories);
}

static void make_rights(void)
{
    ck_ok(themis_mkdir(session, "/rights", 0755));
    ck_ok(themis_mkdir(session, "/rights/locked", 0755));
    ck_ok(themis_mkdir(session, "/rights/open", 0755));
    for (int i = 0; i < FILES; i++) {
        put_text(numbered("/rights/locked", "f", i), "kept");
        put_text(numbered("/rights/open", "f", i), "mine");
        ck_ok(themis_mkdir(session, numbered("/rights/locked", "d", i), 0755));
    }
    ck_ok(themis_chmod(session, "/rights/locked", 0555));
}

static void remove_rights(void)
{
    ck_ok(themis_chmod(session, "/rights/locked", 0755));
    for (int i = 0; i < FILES; i++) {
        ck_ok(themis_unlink(session, numbered("/rights/open", "f", i)));
        expect_text(numbered("/rights/locked", "f", i), "kept");
        ck_ok(themis_unlink(session, numbered("/rights/locked", "f", i)));
        ck_ok(themis_rmdir(session, numbered("/rights/locked", "d", i)));
    }
    ck_ok(themis_rmdir(session, "/rights/open"));
    ck_ok(themis_rmdir(session, "/rights/locked"));
    ck_ok(themis_rmdir(session, "/rights"));
}

TEST(refusals_change_nothing)
{
    themis_stat_t stat;

    make_rights();
    for (int i = 0; i < FILES; i++) {
        const char *file = numbered("/rights/locked", "f", i), *new_name = numbered("/rights/open", "n", i);
        ck_assert_int_eq(themis_unlink(session, file), THEMIS_ACCESS);
        ck_assert_int_eq(themis_rename(session, file, numbered("/rights/open", "f", i)), THEMIS_ACCESS);
        expect_text(numbered("/rights/open", "f", i), "mine");
        ck_assert_int_eq(themis_rename(session, file, new_name), THEMIS_ACCESS);
        ck_assert_int_eq(themis_stat(session, new_name, &stat), THEMIS_NO_ENTRY);
        expect_text(file, "kept");
        const char *directory = numbered("/rights/locked", "d", i);
        ck_assert_int_eq(themis_rmdir(session, directory), THEMIS_ACCESS);
        ck_assert_int_eq(themis_rename(session, directory, new_name), THEMIS_ACCESS);
        ck_assert_int_eq(themis_stat(session, new_name, &stat), THEMIS_NO_ENTRY);
    }
    expect_counts("/rights/locked", FILES, FILES);
    expect_counts("/rights/open", FILES, 0);
    remove_rights();
}

/* What is not removed keeps its entry, and what is not there gets none. */
TEST(entries_follow_names)
{
    ck_ok(themis_mkdir(session, "/entries", 0755));
    for (int i = 0; i < FILES; i++) {
        ck_ok(themis_mkdir(session, numbered("/entries", "d", i), 0755));
        put_text(numbered("/entries", "f", i), "kept");
        ck_assert_int_eq(themis_unlink(session, numbered("/entries", "d", i)), THEMIS_IS_DIRECTORY);
        ck_assert_int_eq(themis_rmdir(session, numbered("/entries", "f", i)), THEMIS_NOT_DIRECTORY);
        ck_assert_int_eq(themis_unlink(session, numbered("/entries", "n", i)), THEMIS_NO_ENTRY);
    }
    expect_counts("/entries", FILES, FILES);
    for (int i = 0; i < FILES; i++) {
        ck_ok(themis_unlink(session, numbered("/entries", "f", i)));
        ck_ok(themis_rmdir(session, numbered("/entries", "d", i)));
    }
    expect_counts("/entries", 0, 0);
    ck_ok(themis_rmdir(session, "/entries"));
}

/* --- locks, counters, administration ------------------------------------------------------------------------------ */

TEST(locks_exclude_other_handles)
{
    themis_file_t *one = open_file("/locked", 2), *two;

    ck_ok(themis_open(session, "/locked", READ_WRITE, 0, NULL, &two));
    ck_ok(themis_lock(one, 0, 100, THEMIS_LOCK_EXCLUSIVE));
    ck_assert_int_eq(themis_lock(two, 50, 10, THEMIS_LOCK_SHARED | THEMIS_LOCK_TRY), THEMIS_LOCKED);
    ck_ok(themis_lock(two, 100, UINT64_MAX, THEMIS_LOCK_EXCLUSIVE | THEMIS_LOCK_TRY));
    ck_ok(themis_unlock(one, 0, 100));
    ck_ok(themis_lock(two, 50, 10, THEMIS_LOCK_SHARED));
    ck_ok(themis_lock(one, 50, 10, THEMIS_LOCK_SHARED | THEMIS_LOCK_TRY));
    ck_ok(themis_close(two)); /* with its locks */
    ck_ok(themis_lock(one, 0, UINT64_MAX, THEMIS_LOCK_EXCLUSIVE | THEMIS_LOCK_TRY));
    close_and_remove(one);
}

TEST(counters_count)
{
    themis_file_t *file = open_file("/counted", 2);
    int64_t value = -1;

    ck_ok(themis_counter_get(file, &value));
    ck_assert_int_eq(value, 0);
    ck_ok(themis_counter_add(file, 5, &value));
    ck_assert_int_eq(value, 0);
    ck_ok(themis_counter_add(file, -2, &value));
    ck_assert_int_eq(value, 5);
    ck_ok(themis_counter_set(file, 100));
    ck_ok(themis_counter_get(file, &value));
    ck_assert_int_eq(value, 100);
    close_and_remove(file);
}

/* The same servers under another name have the same identity, different ones another. */
TEST(servers_have_one_identity)
{
    char *words[TEST_SERVERS + 1];
    char list[sizeof test_server_list];
    themis_t *other;

    strcpy(list, test_server_list);
    for (char *at = list; (at = strstr(at, "127.0.0.1")); at++)
        memcpy(at, "localhost", strlen("localhost"));
    ck_ok(test_connect(list, 0, &other));
    for (uint32_t i = 0; i < TEST_SERVERS; i++)
        ck_ok(themis_query(session, i, "instance", &words[i]));
    ck_ok(themis_query(other, 1, "instance", &words[TEST_SERVERS]));
    for (int i = 0; i < TEST_SERVERS; i++)
        ck_assert_int_eq(strcmp(words[i], words[TEST_SERVERS]) == 0, i == 1);
    for (int i = 0; i <= TEST_SERVERS; i++)
        free(words[i]);
    themis_disconnect(other);
}

TEST(sessions_report_what_is_in_force)
{
    themis_session_info_t info;
    char *text;

    ck_ok(themis_session_info(session, &info));
    ck_assert_uint_eq(info.servers, TEST_SERVERS);
    ck_assert_str_eq(info.server_list, test_server_list);
    ck_assert_uint_eq(info.stripe_size, TEST_STRIPE);
    ck_assert_int_eq(info.all_local, 1);
    ck_ok(themis_query(session, TEST_SERVERS - 1, "server", &text));
    ck_assert_ptr_nonnull(strstr(text, "bytes_written"));
    free(text);
    ck_assert_int_eq(themis_query(session, TEST_SERVERS, "server", &text), THEMIS_INVALID);
    ck_ok(themis_policy_set(session, 0, "size-fair", &text));
    free(text);
    ck_assert_int_lt(themis_policy_set(session, 0, "no-such-policy", &text), 0);
    ck_ok(themis_policy_set(session, 0, "job-fair", &text));
    free(text);
}

/* A job has more nodes than its first session was given. */
TEST(a_session_makes_its_job_larger)
{
    themis_options_t options;
    themis_t *grows;
    char *text = NULL;

    themis_options_init(&options);
    options.servers = test_server_list;
    options.job = "grows";
    options.nodes = 3;
    ck_ok(themis_connect(&options, &grows));
    ck_ok(themis_session_set_nodes(grows, 777));
    ck_ok(themis_session_set_nodes(grows, 2));
    ck_ok(themis_query(grows, 0, "jobs", &text));
    ck_assert_msg(strstr(text, "\"nodes\":777") || strstr(text, "\"nodes\": 777"), "%s", text);
    free(text);
    themis_disconnect(grows);
}

/* What reads and writes do, by messages as well. */
static void connect_without_direct(void)
{
    setenv("THEMIS_DIRECT", "off", 1);
    connect_session();
}

/* Root may do everything, so the process of a test becomes that of another user. */
static void connect_as_user(void)
{
    enum { NOBODY = 65534 };

    if (geteuid() == 0) {
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setgid(NOBODY), 0);
        ck_assert_int_eq(setuid(NOBODY), 0);
    }
    connect_session();
}

int main(void)
{
    Suite *suite = suite_create("client live");

    if (test_servers_start() != 0)
        return 77;
    test_case(suite, "all", 60, connect_session, disconnect_session,
              TESTS({lists_read_what_lists_wrote, TEST_SERVERS}, {holes_read_as_zeros_up_to_the_end, 1},
                    {large_offsets_and_long_lists, 1}, {many_requests_at_once, 1}, {threads_share_a_file, 1},
                    {wrong_lists_are_refused, 1}, {handles_travel_as_bytes, 1}, {names_come_and_go, 1},
                    {what_another_removes_is_no_empty_file, 1}, {directories_are_listed_in_order, 1}, {renaming, 1},
                    {entries_follow_names, 1}, {locks_exclude_other_handles, 1}, {counters_count, 1},
                    {servers_have_one_identity, 1}, {sessions_report_what_is_in_force, 1},
                    {a_session_makes_its_job_larger, 1}));
    test_case(suite, "messages", 60, connect_without_direct, disconnect_session,
              TESTS({lists_read_what_lists_wrote, TEST_SERVERS}, {holes_read_as_zeros_up_to_the_end, 1},
                    {large_offsets_and_long_lists, 1}, {many_requests_at_once, 1}, {threads_share_a_file, 1},
                    {what_another_removes_is_no_empty_file, 1}));
    test_case(suite, "rights", 60, connect_as_user, disconnect_session, TESTS({refusals_change_nothing, 1}));
    int failed = test_run(suite);
    test_servers_stop();
    return failed;
}
