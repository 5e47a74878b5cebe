/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * syscalls CASE DIRECTORY: calls by syscall(2), each case in an empty directory. The same program is to succeed below a
 * mount point and on a local file system.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include "test/preload/cases.h"

#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)

static int open_by_number(const char *name, int flags)
{
    return (int)CALL(openat, AT_FDCWD, name, flags | O_CREAT, 0644);
}

static void bytes(void)
{
    const int fd = open_by_number("f", O_RDWR), other = open_by_number("g", O_RDWR);
    char buffer[20] = "", one[] = "one", two[] = "two";
    struct iovec out[] = {{one, 3}, {two, 3}}, in[] = {{buffer, 2}, {buffer + 2, 4}};

    CHECK(fd >= 0 && other >= 0 && CALL(write, fd, "0123456789", 10L) == 10);
    CHECK(CALL(lseek, fd, 2L, SEEK_SET) == 2 && CALL(read, fd, buffer, 3L) == 3 && memcmp(buffer, "234", 3) == 0);
    CHECK(CALL(pwrite64, fd, "AB", 2L, 8L) == 2 && CALL(pread64, fd, buffer, 20L, 7L) == 3 &&
          memcmp(buffer, "7AB", 3) == 0);
    CHECK(CALL(lseek, fd, 0L, SEEK_SET) == 0 && CALL(writev, fd, out, 2L) == 6 && CALL(lseek, fd, 0L, SEEK_SET) == 0);
    CHECK(CALL(readv, fd, in, 2L) == 6 && memcmp(buffer, "onetwo", 6) == 0);
    CHECK(CALL(pwritev, fd, out, 2L, 1L, 0L) == 6 && CALL(preadv, fd, in, 2L, 1L, 0L) == 6);
    CHECK(memcmp(buffer, "onetwo", 6) == 0 && holds("f", "oonetwo7AB"));
    long from = 1, to = 0;
    CHECK(CALL(copy_file_range, fd, &from, other, &to, 6L, 0L) == 6 && from == 7 && to == 6 && holds("g", "onetwo"));
    from = 7;
    CHECK(CALL(lseek, other, 0L, SEEK_END) == 6 && CALL(sendfile, other, fd, &from, 3L) == 3);
    CHECK(holds("g", "onetwo7AB") && CALL(ftruncate, fd, 4L) == 0 && CALL(truncate, "g", 3L) == 0 && holds("g", "one"));
    CHECK(CALL(fsync, fd) == 0 && CALL(fdatasync, fd) == 0 && CALL(fallocate, fd, 0L, 0L, 100L) == 0);
    struct stat stats;
    CHECK(fstat(fd, &stats) == 0 && stats.st_size == 100);
    char *map = (char *)CALL(mmap, NULL, 100L, (long)(PROT_READ | PROT_WRITE), (long)MAP_SHARED, fd, 0L);
    CHECK(map != MAP_FAILED && memcmp(map, "oone", 4) == 0);
    memcpy(map, "MAP", 3);
    CHECK(CALL(msync, map, 100L, (long)MS_SYNC) == 0 && CALL(munmap, map, 100L) == 0);
    CHECK(pread(fd, buffer, 4, 0) == 4 && memcmp(buffer, "MAPe", 4) == 0);
}

