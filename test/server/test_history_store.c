/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of jobs in files: rotation, retention, full disks, broken lines, who may read; and how files are shared. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "server/history_files.h"
#include "server/history_sharing.h"
#include "server/history_store.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "util/log.h"

enum { DAY = 86400, MIB = 1 << 20, OTHER_USER = 12345, THIRD_USER = 12346 };
static uint64_t now; /* s since 1970, when the test began */

static themis_server_history_store_t *store_open(uint64_t keep, int is_public)
{
    char directory[512];
    const themis_server_history_store_options_t options = {
        .directory = directory, .name = "io0:7711/x", .keep = keep, .size = MIB, .is_public = is_public};
    themis_server_history_store_t *store;

    snprintf(directory, sizeof directory, "%s/history", test_scratch);
    ck_assert_int_eq(themis_server_history_store_create(&options, &store), THEMIS_OK);
    return store;
}

static void scratch_open(void)
{
    test_scratch_make();
    now = (uint64_t)time(NULL);
    themis_util_log_set_level(THEMIS_LOG_ERROR);
    umask(0077); /* as of the systemd unit */
}

/* The user's files whose names end so: how many, and all their bytes. */
typedef struct found {
    int files;
    uint64_t bytes;
    char last[4096]; /* path of one of them */
} found_t;

static found_t find(uint32_t user, const char *end)
{
    found_t found = {0};
    char path[512], file[1024];
    const struct dirent *entry;
    struct stat status;

    snprintf(path, sizeof path, "%s/history/%u", test_scratch, user);
    DIR *files = opendir(path);
    while (files && (entry = readdir(files))) {
        size_t length = strlen(entry->d_name);
        if (length < strlen(end) || strcmp(entry->d_name + length - strlen(end), end) != 0)
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        ck_assert_int_eq(stat(file, &status), 0);
        found.files++;
        found.bytes += (uint64_t)status.st_size;
        strcpy(found.last, file);
    }
    if (files)
        closedir(files);
    return found;
}

static void expect_content(const char *path, const char *expected)
{
    char text[4096] = "";
    FILE *file = fopen(path, "re");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(text, expected);
}

static void append(themis_server_history_store_t *store, uint32_t user, size_t length, uint64_t time)
{
    char *line = malloc(length + 1);

    memset(line, 'x', length);
    line[length] = '\0';
    ck_assert_int_eq(themis_server_history_store_append(store, user, line, time), THEMIS_OK);
    free(line);
}

TEST(names_of_files)
{
    static const struct {
        const char *file;
        themis_server_history_kind_t kind;
    } cases[] = {{"io-1-17.jsonl", THEMIS_SERVER_HISTORY_LOG},   {"io-1.17.running", THEMIS_SERVER_HISTORY_RUNNING},
                 {"io-1.17.new", THEMIS_SERVER_HISTORY_FRESH},   {"io-1-2-17.jsonl", THEMIS_SERVER_HISTORY_OTHER},
                 {"io-1-.jsonl", THEMIS_SERVER_HISTORY_OTHER},   {"io-17.jsonl", THEMIS_SERVER_HISTORY_OTHER},
                 {"io-1.2.17.new", THEMIS_SERVER_HISTORY_OTHER}, {"io-1-17.jsonl.gz", THEMIS_SERVER_HISTORY_OTHER}};
    uint64_t number = 0;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(themis_server_history_files_kind("io-1", cases[i].file, &number) == cases[i].kind, "%s",
                      cases[i].file);
        ck_assert_uint_eq(number, 17);
    }
}

