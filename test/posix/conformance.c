/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conformance DIRECTORY: what POSIX and Linux ask of file-system calls, each as one line "ok NAME" or "differs NAME #
 * what happened", in an empty directory. Calls are those of libc, so that a mount and a library that intercepts calls
 * are asked the same; a local file system is the control. As root it also tries what other users may, as user and group
 * 65534. Returns 0 when all lines were printed, whatever they say.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { OTHER = 65534 };

/* --- results ------------------------------------------------------------------------------------------------------ */

static void report(const char *name, int right, const char *what)
{
    if (right)
        printf("ok %s\n", name);
    else
        printf("differs %s # %s\n", name, what);
    fflush(stdout);
}

static void expect_error(const char *name, long result, int wanted, int other)
{
    const int got = result < 0 ? errno : 0;
    char what[128];

    snprintf(what, sizeof what, "%s, not %s", got ? strerrorname_np(got) : "success", strerrorname_np(wanted));
    report(name, got == wanted || (other && got == other), what);
}

static void expect_success(const char *name, long result)
{
    report(name, result >= 0, result < 0 ? strerrorname_np(errno) : "");
}

#define FAILS(name, code, call) (errno = 0, expect_error(name, (long)(call), code, 0))
/* POSIX allows two. */
#define FAILS2(name, code, other, call) (errno = 0, expect_error(name, (long)(call), code, other))
#define WORKS(name, call) (errno = 0, expect_success(name, (long)(call)))
#define HOLDS(name, condition) report(name, condition, #condition " does not hold")

/* --- helpers ------------------------------------------------------------------------------------------------------ */

static int put(const char *path, const char *bytes, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    ssize_t written = fd < 0 ? -1 : write(fd, bytes, strlen(bytes));

    return fd >= 0 && close(fd) == 0 && written == (ssize_t)strlen(bytes) ? 0 : -1;
}

/* The first bytes of a file, "?" if it cannot be read. */
static const char *contents(const char *path)
{
    static char bytes[64];
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes - 1);

    if (fd >= 0)
        close(fd);
    if (got < 0)
        return "?";
    bytes[got] = '\0';
    return bytes;
}

static struct stat status_of(const char *path)
{
    struct stat stat = {0};

    if (lstat(path, &stat) != 0)
        stat.st_mode = 0;
    return stat;
}

static mode_t mode_of(const char *path)
{
    return status_of(path).st_mode & 07777;
}

