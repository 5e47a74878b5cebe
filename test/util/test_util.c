/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration reader, the status codes, the clock, the check of addresses and copies. */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/copy.h"
#include "util/escape.h"
#include "util/memory.h"
#include "util/memory_limit.h"
#include "util/status.h"

TEST(escapes_come_back)
{
    char all[255], word[sizeof all * THEMIS_UTIL_ESCAPE_BYTES + 1];

    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(i + 1);
    size_t length = themis_util_escape(all, sizeof all, word);
    word[length] = 0;
    for (size_t i = 0; i < length; i++)
        ck_assert(word[i] > ' ' && word[i] < 0x7f);
    ck_assert_ptr_nonnull(strstr(word, "%01%02"));
    ck_assert_ptr_nonnull(strstr(word, "%1F%20!\"#$%25&"));
    ck_assert_uint_eq(themis_util_escape_undo(word, word), sizeof all);
    ck_assert_mem_eq(word, all, sizeof all);
}

TEST(bytes_have_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},          {"4096", 4096},    {"64k", 65536},
                {"1MiB", 1 << 20}, {"1.5m", 3 << 19}, {"2 g", UINT64_C(2) << 30}};
    static const char *const bad[] = {"", "k", "-1", "1x", "1kk", "nan", "inf", "1 2"};
    uint64_t bytes = 7;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(themis_util_config_bytes(good[i].text, &bytes), THEMIS_OK);
        ck_assert_uint_eq(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bytes = 7;
        ck_assert_int_eq(themis_util_config_bytes(bad[i], &bytes), THEMIS_PARSE);
        ck_assert_uint_eq(bytes, 7);
    }
    ck_assert_int_eq(themis_util_config_bytes("9999999999t", &bytes), THEMIS_RANGE);
}

TEST(durations_have_units)
{
    uint64_t ns;

    ck_assert_int_eq(themis_util_config_duration("500ms", &ns), THEMIS_OK);
    ck_assert_uint_eq(ns, 500 * THEMIS_NS_PER_MS);
    ck_assert_int_eq(themis_util_config_duration("2", &ns), THEMIS_OK);
    ck_assert_uint_eq(ns, 2 * THEMIS_NS_PER_S);
    ck_assert_int_eq(themis_util_config_duration("1m", &ns), THEMIS_OK);
    ck_assert_uint_eq(ns, 60 * THEMIS_NS_PER_S);
    ck_assert_int_eq(themis_util_config_duration("1 fortnight", &ns), THEMIS_PARSE);
}

TEST(integers_are_bounded)
{
    int64_t value = 3;

    ck_assert_int_eq(themis_util_config_integer("65535", 0, 65535, &value), THEMIS_OK);
    ck_assert_int_eq(value, 65535);
    ck_assert_int_eq(themis_util_config_integer("65536", 0, 65535, &value), THEMIS_RANGE);
    ck_assert_int_eq(themis_util_config_integer("99999999999999999999", 0, INT64_MAX, &value), THEMIS_RANGE);
    ck_assert_int_eq(themis_util_config_integer("1a", 0, 9, &value), THEMIS_PARSE);
    ck_assert_int_eq(value, 65535);
}

static themis_status_t collect(void *arg, const char *section, const char *key, const char *value, int line)
{
    char *all = arg;

    if (strcmp(key, "bad") == 0)
        return THEMIS_CONFIG;
    sprintf(all + strlen(all), "%s/%s=%s@%d;", section, key, value, line);
    return THEMIS_OK;
}

static themis_status_t read_text(const char *text, char *all, char *error, size_t size)
{
    char path[] = "/tmp/themis-test-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    themis_status_t status = themis_util_config_read(path, collect, all, error, size);
    unlink(path);
    return status;
}

TEST(a_file_is_read_with_line_numbers)
{
    char all[256] = "", error[256] = "";

    ck_assert_int_eq(read_text("# c\n[a]\nx = 1\n\n[b]\ny=2 3\n", all, error, sizeof error), THEMIS_OK);
    ck_assert_str_eq(all, "a/x=1@3;b/y=2 3@6;");
}

TEST(errors_name_file_line_and_key)
{
    char all[256] = "", error[256] = "";

    ck_assert_int_eq(read_text("[a]\nx = 1\nbad = 5\n", all, error, sizeof error), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(error, ":3: [a] bad = 5"));
    ck_assert_int_eq(read_text("[a]\nno equals sign\n", all, error, sizeof error), THEMIS_PARSE);
    ck_assert_ptr_nonnull(strstr(error, ":2: expected"));
    ck_assert_int_eq(themis_util_config_read("/nowhere/at/all", collect, all, error, sizeof error), THEMIS_NO_ENTRY);
    ck_assert_ptr_nonnull(strstr(error, "/nowhere/at/all"));
}

TEST(statuses_convert)
{
    ck_assert_int_eq(themis_util_status_from_errno(ENOSPC), THEMIS_NO_SPACE);
    ck_assert_str_eq(themis_status_string(THEMIS_NO_ENTRY), "no such file or directory");
    ck_assert_str_eq(themis_status_string((themis_status_t)-999), "unknown status");
    ck_assert_int_eq(themis_util_status_is_known(-999), 0);
    ck_assert_int_eq(themis_util_status_is_known(THEMIS_STALE), 1);
}