static void descriptors(void)
{
    const int fd = open_by_number("f", O_RDWR);
    const int second = (int)CALL(dup, fd), third = (int)CALL(fcntl, fd, F_DUPFD, 40L);

    CHECK(fd >= 0 && second >= 0 && third >= 40 && CALL(dup3, fd, 41L, O_CLOEXEC) == 41);
    CHECK(write(fd, "a", 1) == 1 && write(second, "b", 1) == 1 && write(third, "c", 1) == 1 && write(41, "d", 1) == 1);
    CHECK(holds("f", "abcd") && CALL(close, fd) == 0 && CALL(close, fd) == -1 && errno == EBADF);
    CHECK(write(second, "e", 1) == 1 && CALL(fcntl, second, F_SETFL, (long)O_APPEND) == 0);
    CHECK(CALL(lseek, third, 0L, SEEK_SET) == 0 && CALL(write, second, "f", 1L) == 1 && holds("f", "abcdef"));
    const int again = open("/dev/null", O_RDWR);
    CHECK(again == fd && write(again, "lost", 4) == 4 && CALL(dup3, again, third, 0L) == third);
    CHECK(write(third, "lost", 4) == 4 && holds("f", "abcdef"));
    CHECK(CALL(close_range, 41L, 41L, 0L) == 0 && write(41, "x", 1) == -1 && errno == EBADF);
    CHECK(CALL(flock, second, 2L) == 0 && CALL(close, second) == 0 && close(third) == 0 && close(again) == 0);
    struct open_how how = {.flags = O_RDONLY};
    const int plain = (int)CALL(openat2, AT_FDCWD, "f", &how, sizeof how);
    CHECK(plain >= 0 && close(plain) == 0);
    how.resolve = RESOLVE_BENEATH; /* not below a mount point */
    const int beneath = (int)CALL(openat2, AT_FDCWD, "f", &how, sizeof how);
    CHECK(beneath >= 0 || errno == ENOSYS);
}

static void names(void)
{
    char before[5000], now[5000], target[20] = "";

    put("a", "text");
    const int here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(CALL(renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 0L) == 0 && holds("b", "text") && access("a", F_OK) == -1);
    put("a", "other");
    CHECK(CALL(renameat2, here, "a", here, "b", 1L) == -1 && errno == EEXIST && CALL(unlinkat, here, "b", 0L) == 0);
    CHECK(CALL(mkdirat, here, "d", 0750L) == 0 && CALL(renameat2, here, "a", AT_FDCWD, "d/a", 0L) == 0);
    CHECK(CALL(symlinkat, "d/a", here, "l") == 0 && CALL(readlinkat, AT_FDCWD, "l", target, 20L) == 3 &&
          memcmp(target, "d/a", 3) == 0 && holds("l", "other"));
    CHECK(CALL(faccessat, AT_FDCWD, "d/a", (long)R_OK) == 0 && CALL(faccessat, here, "none", (long)F_OK) == -1 &&
          errno == ENOENT);
    CHECK(CALL(getcwd, before, sizeof before) > 1 && CALL(chdir, "d") == 0 && holds("a", "other"));
    CHECK(CALL(getcwd, now, sizeof now) == (long)strlen(before) + 3 && strncmp(now, before, strlen(before)) == 0);
    CHECK(CALL(fchdir, here) == 0 && CALL(unlinkat, here, "d", (long)AT_REMOVEDIR) == -1 && errno == ENOTEMPTY);
    CHECK(CALL(unlinkat, here, "d/a", 0L) == 0 && CALL(unlinkat, here, "d", (long)AT_REMOVEDIR) == 0);
#ifdef SYS_open
    const int fd = (int)CALL(open, "o", (long)(O_CREAT | O_RDWR), 0600L);
    CHECK(fd >= 0 && CALL(write, fd, "o", 1L) == 1 && CALL(rename, "o", "p") == 0 && CALL(access, "p", 0L) == 0);
    CHECK(CALL(unlink, "p") == 0 && CALL(mkdir, "e", 0700L) == 0 && CALL(rmdir, "e") == 0 && CALL(close, fd) == 0);
    const int made = (int)CALL(creat, "c", 0600L);
    CHECK(made >= 0 && CALL(symlink, "c", "m") == 0 && CALL(readlink, "m", target, 20L) == 1 && close(made) == 0);
#endif
    CHECK(CALL(chdir, "/") == 0 && access("l", F_OK) == -1 && CALL(chdir, before) == 0);
}