/* open() whose descriptor nobody needs. */
static int try_open(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int count_entries(const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;

    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

/* --- open, read, write -------------------------------------------------------------------------------------------- */

static void check_open(void)
{
    static char too_long[300];

    memset(too_long, 'n', 256);
    put("file", "data", 0644);
    mkdir("dir", 0755);
    FAILS("open: no such file", ENOENT, try_open("none", O_RDONLY));
    FAILS("open: no such directory", ENOENT, try_open("none/x", O_CREAT | O_WRONLY));
    FAILS("open: a file as a directory", ENOTDIR, try_open("file/x", O_RDONLY));
    FAILS("open: a file as a directory, O_CREAT", ENOTDIR, try_open("file/x", O_CREAT | O_WRONLY));
    FAILS("open: O_DIRECTORY of a file", ENOTDIR, try_open("file", O_RDONLY | O_DIRECTORY));
    FAILS("open: a directory for writing", EISDIR, try_open("dir", O_WRONLY));
    FAILS("open: a directory for both", EISDIR, try_open("dir", O_RDWR));
    FAILS("open: O_CREAT of a directory", EISDIR, try_open("dir", O_CREAT | O_RDONLY));
    FAILS("open: O_EXCL of a file", EEXIST, try_open("file", O_CREAT | O_EXCL | O_WRONLY));
    FAILS("open: O_EXCL of a directory", EEXIST, try_open("dir", O_CREAT | O_EXCL | O_WRONLY));
    FAILS("open: a name of 256 bytes", ENAMETOOLONG, try_open(too_long, O_CREAT | O_WRONLY));
    too_long[255] = '\0';
    WORKS("open: a name of 255 bytes", try_open(too_long, O_CREAT | O_WRONLY));
    unlink(too_long);
    FAILS("open: an empty path", ENOENT, try_open("", O_RDONLY));
    WORKS("open: O_TRUNC", try_open("file", O_WRONLY | O_TRUNC));
    HOLDS("open: O_TRUNC empties it", status_of("file").st_size == 0);
    WORKS("open: O_TRUNC with O_RDONLY of Linux", try_open("file", O_RDONLY | O_TRUNC));
    mode_t old = umask(027);
    put("masked", "", 0666);
    mkdir("masked.d", 0777);
    umask(old);
    HOLDS("open: umask", mode_of("masked") == 0640 && mode_of("masked.d") == 0750);
    int fd = open("readable", O_CREAT | O_RDWR | O_EXCL, 0);
    WORKS("open: a new file of mode 0 is open for both", write(fd, "x", 1) == 1 && pread(fd, &old, 1, 0) == 1 ? 0 : -1);
    close(fd);
    WORKS("open: O_PATH", try_open("file", O_PATH));
    rmdir("dir");
    rmdir("masked.d");
    unlink("file");
    unlink("masked");
    unlink("readable");
}

static void check_bytes(void)
{
    char bytes[16] = {0};
    int fd = open("f", O_CREAT | O_RDWR, 0644), rd = open("f", O_RDONLY), ad = open("f", O_WRONLY | O_APPEND);

    WORKS("write", write(fd, "0123456789", 10) == 10 ? 0 : -1);
    HOLDS("read: past the end", pread(fd, bytes, 4, 10) == 0 && pread(fd, bytes, 4, 100) == 0);
    HOLDS("read: up to the end", pread(fd, bytes, 16, 8) == 2);
    FAILS("write: to a descriptor for reading", EBADF, write(rd, "x", 1));
    FAILS("read: from a descriptor for writing", EBADF, read(ad, bytes, 1));
    HOLDS("append", write(ad, "ab", 2) == 2 && status_of("f").st_size == 12);
    WORKS("write: past the end", pwrite(fd, "z", 1, 20) == 1 ? 0 : -1);
    HOLDS("write: the hole reads as zeros", pread(fd, bytes, 9, 12) == 9 && !bytes[0] && !bytes[7] && bytes[8] == 'z');
    FAILS("lseek: to before the start", EINVAL, lseek(fd, -1, SEEK_SET));
    FAILS("lseek: SEEK_DATA past the end", ENXIO, lseek(fd, 100, SEEK_DATA));
    HOLDS("lseek: SEEK_HOLE finds the end", lseek(fd, 20, SEEK_HOLE) == 21);
    FAILS("pread: before the start", EINVAL, pread(fd, bytes, 1, -1));
    FAILS("ftruncate: of a descriptor for reading", EINVAL, ftruncate(rd, 0));
    FAILS("ftruncate: to below 0", EINVAL, ftruncate(fd, -1));
    FAILS("truncate: to below 0", EINVAL, truncate("f", -1));
    FAILS("truncate: no such file", ENOENT, truncate("none", 0));
    mkdir("d", 0755);
    FAILS("truncate: a directory", EISDIR, truncate("d", 0));
    rmdir("d");
    HOLDS("truncate: grows by a hole",
          truncate("f", 100) == 0 && status_of("f").st_size == 100 && pread(fd, bytes, 2, 98) == 2);
    HOLDS("truncate: cuts", truncate("f", 3) == 0 && strcmp(contents("f"), "012") == 0);
    HOLDS("truncate: what was cut stays away", truncate("f", 6) == 0 && pread(fd, bytes, 6, 0) == 6 && !bytes[4]);
    WORKS("fallocate", posix_fallocate(fd, 0, 5000) == 0 && status_of("f").st_size == 5000 ? 0 : -1);
    FAILS("fallocate: of a descriptor for reading", EBADF, fallocate(rd, 0, 0, 10));
    WORKS("fallocate: KEEP_SIZE", fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 10000));
    WORKS("fallocate: PUNCH_HOLE", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
    WORKS("fsync", fsync(fd) | fdatasync(rd));
    close(fd);
    close(rd);
    close(ad);
    unlink("f");
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void check_unlink(void)
{
    struct stat stat;

    put("f", "data", 0644);
    mkdir("d", 0755);
    FAILS("unlink: no such file", ENOENT, unlink("none"));
    FAILS2("unlink: a directory", EISDIR, EPERM, unlink("d"));
    FAILS("unlink: below a file", ENOTDIR, unlink("f/x"));
    FAILS("unlink: with a slash at the end", ENOTDIR, unlink("f/"));
    int fd = open("f", O_RDWR);
    WORKS("unlink: of an open file", unlink("f"));
    HOLDS("unlink: an open file keeps its bytes", pread(fd, &stat, 4, 0) == 4);
    HOLDS("unlink: an open file has no link", fstat(fd, &stat) == 0 && stat.st_nlink == 0);
    HOLDS("unlink: an open file is changed", ftruncate(fd, 2) == 0 && fchmod(fd, 0600) == 0 && fstat(fd, &stat) == 0 &&
                                                 stat.st_size == 2 && (stat.st_mode & 07777) == 0600);
    HOLDS("unlink: the name is free",
          put("f", "new", 0644) == 0 && fstat(fd, &stat) == 0 && stat.st_ino != status_of("f").st_ino);
    close(fd);
    unlink("f");
    rmdir("d");
}

static void check_directories(void)
{
    put("f", "", 0644);
    mkdir("d", 0755);
    put("d/x", "", 0644);
    FAILS("mkdir: a directory", EEXIST, mkdir("d", 0755));
    FAILS("mkdir: a file", EEXIST, mkdir("f", 0755));
    FAILS("mkdir: no such directory", ENOENT, mkdir("none/d", 0755));
    FAILS("mkdir: below a file", ENOTDIR, mkdir("f/d", 0755));
    FAILS("mkdir: a link that leads nowhere", EEXIST, symlink("none", "l") | mkdir("l", 0755));
    unlink("l");
    WORKS("mkdir: with a slash at the end", mkdir("e/", 0755) | rmdir("e/"));
    FAILS2("rmdir: with entries", ENOTEMPTY, EEXIST, rmdir("d"));
    FAILS("rmdir: a file", ENOTDIR, rmdir("f"));
    FAILS("rmdir: no such directory", ENOENT, rmdir("none"));
    FAILS("rmdir: .", EINVAL, rmdir("d/."));
    FAILS2("rmdir: ..", ENOTEMPTY, EEXIST, rmdir("d/.."));
    symlink("d", "l");
    FAILS("rmdir: a link to a directory", ENOTDIR, rmdir("l"));
    unlink("l");
    HOLDS("readdir: . and .. and what there is", count_entries("d") == 3);
    FAILS("opendir: a file", ENOTDIR, opendir("f") ? 0 : -1);
    FAILS("opendir: no such directory", ENOENT, opendir("none") ? 0 : -1);
    struct stat before = status_of("d");
    mkdir("d/e", 0755);
    HOLDS("mkdir: adds a link to the directory above", status_of("d").st_nlink == before.st_nlink + 1);
    HOLDS("mkdir: changes the time of the directory above",
          status_of("d").st_mtim.tv_sec > before.st_mtim.tv_sec ||
              status_of("d").st_mtim.tv_nsec != before.st_mtim.tv_nsec);
    rmdir("d/e");
    unlink("d/x");
    rmdir("d");
    unlink("f");
    int fd = mkdir("gone", 0755) == 0 ? open("gone", O_RDONLY | O_DIRECTORY) : -1;
    rmdir("gone");
    FAILS("openat: in a removed directory", ENOENT, openat(fd, "x", O_CREAT | O_WRONLY, 0644));
    close(fd);
}

static int position_holds(void)
{
    char name[16], found[NAME_MAX + 1];
    int seen = 0;

    mkdir("d", 0755);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "d/n%03d", i);
        put(name, "", 0644);
    }
    DIR *directory = opendir("d");
    for (int i = 0; i < 50; i++)
        readdir(directory);
    long at = telldir(directory);
    struct dirent *entry = readdir(directory);
    snprintf(found, sizeof found, "%s", entry ? entry->d_name : "?");
    while (readdir(directory))
        ;
    seekdir(directory, at);
    entry = readdir(directory);
    int same = entry && strcmp(entry->d_name, found) == 0;
    put("d/new", "", 0644);
    rewinddir(directory);
    while ((entry = readdir(directory)))
        seen |= strcmp(entry->d_name, "new") == 0;
    closedir(directory);
    unlink("d/new");
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "d/n%03d", i);
        unlink(name);
    }
    rmdir("d");
    return same && seen;
}