/* Two hosts may have servers with the same address. */
TEST(an_address_of_every_host_becomes_its_name)
{
    static const char *const names[] = {"0.0.0.0:7711", "127.0.0.1:7711", "[::]:7711", "localhost:7711"};
    char directory[512], host[64] = "", wanted[128];

    gethostname(host, sizeof host - 1);
    snprintf(directory, sizeof directory, "%s/history", test_scratch);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        themis_server_history_store_options_t options = {
            .directory = directory, .name = names[i], .keep = DAY, .size = MIB};
        themis_server_history_store_t *store;
        ck_assert_int_eq(themis_server_history_store_create(&options, &store), THEMIS_OK);
        append(store, (uint32_t)i, 10, now);
        snprintf(wanted, sizeof wanted, "/%s:7711-", host);
        ck_assert_ptr_nonnull(strstr(find((uint32_t)i, ".jsonl").last, wanted));
        themis_server_history_store_destroy(store);
    }
}

TEST(lines_are_appended)
{
    themis_server_history_store_t *store = store_open(DAY, 0);
    themis_server_history_counts_t counts;

    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "one", now), THEMIS_OK);
    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "two", now + 5), THEMIS_OK);
    found_t found = find(geteuid(), ".jsonl");
    ck_assert_int_eq(found.files, 1);
    expect_content(found.last, "one\ntwo\n");
    char name[64];
    snprintf(name, sizeof name, "/io0:7711_x-%llu.jsonl", (unsigned long long)now);
    ck_assert_ptr_nonnull(strstr(found.last, name));
    themis_server_history_store_counts(store, &counts);
    ck_assert_uint_eq(counts.records, 2);
    ck_assert_uint_eq(counts.bytes, 8);
    ck_assert_uint_eq(counts.dropped, 0);
    themis_server_history_store_destroy(store);
}

/* The newest records stay, and it is the user with most who loses the oldest. */
TEST(size_is_bounded)
{
    themis_server_history_store_t *store = store_open(1000 * DAY, 0);

    append(store, OTHER_USER, 1000, now);
    for (int i = 0; i < 300; i++)
        append(store, geteuid(), 8191, now + (uint64_t)i);
    found_t mine = find(geteuid(), ".jsonl"), other = find(OTHER_USER, ".jsonl");
    ck_assert_uint_eq(other.bytes, 1001);
    ck_assert_uint_le(mine.bytes + other.bytes, MIB + MIB / 16);
    ck_assert_uint_ge(mine.bytes, MIB / 2);
    ck_assert_int_ge(mine.files, 8);
    char path[1024];
    snprintf(path, sizeof path, "%s/history/%u/io0:7711_x-%llu.jsonl", test_scratch, geteuid(),
             (unsigned long long)now);
    ck_assert_int_ne(access(path, F_OK), 0);
    themis_server_history_store_destroy(store);
}

TEST(age_is_bounded)
{
    themis_server_history_store_t *store = store_open(80 * DAY, 0);

    append(store, geteuid(), 100, now);
    append(store, geteuid(), 100, now + 11 * DAY); /* a file covers a part of the time only */
    ck_assert_int_eq(find(geteuid(), ".jsonl").files, 2);
    struct timespec old[2] = {{.tv_sec = (time_t)now}, {.tv_sec = (time_t)now}};
    char path[1024];
    snprintf(path, sizeof path, "%s/history/%u/io0:7711_x-%llu.jsonl", test_scratch, geteuid(),
             (unsigned long long)now);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    append(store, geteuid(), 100, now + 79 * DAY);
    ck_assert_int_eq(access(path, F_OK), 0);
    append(store, geteuid(), 100, now + 81 * DAY);
    ck_assert_int_ne(access(path, F_OK), 0);
    themis_server_history_store_destroy(store);
}

/* What does not fit leaves no half line, and the store goes on when there is space again. */
TEST(a_full_disk_loses_records_only)
{
    themis_server_history_store_t *store = store_open(DAY, 0);
    themis_server_history_counts_t counts;
    struct rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "short", now), THEMIS_OK);
    ck_assert_int_lt(themis_server_history_store_append(store, geteuid(), "too long", now), THEMIS_OK);
    ck_assert_int_lt(themis_server_history_store_put_running(store, geteuid(), 1, "too long as well"), THEMIS_OK);
    expect_content(find(geteuid(), ".jsonl").last, "short\n");
    ck_assert_int_eq(find(geteuid(), "").files, 3); /* with . and .. */
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "now it fits", now), THEMIS_OK);
    expect_content(find(geteuid(), ".jsonl").last, "short\nnow it fits\n");
    themis_server_history_store_counts(store, &counts);
    ck_assert_uint_eq(counts.records, 2);
    ck_assert_uint_eq(counts.dropped, 1);
    themis_server_history_store_destroy(store);
}

