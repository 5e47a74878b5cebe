/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * errors DIRECTORY: makes calls below the directory, which is empty, and prints one line for each: the call, and the
 * errno or "ok". The same program below a mount point and on a local file system is to print the same.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

static char long_name[300], long_path[5000];
static char buffer[100];
static volatile int minus_one = -1;

/* Of a call that returns less than 0, or MAP_FAILED, on failure. */
#define SHOW(call)                                                                                                     \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        long result_ = (long)(call);                                                                                   \
        printf("%s: %s\n", #call, result_ < 0 ? strerrorname_np(errno) : "ok");                                        \
    } while (0)
/* Of one that returns a pointer or NULL. */
#define SHOW_POINTER(call)                                                                                             \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        printf("%s: %s\n", #call, (call) ? "ok" : strerrorname_np(errno));                                             \
    } while (0)
/* Of one whose value counts. */
#define SHOW_VALUE(call)                                                                                               \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        long result_ = (long)(call);                                                                                   \
        printf("%s: %ld %s\n", #call, result_, result_ < 0 ? strerrorname_np(errno) : "");                             \
    } while (0)

static void make(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        perror(name);
}

static void names(void)
{
    struct stat stats;

    SHOW(open("none", O_RDONLY));
    SHOW(open("none/x", O_CREAT | O_WRONLY, 0600));
    SHOW(open("file/x", O_CREAT | O_WRONLY, 0600));
    SHOW(open("file", O_CREAT | O_EXCL | O_WRONLY, 0600));
    SHOW(open("dir", O_CREAT | O_EXCL | O_WRONLY, 0600));
    SHOW(open("dir", O_CREAT | O_WRONLY, 0600));
    SHOW(open("dir", O_WRONLY));
    SHOW(open("dir", O_RDWR));
    SHOW(open("dir", O_RDONLY));
    SHOW(open("file", O_RDONLY | O_DIRECTORY));
    SHOW(open("file/", O_RDONLY));
    SHOW(open("new/", O_CREAT | O_WRONLY, 0600));
    SHOW(open("", O_RDONLY));
    SHOW(open(long_name, O_RDONLY));
    SHOW(open(long_path, O_RDONLY));
    SHOW(open("file", O_RDONLY | O_NOFOLLOW));
    SHOW(creat("dir", 0600));
    SHOW(stat("none", &stats));
    SHOW(stat("file/x", &stats));
    SHOW(stat("file/", &stats));
    SHOW(stat("dir/", &stats));
    SHOW(stat("dir/.", &stats));
    SHOW(stat("dir/../file", &stats));
    SHOW(lstat("none/none", &stats));
    SHOW(stat(long_name, &stats));
    SHOW(access("none", F_OK));
    SHOW(access("file", R_OK | W_OK));
    SHOW(access("file", 64));
    SHOW(mkdir("dir", 0700));
    SHOW(mkdir("file", 0700));
    SHOW(mkdir("none/x", 0700));
    SHOW(mkdir("file/x", 0700));
    SHOW(mkdir(long_name, 0700));
    SHOW(mkdir("made/", 0700));
    SHOW(rmdir("made/"));
    SHOW(rmdir("file"));
    SHOW(rmdir("none"));
    SHOW(rmdir("dir"));
    SHOW(unlink("dir"));
    SHOW(unlink("none"));
    SHOW(unlink("file/x"));
    SHOW(unlink("file/"));
    SHOW(unlinkat(AT_FDCWD, "dir", AT_REMOVEDIR));
    SHOW(remove("none"));
    SHOW(rename("none", "other"));
    SHOW(rename("file", "none/x"));
    SHOW(rename("file", "dir"));
    SHOW(rename("dir", "file"));
    SHOW(rename("dir", "dir/inside"));
    SHOW(rename("empty", "dir"));
    SHOW(rename("file", "file"));
    SHOW(rename("file", "/proc/themis-errors"));
    SHOW(renameat2(AT_FDCWD, "file", AT_FDCWD, "dir/below", RENAME_NOREPLACE));
    SHOW(renameat2(AT_FDCWD, "file", AT_FDCWD, "dir/below", 64));
    SHOW(mkfifo("dir", 0600));
    SHOW(symlink("x", "file"));
    SHOW(readlink("file", buffer, sizeof buffer));
    SHOW(readlink("none", buffer, sizeof buffer));
    SHOW(truncate("none", 1));
    SHOW(truncate("dir", 1));
    SHOW(truncate("file", -1));
    SHOW(chmod("none", 0600));
    SHOW(chmod("file/x", 0600));
    SHOW(utimensat(AT_FDCWD, "none", NULL, 0));
    SHOW(utimensat(AT_FDCWD, "file", (struct timespec[2]){{0, 2000000000}, {0, 0}}, 0));
    SHOW(getxattr("file", "user.none", buffer, sizeof buffer) < 0 && (errno == ENODATA || errno == EOPNOTSUPP));
    SHOW(chdir("none"));
    SHOW(chdir("file"));
    SHOW_POINTER(opendir("none"));
    SHOW_POINTER(opendir("file"));
    SHOW_POINTER(realpath("none", NULL));
    SHOW_POINTER(realpath("file/x", NULL));
    SHOW_POINTER(fopen("none", "r"));
    SHOW_POINTER(fopen("dir", "w"));
    SHOW_POINTER(fopen("file", "q"));
    SHOW_POINTER(fopen("file", "wx"));
}