/* Any bytes but NUL and slash are a name. */
static int names_hold(void)
{
    int wrong = 0;

    for (int byte = 1; byte < 256; byte++) {
        const char name[] = {'n', (char)byte, '\0'};
        if (byte == '/')
            continue;
        wrong += put(name, "x", 0644) != 0 || strcmp(contents(name), "x") != 0;
    }
    wrong += count_entries(".") != 256;
    for (int byte = 1; byte < 256; byte++) {
        const char name[] = {'n', (char)byte, '\0'};
        if (byte != '/')
            wrong += unlink(name) != 0;
    }
    return wrong == 0;
}

static void check_rename(void)
{
    put("f", "f", 0644);
    put("g", "g", 0644);
    mkdir("d", 0755);
    mkdir("empty", 0755);
    mkdir("full", 0755);
    put("full/x", "", 0644);
    symlink("f", "l");
    FAILS("rename: no such file", ENOENT, rename("none", "x"));
    FAILS("rename: to no such directory", ENOENT, rename("f", "none/x"));
    FAILS("rename: a file over a directory", EISDIR, rename("f", "d"));
    FAILS("rename: a link over a directory", EISDIR, rename("l", "d"));
    FAILS("rename: a directory over a file", ENOTDIR, rename("d", "f"));
    FAILS("rename: a directory over a link", ENOTDIR, rename("d", "l"));
    FAILS2("rename: over a directory with entries", ENOTEMPTY, EEXIST, rename("d", "full"));
    FAILS("rename: into itself", EINVAL, rename("d", "d/e"));
    FAILS2("rename: .", EBUSY, EINVAL, rename("d/.", "e"));
    FAILS("rename: a file with a slash at the end", ENOTDIR, rename("f", "x/"));
    FAILS("rename: below a file", ENOTDIR, rename("g", "f/x"));
    WORKS("rename: to itself", rename("f", "f"));
    WORKS("rename: over an empty directory", rename("d", "empty"));
    WORKS("rename: a directory with entries", rename("full", "moved"));
    HOLDS("rename: the entries are there", status_of("moved/x").st_mode && !status_of("full").st_mode);
    struct stat before = status_of("f");
    WORKS("rename: over a file", rename("f", "g"));
    HOLDS("rename: it is the file that replaced",
          strcmp(contents("g"), "f") == 0 && status_of("g").st_ino == before.st_ino);
    WORKS("rename: a link", rename("l", "m"));
    HOLDS("rename: it is a link with its target", S_ISLNK(status_of("m").st_mode) && status_of("m").st_size == 1);
    WORKS("rename: over a link", rename("g", "m"));
    HOLDS("rename: not over what it leads to", S_ISREG(status_of("m").st_mode) && !status_of("f").st_mode);
    put("h", "h", 0644);
    FAILS("renameat2: NOREPLACE", EEXIST, renameat2(AT_FDCWD, "m", AT_FDCWD, "h", RENAME_NOREPLACE));
    WORKS("renameat2: NOREPLACE to a free name", renameat2(AT_FDCWD, "m", AT_FDCWD, "n", RENAME_NOREPLACE));
    WORKS("renameat2: EXCHANGE", renameat2(AT_FDCWD, "n", AT_FDCWD, "h", RENAME_EXCHANGE));
    FAILS("renameat2: both", EINVAL, renameat2(AT_FDCWD, "n", AT_FDCWD, "h", RENAME_EXCHANGE | RENAME_NOREPLACE));
    unlink("moved/x");
    rmdir("moved");
    rmdir("empty");
    unlink("n");
    unlink("h");
}