/* The directory is a file at first: nobody can write there. */
TEST(a_missing_directory_comes_later)
{
    char path[512];

    snprintf(path, sizeof path, "%s/history", test_scratch);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    themis_server_history_store_t *store = store_open(DAY, 0);
    ck_assert_int_lt(themis_server_history_store_append(store, geteuid(), "lost", now), THEMIS_OK);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "kept", now), THEMIS_OK);
    expect_content(find(geteuid(), ".jsonl").last, "kept\n");
    themis_server_history_store_destroy(store);
}

TEST(a_broken_line_is_ended)
{
    themis_server_history_store_t *store = store_open(DAY, 0);

    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "one", now), THEMIS_OK);
    found_t found = find(geteuid(), ".jsonl");
    ck_assert_int_eq(truncate(found.last, 2), 0);
    ck_assert_int_eq(themis_server_history_store_append(store, geteuid(), "two", now), THEMIS_OK);
    expect_content(found.last, "on\ntwo\n");
    themis_server_history_store_destroy(store);
}

/* A link in place of a user's directory is not followed: what it names keeps its mode, and gets no records. */
TEST(links_are_not_followed)
{
    char target[512], link[1024];
    struct stat status;

    snprintf(target, sizeof target, "%s/target", test_scratch);
    ck_assert_int_eq(mkdir(target, 0751), 0);
    ck_assert_int_eq(chmod(target, 0751), 0);
    themis_server_history_store_destroy(store_open(DAY, 0));
    snprintf(link, sizeof link, "%s/history/%u", test_scratch, geteuid());
    ck_assert_int_eq(symlink(target, link), 0);
    themis_server_history_store_t *store = store_open(DAY, 0);
    ck_assert_int_lt(themis_server_history_store_append(store, geteuid(), "one", now), THEMIS_OK);
    ck_assert_int_eq(stat(target, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0751);
    ck_assert_int_eq(rmdir(target), 0);
    themis_server_history_store_destroy(store);
}

TEST(running_jobs_are_recovered)
{
    themis_server_history_store_t *store = store_open(DAY, 0);

    ck_assert_int_eq(themis_server_history_store_put_running(store, geteuid(), 1, "a1"), THEMIS_OK);
    ck_assert_int_eq(themis_server_history_store_put_running(store, geteuid(), 1, "a2"), THEMIS_OK);
    ck_assert_int_eq(themis_server_history_store_put_running(store, geteuid(), 2, "b1"), THEMIS_OK);
    ck_assert_int_eq(find(geteuid(), ".running").files, 2);
    themis_server_history_store_drop_running(store, geteuid(), 2);
    expect_content(find(geteuid(), ".running").last, "a2\n");
    ck_assert_int_eq(find(geteuid(), ".jsonl").files, 0);
    themis_server_history_store_destroy(store); /* as after kill -9: nothing is written */
    store = store_open(DAY, 0);
    ck_assert_int_eq(find(geteuid(), ".running").files, 0);
    expect_content(find(geteuid(), ".jsonl").last, "a2\n");
    themis_server_history_store_destroy(store);
}

/* As that user, in a child: can the file be read? */
static int may_read(const char *path, uid_t user)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        /* the directories above may be closed to others */
        if (chdir(test_scratch) != 0 || strncmp(path, test_scratch, strlen(test_scratch)) != 0)
            _exit(2);
        path += strlen(test_scratch) + 1;
        if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)
            _exit(2);
        _exit(open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 1 : errno == EACCES ? 0 : 3);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status);
}