static void attributes(void)
{
    const int fd = open_by_number("f", O_RDWR);
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000000000}};
    struct statx extended;
    struct statfs space;
    struct stat stats;

    CHECK(write(fd, "abc", 3) == 3 && CALL(statx, AT_FDCWD, "f", 0L, STATX_BASIC_STATS, &extended) == 0);
    CHECK(extended.stx_size == 3 && S_ISREG(extended.stx_mode));
    CHECK(CALL(statx, fd, "", (long)AT_EMPTY_PATH, STATX_BASIC_STATS, &extended) == 0 && extended.stx_size == 3);
    CHECK(CALL(newfstatat, AT_FDCWD, "f", &stats, 0L) == 0 && stats.st_size == 3);
    CHECK(CALL(newfstatat, fd, "", &stats, (long)AT_EMPTY_PATH) == 0 && stats.st_size == 3);
    CHECK(CALL(fstat, fd, &stats) == 0 && stats.st_size == 3 && CALL(fchmod, fd, 0640L) == 0);
    CHECK(fstat(fd, &stats) == 0 && (stats.st_mode & 07777) == 0640 && CALL(fchmodat, AT_FDCWD, "f", 0600L) == 0);
    CHECK(CALL(utimensat, AT_FDCWD, "f", times, 0L) == 0 && stat("f", &stats) == 0 && stats.st_mtime == 1000000000);
    CHECK((stats.st_mode & 07777) == 0600 && CALL(utimensat, fd, NULL, NULL, 0L) == 0 && stat("f", &stats) == 0 &&
          stats.st_mtime > 1000000000);
    CHECK(CALL(fchown, fd, -1L, -1L) == 0 && CALL(fchownat, AT_FDCWD, "f", -1L, -1L, 0L) == 0);
    CHECK(CALL(statfs, "f", &space) == 0 && CALL(fstatfs, fd, &space) == 0 && space.f_bsize > 0);
    char value[10];
    CHECK((CALL(fsetxattr, fd, "user.x", "v", 1L, 0L) == 0 && CALL(getxattr, "f", "user.x", value, 10L) == 1) ||
          errno == EOPNOTSUPP);
    CALL(umask, 077L);
    put("g", "");
    CHECK(stat("g", &stats) == 0 && (stats.st_mode & 07777) == 0600);
#ifdef SYS_stat
    CHECK(CALL(stat, "f", &stats) == 0 && stats.st_size == 3 && CALL(lstat, "f", &stats) == 0 && stats.st_size == 3);
    CHECK(CALL(chmod, "f", 0644L) == 0 && CALL(chown, "f", -1L, -1L) == 0);
#endif
}

/* By pieces of `room` bytes: how many there are, and the sum of their numbers. */
static int list(int fd, size_t room, int by_number, int *sum)
{
    char buffer[8192];
    int count = 0;
    long length;

    *sum = 0;
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    while ((length = by_number ? CALL(getdents64, fd, buffer, room) : getdents64(fd, buffer, room)) > 0)
        for (long at = 0; at < length;) {
            const struct dirent64 *entry = (const struct dirent64 *)(void *)(buffer + at);
            CHECK(entry->d_reclen > 0 && at + entry->d_reclen <= length);
            count++;
            *sum += entry->d_name[0] == 'n' ? atoi(entry->d_name + 1) : 0;
            at += entry->d_reclen;
        }
    CHECK(length == 0);
    return count;
}

static void listing(void)
{
    char name[20];
    int sum;

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%d", i);
        put(name, "");
    }
    const int fd = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0 && list(fd, 8192, 1, &sum) == 102 && sum == 4950);
    CHECK(list(fd, 100, 1, &sum) == 102 && sum == 4950);
    CHECK(list(fd, 8192, 0, &sum) == 102 && sum == 4950);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && CALL(getdents64, fd, name, 5L) == -1 && errno == EINVAL);
    const int file = open("n1", O_RDONLY);
    CHECK(CALL(getdents64, file, name, 20L) == -1 && errno == ENOTDIR);
}

static const test_case_t cases[] = {
    {"bytes", bytes}, {"descriptors", descriptors}, {"names", names}, {"attributes", attributes}, {"listing", listing}};

int main(int argc, char **argv)
{
    return cases_run(argc, argv, cases, sizeof cases / sizeof *cases);
}