/* --- links -------------------------------------------------------------------------------------------------------- */

static void remove_all(const char *const *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        unlink(all[i]);
}

static void check_symlinks(void)
{
    static char target[PATH_MAX + 1], buffer[PATH_MAX + 1];
    const char *const all[] = {"f", "l"};

    put("f", "data", 0644);
    WORKS("symlink", symlink("f", "l"));
    HOLDS("symlink: is one", S_ISLNK(status_of("l").st_mode) && mode_of("l") == 0777 && status_of("l").st_size == 1);
    FAILS("symlink: over a file", EEXIST, symlink("x", "f"));
    FAILS("symlink: over a link", EEXIST, symlink("x", "l"));
    FAILS("symlink: an empty target", ENOENT, symlink("", "e"));
    FAILS("symlink: below a file", ENOTDIR, symlink("x", "f/l"));
    FAILS("readlink: a file", EINVAL, readlink("f", buffer, sizeof buffer));
    FAILS("readlink: no such file", ENOENT, readlink("none", buffer, sizeof buffer));
    HOLDS("readlink: cuts",
          symlink("abcdef", "s") == 0 && readlink("s", buffer, 3) == 3 && memcmp(buffer, "abc", 3) == 0);
    unlink("s");
    memset(target, 't', 4000);
    HOLDS("symlink: a long target", symlink(target, "s") == 0 && readlink("s", buffer, sizeof buffer) == 4000);
    unlink("s");
    WORKS("unlink: a link", unlink("l"));
    HOLDS("unlink: not what it leads to", status_of("f").st_mode);
    symlink("f", "l");
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    WORKS("utimensat: of a link itself", utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW));
    HOLDS("utimensat: what it leads to stays",
          status_of("l").st_mtim.tv_sec == 2000 && status_of("f").st_mtim.tv_sec > 2000);
    remove_all(all, sizeof all / sizeof *all);
}