TEST(the_kernel_decides_who_reads)
{
    if (geteuid() != 0)
        return; /* only root can be several users */
    ck_assert_int_eq(chmod(test_scratch, 0711), 0);
    themis_server_history_store_t *store = store_open(DAY, 0);
    ck_assert_int_eq(themis_server_history_store_append(store, OTHER_USER, "one", now), THEMIS_OK);
    ck_assert_int_eq(themis_server_history_store_put_running(store, OTHER_USER, 1, "two"), THEMIS_OK);
    char log[4096], running[4096];
    strcpy(log, find(OTHER_USER, ".jsonl").last);
    strcpy(running, find(OTHER_USER, ".running").last);
    ck_assert(may_read(log, OTHER_USER) && may_read(running, OTHER_USER));
    ck_assert(!may_read(log, THIRD_USER) && !may_read(running, THIRD_USER));
    themis_server_history_store_destroy(store);
    themis_server_history_store_destroy(store_open(DAY, 1));
    ck_assert(may_read(log, OTHER_USER) && may_read(log, THIRD_USER));
    themis_server_history_store_destroy(store_open(DAY, 0));
    ck_assert(may_read(log, OTHER_USER) && !may_read(log, THIRD_USER));
}

/* Processes, files of each, and how many processes share a file. */
static const struct {
    int processes, files, together;
    themis_history_sharing_t kind;
} patterns[] = {
    {0, 0, 0, THEMIS_HISTORY_SHARING_UNKNOWN}, {1, 3, 1, THEMIS_HISTORY_SHARING_1_1},
    {16, 3, 1, THEMIS_HISTORY_SHARING_N_N},    {16, 1, 16, THEMIS_HISTORY_SHARING_N_1},
    {16, 5, 16, THEMIS_HISTORY_SHARING_N_1},   {16, 2, 4, THEMIS_HISTORY_SHARING_N_M},
    {2, 1, 2, THEMIS_HISTORY_SHARING_N_1},     {9000, 1, 9000, THEMIS_HISTORY_SHARING_N_1},
    {9000, 1, 1, THEMIS_HISTORY_SHARING_N_N},
};

TEST(sharing_is_found)
{
    themis_server_history_sharing_t sharing = {0};
    int groups = patterns[_i].together ? patterns[_i].processes / patterns[_i].together : 0;

    for (int repeat = 0; repeat < 2; repeat++)
        for (int p = 0; p < patterns[_i].processes; p++)
            for (int f = 0; f < patterns[_i].files; f++)
                themis_server_history_sharing_note(&sharing, 1000 + (uint64_t)p, (uint64_t)p / 8,
                                                   1 + (uint64_t)(p / patterns[_i].together * patterns[_i].files + f));
    ck_assert_int_eq(themis_server_history_sharing_kind(&sharing), patterns[_i].kind);
    if (patterns[_i].processes < 1000) {
        ck_assert_uint_eq(themis_server_history_sharing_files(&sharing), groups * patterns[_i].files);
        ck_assert_uint_eq(themis_server_history_sharing_hosts(&sharing), (patterns[_i].processes + 7) / 8);
    }
    themis_server_history_sharing_release(&sharing);
}

int main(void)
{
    Suite *suite = suite_create("files of the history");

    test_case(suite, "files", 30, scratch_open, test_scratch_remove,
              TESTS({names_of_files, 1}, {an_address_of_every_host_becomes_its_name, 1}, {lines_are_appended, 1},
                    {size_is_bounded, 1}, {age_is_bounded, 1}, {a_full_disk_loses_records_only, 1},
                    {a_missing_directory_comes_later, 1}, {a_broken_line_is_ended, 1}, {running_jobs_are_recovered, 1},
                    {links_are_not_followed, 1}, {the_kernel_decides_who_reads, 1}));
    test_case(suite, "sharing", 20, NULL, NULL, TESTS({sharing_is_found, sizeof patterns / sizeof *patterns}));
    return test_run(suite);
}