TEST(the_clock_can_be_driven)
{
    themis_util_clock_set_manual(5);
    themis_util_clock_advance(7);
    ck_assert_uint_eq(themis_util_clock_now(), 12);
    themis_util_clock_set_real();
    uint64_t now = themis_util_clock_now();
    ck_assert_uint_le(now, themis_util_clock_now());
}

static void file_make(const char *directory, const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, "%s%s", test_scratch, directory);
    for (char *at = path + strlen(test_scratch) + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0700);
            *at = '/';
        }
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s%s/%s", test_scratch, directory, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

TEST(a_cgroup_limits_memory)
{
    int cgroup = 7;

    test_scratch_make();
    uint64_t all = themis_util_memory_limit(test_scratch, &cgroup);
    ck_assert_int_eq(cgroup, 0);
    ck_assert_uint_gt(all, 1 << 20);
    file_make("/proc/self", "cgroup", "0::/job/step\n");
    ck_assert_uint_eq(themis_util_memory_limit(test_scratch, &cgroup), all);
    file_make("/sys/fs/cgroup/job/step", "memory.max", "max\n");
    ck_assert_uint_eq(themis_util_memory_limit(test_scratch, &cgroup), all);
    ck_assert_int_eq(cgroup, 0);
    file_make("/sys/fs/cgroup/job", "memory.max", "1048576\n"); /* of the group above */
    ck_assert_uint_eq(themis_util_memory_limit(test_scratch, &cgroup), 1 << 20);
    ck_assert_int_eq(cgroup, 1);
    file_make("/proc/self", "cgroup", "5:cpu:/job\n4:cpuset,memory:/a\n1:name=memory:/b\n");
    file_make("/sys/fs/cgroup/memory/a", "memory.limit_in_bytes", "524288\n");
    file_make("/sys/fs/cgroup/memory/b", "memory.limit_in_bytes", "4096\n");
    ck_assert_uint_eq(themis_util_memory_limit(test_scratch, &cgroup), 512 << 10);
    file_make("/proc/self", "cgroup", "nonsense\n:\n4:memory\n");
    ck_assert_uint_eq(themis_util_memory_limit(test_scratch, &cgroup), all);
    test_scratch_remove();
}

TEST(memory_is_there_or_not)
{
    enum { ROOM = 1 << 20, BLOCK = 1 << 16 };
    char *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *good = (char *)(((uintptr_t)room + ROOM / 2) & ~(uintptr_t)(BLOCK - 1));
    themis_util_memory_seen_t seen = {{0}};
    struct iovec pieces[3] = {{NULL, 0}, {good + 5, 4096}, {good, 2 * 4096}};

    ck_assert_int_eq(mprotect(good, 2 * 4096, PROT_READ), 0);
    ck_assert_int_eq(themis_util_memory_check(pieces, 3, NULL), THEMIS_OK);
    pieces[1].iov_base = (void *)4096;
    ck_assert_int_eq(themis_util_memory_check(pieces, 3, NULL), THEMIS_BAD_ADDRESS);
    pieces[1].iov_base = NULL;
    ck_assert_int_eq(themis_util_memory_check(pieces, 3, NULL), THEMIS_BAD_ADDRESS);
    pieces[1].iov_base = good - BLOCK;
    ck_assert_int_eq(themis_util_memory_check(pieces, 3, NULL), THEMIS_BAD_ADDRESS);
    pieces[1] = (struct iovec){good, BLOCK + 1}; /* the last byte */
    ck_assert_int_eq(themis_util_memory_check(pieces, 3, NULL), THEMIS_BAD_ADDRESS);
    pieces[1].iov_len = SIZE_MAX;
    ck_assert_int_eq(themis_util_memory_check(pieces, 3, NULL), THEMIS_BAD_ADDRESS);
    /* what was seen is not looked at again */
    ck_assert_int_eq(themis_util_memory_check(&pieces[2], 1, &seen), THEMIS_OK);
    munmap(room, ROOM);
    ck_assert_int_eq(themis_util_memory_check(&pieces[2], 1, &seen), THEMIS_OK);
    ck_assert_int_eq(themis_util_memory_check(&pieces[2], 1, NULL), THEMIS_BAD_ADDRESS);
}

/* At all distances, and lengths around those at which it goes another way. */
TEST(copies_are_exact)
{
    enum { ROOM = 3 * 4096 };
    static char from[ROOM], to[ROOM], wanted[ROOM];

    for (size_t i = 0; i < ROOM; i++)
        from[i] = (char)(i * 31 + i / 251);
    for (size_t length = 2040; length < 2200; length += 3 + length % 5)
        for (size_t at = 0; at < 48; at++)
            for (size_t start = 0; start < 3; start++) {
                memset(to, 7, sizeof to);
                memset(wanted, 7, sizeof wanted);
                memcpy(wanted + 4096 + at, from + start, length);
                themis_util_copy(to + 4096 + at, from + start, length);
                ck_assert_int_eq(memcmp(to, wanted, sizeof to), 0);
            }
    themis_util_copy(to, from, 0);
}

int main(void)
{
    Suite *suite = suite_create("util");

    test_case(suite, "all", 20, NULL, NULL,
              TESTS({escapes_come_back, 1}, {bytes_have_units, 1}, {durations_have_units, 1}, {integers_are_bounded, 1},
                    {a_file_is_read_with_line_numbers, 1}, {errors_name_file_line_and_key, 1}, {statuses_convert, 1},
                    {the_clock_can_be_driven, 1}, {memory_is_there_or_not, 1}, {a_cgroup_limits_memory, 1},
                    {copies_are_exact, 1}));
    return test_run(suite);
}