static void check_followed_links(void)
{
    const char *const all[] = {"up", "loop", "nowhere", "to", "made", "l", "d/below", "f"};
    struct stat stat_;

    put("f", "data", 0644);
    mkdir("d", 0755);
    put("d/below", "deep", 0644);
    symlink("f", "l");
    HOLDS("symlink: is followed",
          strcmp(contents("l"), "data") == 0 && stat("l", &stat_) == 0 && S_ISREG(stat_.st_mode));
    FAILS("open: O_NOFOLLOW of a link", ELOOP, try_open("l", O_RDONLY | O_NOFOLLOW));
    FAILS("open: O_EXCL of a link", EEXIST, try_open("l", O_CREAT | O_EXCL | O_WRONLY));
    symlink("made", "to");
    HOLDS("open: O_CREAT through a link makes its target",
          put("to", "m", 0644) == 0 && strcmp(contents("made"), "m") == 0);
    symlink("none", "nowhere");
    FAILS("open: a link that leads nowhere", ENOENT, try_open("nowhere", O_RDONLY));
    symlink("loop", "loop");
    FAILS("open: a link to itself", ELOOP, try_open("loop", O_RDONLY));
    FAILS("open: through a link to itself", ELOOP, try_open("loop/x", O_RDONLY));
    symlink("d", "dl");
    HOLDS("symlink: of a directory is passed", strcmp(contents("dl/below"), "deep") == 0);
    symlink("dl/../f", "up");
    HOLDS("symlink: .. of a link", strcmp(contents("up"), "data") == 0);
    WORKS("unlink: a link to a directory", unlink("dl"));
    remove_all(all, sizeof all / sizeof *all);
    rmdir("d");
}

static void check_hard_links(void)
{
    const char *const all[] = {"hard", "fifo", "made", "f"};

    put("f", "data", 0644);
    put("made", "m", 0644);
    mkdir("d", 0755);
    WORKS("link", link("f", "hard"));
    FAILS("link: over a file", EEXIST, link("f", "made"));
    FAILS("link: no such file", ENOENT, link("none", "h"));
    FAILS("link: a directory", EPERM, link("d", "h"));
    WORKS("mknod: a FIFO", mkfifo("fifo", 0644));
    remove_all(all, sizeof all / sizeof *all);
    rmdir("d");
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

static void check_attributes(void)
{
    struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 1}, {.tv_sec = 2000, .tv_nsec = 123456789}};

    put("f", "data", 0644);
    mkdir("d", 0755);
    FAILS("chmod: no such file", ENOENT, chmod("none", 0644));
    FAILS("chmod: below a file", ENOTDIR, chmod("f/x", 0644));
    HOLDS("chmod: all bits", chmod("f", 07755) == 0 && mode_of("f") == 07755);
    HOLDS("chmod: of a directory", chmod("d", 03711) == 0 && mode_of("d") == 03711);
    int fd = open("f", O_RDONLY);
    HOLDS("fchmod", fchmod(fd, 0600) == 0 && mode_of("f") == 0600);
    close(fd);
    HOLDS("chown: to nobody else", chown("f", (uid_t)-1, (gid_t)-1) == 0);
    FAILS("chown: no such file", ENOENT, chown("none", 0, 0));
    HOLDS("utimensat: nanoseconds", utimensat(AT_FDCWD, "f", times, 0) == 0 && status_of("f").st_mtim.tv_sec == 2000 &&
                                        status_of("f").st_mtim.tv_nsec == 123456789);
    HOLDS("utimensat: the time of access",
          status_of("f").st_atim.tv_sec == 1000 && status_of("f").st_atim.tv_nsec == 1);
    times[1].tv_nsec = UTIME_OMIT;
    times[0].tv_nsec = UTIME_NOW;
    HOLDS("utimensat: UTIME_OMIT", utimensat(AT_FDCWD, "f", times, 0) == 0 && status_of("f").st_mtim.tv_sec == 2000);
    times[1].tv_nsec = UTIME_NOW;
    HOLDS("utimensat: UTIME_NOW", utimensat(AT_FDCWD, "f", times, 0) == 0 && status_of("f").st_mtim.tv_sec > 1000000);
    times[1].tv_nsec = 1000000000;
    FAILS("utimensat: not nanoseconds", EINVAL, utimensat(AT_FDCWD, "f", times, 0));
    HOLDS("utimensat: of a directory",
          utimensat(AT_FDCWD, "d", (struct timespec[2]){{.tv_sec = 5}, {.tv_sec = 6}}, 0) == 0 &&
              status_of("d").st_mtim.tv_sec == 6);
    unlink("f");
    rmdir("d");
}