static void files(void)
{
    const int reads = open("file", O_RDONLY), writes = open("file", O_WRONLY), both = open("file", O_RDWR);
    const int directory = open("dir", O_RDONLY | O_DIRECTORY), place = open("file", O_PATH);
    struct iovec vector[2] = {{buffer, 2}, {buffer + 2, 2}};
    struct stat stats;

    SHOW_VALUE(read(reads, buffer, 4));
    SHOW_VALUE(read(reads, buffer, 100));
    SHOW_VALUE(read(reads, buffer, 100));
    SHOW_VALUE(pread(reads, buffer, 3, 1));
    SHOW_VALUE(pread(reads, buffer, 3, 1000));
    SHOW_VALUE(pread(reads, buffer, 3, minus_one));
    SHOW_VALUE(read(writes, buffer, 1));
    SHOW_VALUE(read(directory, buffer, 1));
    SHOW_VALUE(read(place, buffer, 1));
    SHOW_VALUE(readv(both, vector, 2));
    SHOW_VALUE(readv(both, vector, minus_one));
    SHOW_VALUE(preadv2(both, vector, 2, 0, 0));
    SHOW_VALUE(write(reads, "x", 1));
    SHOW_VALUE(write(directory, "x", 1));
    SHOW_VALUE(pwrite(both, "x", 1, -1));
    SHOW_VALUE(pwrite(both, "x", 0, 5));
    SHOW_VALUE(lseek(both, -1, SEEK_SET));
    SHOW_VALUE(lseek(both, 0, 77));
    SHOW_VALUE(lseek(both, 2, SEEK_END));
    SHOW_VALUE(lseek(both, 3, SEEK_SET));
    SHOW_VALUE(lseek(both, -2, SEEK_CUR));
    SHOW_VALUE(lseek(both, 1000, SEEK_DATA));
    SHOW_VALUE(lseek(both, LONG_MAX, SEEK_CUR));
    SHOW(ftruncate(reads, 1));
    SHOW(ftruncate(both, -1));
    SHOW(ftruncate(directory, 1));
    SHOW(fsync(reads));
    SHOW(fsync(directory));
    SHOW(fdatasync(place));
    SHOW(fallocate(both, 0, 0, 0));
    SHOW(fallocate(both, 0, -1, 10));
    SHOW(fallocate(reads, 0, 0, 10));
    SHOW_VALUE(posix_fallocate(both, 0, 0));
    SHOW_VALUE(posix_fadvise(both, 0, 0, POSIX_FADV_SEQUENTIAL));
    SHOW_VALUE(posix_fadvise(both, 0, 0, 77));
    SHOW(fchmod(both, 0640));
    SHOW(fchmod(place, 0640));
    SHOW(fstat(place, &stats));
    SHOW(fstatat(directory, "below", &stats, 0));
    SHOW(fstatat(directory, "none", &stats, 0));
    SHOW(fstatat(both, "x", &stats, 0));
    SHOW(fstatat(both, "", &stats, AT_EMPTY_PATH));
    SHOW(openat(directory, "../file", O_RDONLY));
    SHOW(openat(both, "x", O_RDONLY));
    SHOW(mkdirat(directory, "below", 0700));
    SHOW(fchdir(both));
    SHOW_VALUE(fcntl(reads, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    SHOW_VALUE(fcntl(writes, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    SHOW(fcntl(both, F_SETFL, O_APPEND | O_NONBLOCK));
    SHOW_VALUE(fcntl(both, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    SHOW_VALUE(fcntl(both, F_GETFD));
    SHOW(fcntl(both, F_SETLK, &((struct flock){.l_type = 77})));
    SHOW(fcntl(reads, F_SETLK, &((struct flock){.l_type = F_WRLCK})));
    SHOW(fcntl(both, F_SETLK, &((struct flock){.l_type = F_WRLCK, .l_start = -1})));
    SHOW(flock(both, 77));
    SHOW(isatty(both));
    SHOW(ioctl(both, TCGETS, buffer));
    SHOW(mmap(NULL, 0, PROT_READ, MAP_SHARED, both, 0));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, both, 7));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, writes, 0));
    SHOW(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reads, 0));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, directory, 0));
    SHOW(poll(&((struct pollfd){.fd = both, .events = POLLIN | POLLOUT}), 1, 0));
    SHOW_POINTER(fdopen(reads, "w"));
    SHOW_POINTER(fdopendir(both));
    SHOW(dup2(both, -1));
    SHOW(dup3(both, both, 0));
    SHOW(close(both));
    SHOW(close(both));
    SHOW(read(both, buffer, 1));
    SHOW(fstat(both, &stats));
    SHOW(close(place));
}

int main(int argc, char **argv)
{
    memset(long_name, 'n', sizeof long_name - 1);
    for (size_t i = 0; i + 2 < sizeof long_path; i += 2)
        memcpy(long_path + i, "d/", 2);
    if (argc != 2 || chdir(argv[1]) != 0 || mkdir("dir", 0755) != 0 || mkdir("empty", 0755) != 0) {
        perror("errors");
        return 2;
    }
    make("file", "0123456789");
    make("dir/below", "below");
    names();
    files();
    return 0;
}