static void check_times_and_access(void)
{
    put("f", "data", 0644);
    struct stat before = status_of("f");
    usleep(20000);
    put("f", "more", 0644);
    HOLDS("write: changes the time", status_of("f").st_mtim.tv_sec > before.st_mtim.tv_sec ||
                                         status_of("f").st_mtim.tv_nsec > before.st_mtim.tv_nsec);
    before = status_of("f");
    usleep(20000);
    chmod("f", 0640);
    HOLDS("chmod: changes the time of change only", status_of("f").st_mtim.tv_nsec == before.st_mtim.tv_nsec &&
                                                        status_of("f").st_ctim.tv_nsec != before.st_ctim.tv_nsec);
    HOLDS("stat: links of a file", before.st_nlink == 1);
    HOLDS("stat: a number that stays", before.st_ino != 0 && before.st_ino == status_of("f").st_ino);
    struct statvfs space;
    HOLDS("statvfs", statvfs(".", &space) == 0 && space.f_blocks > 0 && space.f_bavail <= space.f_blocks &&
                         space.f_namemax == 255);
    HOLDS("access", access("f", R_OK | W_OK) == 0 && access("f", F_OK) == 0);
    FAILS("access: no such file", ENOENT, access("none", F_OK));
    FAILS("access: nothing is executable", EACCES, access("f", X_OK));
    unlink("f");
}

static void check_xattrs(void)
{
    static char value[65537], got[65537];
    char list[64];

    put("f", "data", 0644);
    mkdir("d", 0755);
    symlink("f", "l");
    WORKS("setxattr", setxattr("f", "user.one", "1\0", 2, 0));
    HOLDS("getxattr", getxattr("f", "user.one", got, sizeof got) == 2 && memcmp(got, "1\0", 2) == 0);
    HOLDS("getxattr: the length", getxattr("f", "user.one", NULL, 0) == 2);
    FAILS("getxattr: too little room", ERANGE, getxattr("f", "user.one", got, 1));
    FAILS("getxattr: none of that name", ENODATA, getxattr("f", "user.none", got, sizeof got));
    FAILS("getxattr: no such file", ENOENT, getxattr("none", "user.one", got, sizeof got));
    FAILS("setxattr: XATTR_CREATE", EEXIST, setxattr("f", "user.one", "2", 1, XATTR_CREATE));
    FAILS("setxattr: XATTR_REPLACE", ENODATA, setxattr("f", "user.two", "2", 1, XATTR_REPLACE));
    FAILS("setxattr: an unknown space", EOPNOTSUPP, setxattr("f", "nospace.x", "2", 1, 0));
    FAILS("setxattr: of a link itself", EPERM, lsetxattr("l", "user.x", "2", 1, 0));
    HOLDS("setxattr: through a link",
          setxattr("l", "user.two", "", 0, 0) == 0 && getxattr("f", "user.two", NULL, 0) == 0);
    HOLDS("listxattr", listxattr("f", list, sizeof list) == 18 && listxattr("f", NULL, 0) == 18);
    FAILS("listxattr: too little room", ERANGE, listxattr("f", list, 10));
    HOLDS("setxattr: of a directory", setxattr("d", "user.d", "d", 1, 0) == 0 && getxattr("d", "user.d", got, 1) == 1);
    memset(value, 'v', 65536);
    HOLDS("setxattr: 64 KiB", setxattr("f", "user.big", value, 65536, 0) == 0 &&
                                  getxattr("f", "user.big", got, sizeof got) == 65536 &&
                                  memcmp(value, got, 65536) == 0);
    FAILS("setxattr: more", E2BIG, setxattr("f", "user.big", value, 65537, 0));
    rename("f", "g");
    rename("d", "e");
    HOLDS("rename: keeps extended attributes",
          getxattr("g", "user.big", NULL, 0) == 65536 && getxattr("e", "user.d", NULL, 0) == 1);
    WORKS("removexattr", removexattr("g", "user.big"));
    FAILS("removexattr: none of that name", ENODATA, removexattr("g", "user.big"));
    unlink("g");
    unlink("l");
    rmdir("e");
}

/* --- locks -------------------------------------------------------------------------------------------------------- */

/* Tries a lock in another process: 0, or the errno. */
static int lock_elsewhere(const char *path, short type, off_t start, off_t length)
{
    int result = 0;
    pid_t child = fork();

    if (child == 0) {
        int fd = open(path, O_RDWR);
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
        _exit(fcntl(fd, F_SETLK, &lock) == 0 ? 0 : errno);
    }
    waitpid(child, &result, 0);
    return WEXITSTATUS(result);
}

static int lock_here(int fd, short type, off_t start, off_t length)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};

    return fcntl(fd, F_SETLK, &lock);
}

static void check_locks(void)
{
    int fd = open("f", O_CREAT | O_RDWR, 0644), other = open("f", O_RDWR);

    WORKS("fcntl: a lock", lock_here(fd, F_WRLCK, 10, 10));
    HOLDS("fcntl: keeps others out", lock_elsewhere("f", F_RDLCK, 15, 1) == EAGAIN);
    HOLDS("fcntl: elsewhere they may", lock_elsewhere("f", F_WRLCK, 20, 0) == 0);
    WORKS("fcntl: the process itself may", lock_here(other, F_WRLCK, 12, 2));
    WORKS("fcntl: a part becomes shared", lock_here(fd, F_RDLCK, 12, 4));
    HOLDS("fcntl: that part only",
          lock_elsewhere("f", F_RDLCK, 12, 4) == 0 && lock_elsewhere("f", F_WRLCK, 12, 1) == EAGAIN &&
              lock_elsewhere("f", F_RDLCK, 11, 1) == EAGAIN && lock_elsewhere("f", F_RDLCK, 16, 1) == EAGAIN);
    lock_here(fd, F_UNLCK, 10, 3);
    HOLDS("fcntl: a part is unlocked",
          lock_elsewhere("f", F_WRLCK, 10, 3) == 0 && lock_elsewhere("f", F_WRLCK, 13, 1) == EAGAIN);
    close(other);
    HOLDS("fcntl: any close releases all", lock_elsewhere("f", F_WRLCK, 0, 0) == 0);
    other = open("f", O_RDWR);
    WORKS("flock", flock(fd, LOCK_EX));
    FAILS("flock: another open file", EWOULDBLOCK, flock(other, LOCK_SH | LOCK_NB));
    WORKS("flock: is no lock of fcntl's", lock_here(other, F_WRLCK, 0, 0));
    WORKS("flock: becomes shared", flock(fd, LOCK_SH));
    WORKS("flock: another may share", flock(other, LOCK_SH | LOCK_NB));
    close(fd);
    WORKS("flock: ends with its file", flock(other, LOCK_EX | LOCK_NB));
    close(other);
    unlink("f");
}

/* --- other users -------------------------------------------------------------------------------------------------- */

static void become(gid_t supplementary)
{
    if (setgroups(supplementary ? 1 : 0, &supplementary) != 0 || setgid(OTHER) != 0 || setuid(OTHER) != 0)
        _exit(9);
}

static void as_other(void)
{
    become(0);
    FAILS("user: a file of mode 0600", EACCES, try_open("private", O_RDONLY));
    FAILS("user: in a directory of mode 0700", EACCES, try_open("closed/f", O_RDONLY));
    FAILS("user: a directory of mode 0700 is listed", EACCES, opendir("closed") ? 0 : -1);
    FAILS("user: a new name in a directory of mode 0755", EACCES, try_open("readable/new", O_CREAT | O_WRONLY));
    FAILS("user: unlink there", EACCES, unlink("readable/f"));
    FAILS("user: chmod of another's", EPERM, chmod("readable/f", 0666));
    FAILS("user: chown of another's", EPERM, chown("readable/f", OTHER, OTHER));
    FAILS("user: utimensat of another's", EPERM,
          utimensat(AT_FDCWD, "readable/f", (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0));
    WORKS("user: through a link to another's", try_open("shown", O_RDONLY));
    FAILS("user: through a link to what is closed", EACCES, try_open("hidden", O_RDONLY));
    FAILS("user: access", EACCES, access("private", R_OK));
    FAILS("user: setxattr of another's", EACCES, setxattr("readable/f", "user.x", "1", 1, 0));
    FAILS2("user: unlink in a sticky directory", EPERM, EACCES, unlink("sticky/f"));
    FAILS2("user: rename in a sticky directory", EPERM, EACCES, rename("sticky/f", "sticky/g"));
    WORKS("user: a name of his own there", put("sticky/own", "", 0644));
    HOLDS("user: which is his", status_of("sticky/own").st_uid == OTHER && status_of("sticky/own").st_gid == OTHER);
    WORKS("user: and which he renames and removes", rename("sticky/own", "sticky/mine") | unlink("sticky/mine"));
    put("sticky/given", "", 0644);
    FAILS("user: gives a file away", EPERM, chown("sticky/given", 0, (gid_t)-1));
    FAILS("user: to a group that is not his", EPERM, chown("sticky/given", (uid_t)-1, 0));
    unlink("sticky/given");
    WORKS("user: a file in a directory with setgid", put("group/f", "", 0644));
    HOLDS("user: has its group", status_of("group/f").st_gid == 4711);
    mkdir("group/d", 0755);
    HOLDS("user: and a directory its bit as well", status_of("group/d").st_gid == 4711 && mode_of("group/d") & S_ISGID);
    unlink("group/f");
    rmdir("group/d");
}

static void as_member(void)
{
    become(4711);
    WORKS("user: reads what his supplementary group may", try_open("members", O_RDONLY));
    WORKS("user: access, likewise", access("members", R_OK));
}

static void run_as(void (*checks)(void))
{
    int result = 0;
    pid_t child = fork();

    if (child == 0) {
        checks();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &result, 0);
    if (result)
        printf("differs user: all # could not be tried\n");
}

static void check_users(void)
{
    const struct {
        const char *name;
        mode_t mode;
    } directories[] = {{"closed", 0700}, {"readable", 0755}, {"sticky", 01777}, {"group", 02777}};

    chmod(".", 0755);
    for (int i = 0; i < 4; i++) {
        mkdir(directories[i].name, 0755);
        chmod(directories[i].name, directories[i].mode);
    }
    chown("group", 0, 4711);
    chmod("group", 02777);
    put("private", "", 0600);
    put("closed/f", "", 0644);
    put("readable/f", "", 0644);
    put("sticky/f", "", 0644);
    put("members", "", 0640);
    chown("members", 0, 4711);
    symlink("readable/f", "shown");
    symlink("closed/f", "hidden");
    run_as(as_other);
    run_as(as_member);
    const char *all[] = {"private", "closed/f", "readable/f", "sticky/f", "members", "shown", "hidden"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unlink(all[i]);
    for (int i = 0; i < 4; i++)
        rmdir(directories[i].name);
}

int main(int argc, char **argv)
{
    if (argc != 2 || chdir(argv[1]) != 0 || count_entries(".") != 2) {
        fprintf(stderr, "usage: conformance DIRECTORY, which is empty\n");
        return 2;
    }
    umask(022);
    check_open();
    check_bytes();
    check_unlink();
    check_directories();
    HOLDS("readdir: telldir, seekdir, rewinddir", position_holds());
    HOLDS("names: of any bytes", names_hold());
    check_rename();
    check_symlinks();
    check_followed_links();
    check_hard_links();
    check_attributes();
    check_times_and_access();
    check_xattrs();
    check_locks();
    if (geteuid() == 0)
        check_users();
    HOLDS("nothing is left", count_entries(".") == 2);
    return 0;
}
