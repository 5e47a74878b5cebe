/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls CASE DIRECTORY: what a program may do with files, each case in an empty directory. The same program is to
 * succeed below a mount point and on a local file system.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/preload/cases.h"

extern char **environ;
static const char *self;

/* Runs this program again. */
static int run(const char *name, const char *argument)
{
    const pid_t child = fork();

    if (child == 0) {
        execl(self, self, name, ".", argument, (char *)NULL);
        _exit(99);
    }
    return ended_well(child);
}

static void plain(void)
{
    struct stat stats;
    char buffer[20];

    put("a", "hello");
    CHECK(holds("a", "hello"));
    const int fd = open("a", O_RDWR);
    CHECK(lseek(fd, 0, SEEK_END) == 5 && write(fd, " world", 6) == 6 && lseek(fd, 0, SEEK_CUR) == 11);
    CHECK(pwrite(fd, "J", 1, 0) == 1 && pread(fd, buffer, 5, 0) == 5 && memcmp(buffer, "Jello", 5) == 0);
    CHECK(fstat(fd, &stats) == 0 && stats.st_size == 11 && S_ISREG(stats.st_mode) && stats.st_blksize > 0);
    CHECK(ftruncate(fd, 3) == 0 && lseek(fd, 0, SEEK_SET) == 0 && read(fd, buffer, 20) == 3);
    char digits[] = "12345";
    struct iovec vector[] = {{digits, 2}, {digits + 2, 3}};
    CHECK(writev(fd, vector, 2) == 5 && pwritev(fd, vector, 2, 20) == 5);
    CHECK(fstat(fd, &stats) == 0 && stats.st_size == 25 && close(fd) == 0);
    errno = ENOTTY; /* programs such as netCDF look at it after a read of fewer bytes than they wanted */
    const int again = open("a", O_RDONLY);
    CHECK(again >= 0 && read(again, buffer, 20) == 20 && read(again, buffer, 20) == 5 && stat("a", &stats) == 0);
    CHECK(close(again) == 0 && errno == ENOTTY);
    CHECK(rename("a", "b") == 0 && access("a", F_OK) == -1 && errno == ENOENT && unlink("b") == 0);
    CHECK(mkdir("d", 0750) == 0 && stat("d", &stats) == 0 && S_ISDIR(stats.st_mode) && (stats.st_mode & 07777) == 0750);
    umask(027);
    put("d/f", "x");
    CHECK(stat("d/f", &stats) == 0 && (stats.st_mode & 07777) == 0640 && chmod("d/f", 0600) == 0);
    CHECK(stat("d/f", &stats) == 0 && (stats.st_mode & 07777) == 0600 && unlink("d/f") == 0 && rmdir("d") == 0);
    char template[] = "tXXXXXX";
    const int made = mkstemp(template);
    CHECK(made >= 0 && access(template, W_OK) == 0 && close(made) == 0 && unlink(template) == 0);
}

static void duplicates(void)
{
    const int fd = open("f", O_RDWR | O_CREAT, 0644), second = dup(fd), third = fcntl(fd, F_DUPFD, 50);
    char buffer[10];

    CHECK(fd >= 0 && second >= 0 && third >= 50);
    CHECK(write(fd, "abc", 3) == 3 && write(second, "def", 3) == 3 && lseek(third, 0, SEEK_CUR) == 6);
    CHECK(close(fd) == 0 && lseek(second, 1, SEEK_SET) == 1 && read(third, buffer, 10) == 5);
    CHECK(dup2(third, fd) == fd && close(third) == 0 && lseek(fd, 0, SEEK_CUR) == 6);
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0 && (fcntl(second, F_GETFL) & O_APPEND));
    CHECK(lseek(second, 0, SEEK_SET) == 0 && write(second, "!", 1) == 1 && holds("f", "abcdef!"));
    const int local = open("/dev/null", O_WRONLY);
    CHECK(dup2(local, fd) == fd && write(fd, "lost", 4) == 4 && close(fd) == 0 && holds("f", "abcdef!"));
    CHECK(dup3(second, local, O_CLOEXEC) == local && (fcntl(local, F_GETFD) & FD_CLOEXEC) && close(local) == 0);
    CHECK(close(second) == 0 && fcntl(second, F_GETFD) == -1 && errno == EBADF);
}

static void streams(void)
{
    char line[100] = "";
    int number = 0;
    FILE *file = fopen("f", "w+");

    CHECK(file && fprintf(file, "one %d\n", 1) == 6 && fputs("two\n", file) >= 0 && fileno(file) >= 0);
    struct stat stats;
    CHECK(fflush(file) == 0 && fstat(fileno(file), &stats) == 0 && stats.st_size == 10);
    rewind(file);
    CHECK(fscanf(file, "one %d\n", &number) == 1 && number == 1 && fgets(line, sizeof line, file) &&
          !strcmp(line, "two\n"));
    CHECK(fseek(file, 4, SEEK_SET) == 0 && getc(file) == '1' && ungetc('9', file) == '9' && getc(file) == '9');
    CHECK(ftell(file) == 5 && fclose(file) == 0);
    file = fopen("f", "a");
    CHECK(file && fputs("three\n", file) >= 0 && fclose(file) == 0 && holds("f", "one 1\ntwo\nthree\n"));
    file = fdopen(open("f", O_RDONLY), "r");
    size_t room = 0, lines = 0;
    char *text = NULL;
    while (getline(&text, &room, file) > 0)
        lines++;
    free(text);
    CHECK(lines == 3 && feof(file) && fclose(file) == 0);
    CHECK(!fopen("f", "wx") && errno == EEXIST);
    CHECK((file = fopen("g", "w")) && setvbuf(file, NULL, _IOLBF, 100) == 0 && fputs("line\nrest", file) >= 0);
    CHECK(holds("g", "line\n") && fclose(file) == 0 && holds("g", "line\nrest"));
    CHECK((file = fopen("f", "r")) && (file = freopen("g", "r", file)) && fgets(line, 100, file) &&
          !strcmp(line, "line\n"));
    fclose(file);
    CHECK(freopen("out", "w", stdout) && printf("by printf\n") > 0 && puts("by puts") >= 0 && fflush(stdout) == 0);
    CHECK(holds("out", "by printf\nby puts\n"));
    CHECK(freopen("/dev/null", "w", stdout) && puts("nowhere") >= 0 && fflush(stdout) == 0);
    CHECK(holds("out", "by printf\nby puts\n"));
}

static void standard(void)
{
    const int saved = dup(1), fd = open("out", O_CREAT | O_WRONLY, 0644);

    printf("first ");
    CHECK(dup2(fd, 1) == 1);
    printf("second ");
    fflush(stdout);
    CHECK(system("echo third; echo fourth >&2") == 0);
    CHECK(write(1, "fifth\n", 6) == 6);
    CHECK(dup2(saved, 1) == 1 && holds("out", "first second third\nfifth\n"));
    CHECK(system("cat <out >copy && cat out >>copy && (echo a; echo b) >both") == 0);
    CHECK(holds("copy", "first second third\nfifth\nfirst second third\nfifth\n") && holds("both", "a\nb\n"));
    FILE *pipe = popen("cat >piped", "w");
    CHECK(pipe && fputs("through\n", pipe) >= 0 && pclose(pipe) == 0 && holds("piped", "through\n"));
}

/* Descriptor 7 is inherited. */
static void inherited(void)
{
    char buffer[10] = "";
    CHECK(read(7, buffer, 3) == 3 && memcmp(buffer, "abc", 3) == 0 && lseek(7, 0, SEEK_CUR) == 3);
    CHECK(pwrite(7, "X", 1, 5) == 1 && (fcntl(7, F_GETFL) & O_ACCMODE) == O_RDWR);
    CHECK(access("f", R_OK) == 0 && fcntl(8, F_GETFD) == -1);
}

static void children(void)
{
    char buffer[10] = "";

    put("f", "abcdefghij");
    const int fd = open("f", O_RDWR);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(read(fd, buffer, 2) == 2 && memcmp(buffer, "ab", 2) == 0 && pwrite(fd, "Z", 1, 9) == 1);
        put("by-child", "child");
        exit(0);
    }
    CHECK(ended_well(child) && read(fd, buffer, 2) == 2 && memcmp(buffer, "cd", 2) == 0);
    CHECK(holds("f", "abcdefghiZ") && holds("by-child", "child"));
    const int secret = open("f", O_RDONLY | O_CLOEXEC);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && dup2(fd, 7) == 7 && dup3(secret, 8, O_CLOEXEC) == 8);
    CHECK(run("inherited", NULL) && lseek(7, 0, SEEK_CUR) == 3 && holds("f", "abcdeXghiZ"));
    posix_spawn_file_actions_t actions;
    pid_t spawned;
    char shell[] = "sh", option[] = "-c", commands[] = "cat <&7; echo spawned >by-spawn";
    char *arguments[] = {shell, option, commands, NULL};
    posix_spawn_file_actions_init(&actions);
    const int out = open("spawned", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    CHECK(posix_spawnp(&spawned, "sh", &actions, NULL, arguments, environ) == 0 && ended_well(spawned));
    CHECK(holds("spawned", "deXghiZ") && holds("by-spawn", "spawned\n"));
    const pid_t quick = vfork();
    if (quick == 0) {
        dup2(out, 1);
        close(fd);
        execlp("echo", "echo", "vforked", (char *)NULL);
        _exit(98);
    }
    CHECK(ended_well(quick) && holds("spawned", "deXghiZvforked\n") && lseek(fd, 0, SEEK_SET) == 0);
    CHECK(read(fd, buffer, 1) == 1);
}

/* A child of vfork has its parent's memory, but its own working directory, umask and descriptors. */
static void vforked(void)
{
    char before[5000], now[6000];
    struct stat stats;

    CHECK(mkdir("d", 0755) == 0 && getcwd(before, sizeof before));
    umask(022);
    const pid_t inside = vfork();
    if (inside == 0) {
        if (chdir("d") != 0)
            _exit(97);
        umask(077);
        const int out = open("out", O_CREAT | O_WRONLY, 0666);
        if (out < 0 || dup2(out, 1) != 1)
            _exit(96);
        execlp("sh", "sh", "-c", "echo from child; pwd -P; echo x >made", (char *)NULL);
        _exit(98);
    }
    CHECK(ended_well(inside) && getcwd(now, sizeof now) && strcmp(before, now) == 0);
    snprintf(now, sizeof now, "from child\n%s/d\n", before);
    CHECK(access("out", F_OK) == -1 && holds("d/out", now) && holds("d/made", "x\n"));
    CHECK(stat("d/made", &stats) == 0 && (stats.st_mode & 0777) == 0600);
    put("mine", "x");
    CHECK(stat("mine", &stats) == 0 && (stats.st_mode & 0777) == 0644);
    int ends[2]; /* may have the number that the child has opened */
    CHECK(pipe(ends) == 0 && write(ends[1], "p", 1) == 1 && read(ends[0], now, 10) == 1 && now[0] == 'p');
    const pid_t outside = vfork();
    if (outside == 0) {
        if (chdir("/") != 0)
            _exit(97);
        execlp("sh", "sh", "-c", "test \"$(pwd -P)\" = / && test -d tmp", (char *)NULL);
        _exit(98);
    }
    CHECK(ended_well(outside) && getcwd(now, sizeof now) && strcmp(before, now) == 0 && holds("mine", "x"));
}

/* A fork that pthread_atfork does not hear of. */
static void unseen(void)
{
    char buffer[10];

    put("f", "abcdef");
    const int fd = open("f", O_RDWR);
    CHECK(pread(fd, buffer, 3, 0) == 3);
    const pid_t child = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (child == 0) {
        CHECK(pread(fd, buffer, 3, 3) == 3 && memcmp(buffer, "def", 3) == 0 && pwrite(fd, "X", 1, 0) == 1);
        put("by-child", "child");
        _exit(0);
    }
    CHECK(ended_well(child) && holds("by-child", "child") && pread(fd, buffer, 3, 0) == 3 &&
          memcmp(buffer, "Xbc", 3) == 0);
}

/* Whatever a program does with numbers that it does not know, its files stay what they are. */
static void numbers(void)
{
    const int fd = open("f", O_CREAT | O_RDWR, 0644), local = open("/dev/null", O_RDWR);
    char buffer[10];

    CHECK(fd >= 0 && local >= 0 && write(fd, "abc", 3) == 3);
    for (int i = local + 1; i < 1024; i++)
        if (i != fd && fcntl(i, F_GETFD) >= 0)
            CHECK(dup2(local, i) == i || errno == EBUSY);
    CHECK(pread(fd, buffer, 3, 0) == 3 && memcmp(buffer, "abc", 3) == 0);
    for (int i = local + 1; i < 1024; i++)
        if (i != fd)
            close(i);
    CHECK(pwrite(fd, "d", 1, 3) == 1 && holds("f", "abcd"));
    CHECK(close_range(3, ~0u, 0) == 0 && fcntl(fd, F_GETFD) == -1 && fcntl(local, F_GETFD) == -1 && holds("f", "abcd"));
}

static void *endless(void *arg)
{
    const int fd = *(int *)arg;
    char buffer[10];

    while (pread(fd, buffer, 3, 0) == 3 && pwrite(fd, buffer, 3, 0) == 3)
        ;
    return NULL;
}

/* Threads that are cancelled leave no lock behind. */
static void cancelled(void)
{
    put("f", "abc");
    int fd = open("f", O_RDWR);

    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, endless, &fd) == 0);
        usleep(500);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    CHECK(holds("f", "abc"));
    const pid_t child = fork();
    if (child == 0)
        exit(!holds("f", "abc"));
    CHECK(ended_well(child));
}

/* Libraries remember the streams of the beginning, as that of C++ does. */
static void remembered(void)
{
    FILE *const first = stdout;
    const int saved = dup(1), fd = open("out", O_CREAT | O_WRONLY, 0644);

    CHECK(dup2(fd, 1) == 1 && fwrite("one ", 1, 4, first) == 4 && putc('2', first) == '2' && printf(" three") == 6);
    CHECK(fflush(first) == 0 && holds("out", "one 2 three") && fileno(first) == 1);
    CHECK(dup2(saved, 1) == 1 && fputs("", first) >= 0 && fflush(first) == 0 && holds("out", "one 2 three"));
}

static void *reader(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)getchar(); /* holds the lock of stdin */
}

/* A program ends though a thread waits for input, and what it has not flushed is written. */
static void ends(void)
{
    int input[2];
    CHECK(pipe(input) == 0);
    const pid_t child = fork();

    if (child == 0) {
        pthread_t thread;
        FILE *file = fopen("left", "w");
        CHECK(dup2(input[0], 0) == 0 && file && fputs("unflushed", file) >= 0);
        CHECK(pthread_create(&thread, NULL, reader, NULL) == 0);
        usleep(100000);
        exit(0);
    }
    CHECK(ended_well(child) && holds("left", "unflushed"));
}

/* Not on a local file system: what would be memory that processes share is refused. */
static void refused(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    const int fd = open("f", O_CREAT | O_RDWR, 0644);

    CHECK(ftruncate(fd, 8192) == 0 && fcntl(fd, F_SETLK, &lock) == 0);
    CHECK(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV);
    lock.l_type = F_UNLCK;
    CHECK(fcntl(fd, F_SETLK, &lock) == 0);
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED && mremap(map, 8192, 1 << 20, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
    memcpy(map, "kept", 4);
    CHECK(munmap(map, 8192) == 0 && ftruncate(fd, 4) == 0 && holds("f", "kept"));
    CHECK(daemon(1, 0) == 0 && holds("f", "kept"));
}

enum { WRITERS = 4, LINES = 200 };

/* Children share one offset. */
static void offset_shared(void)
{
    const int fd = open("log", O_CREAT | O_WRONLY, 0644);
    pid_t pids[WRITERS];

    for (int i = 0; i < WRITERS; i++)
        if ((pids[i] = fork()) == 0) {
            for (int k = 0; k < LINES; k++)
                CHECK(dprintf(fd, "%d %3d\n", i, k) == 6);
            _exit(0);
        }
    for (int i = 0; i < WRITERS; i++)
        CHECK(ended_well(pids[i]));
    struct stat stats;
    CHECK(fstat(fd, &stats) == 0 && stats.st_size == WRITERS * LINES * 6 && lseek(fd, 0, SEEK_CUR) == stats.st_size);
}

static void *thread(void *arg)
{
    const int number = (int)(intptr_t)arg;
    char name[20], text[20];

    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "t%d-%d", number, i);
        snprintf(text, sizeof text, "%d", number * 1000 + i);
        put(name, text);
        CHECK(holds(name, text) && unlink(name) == 0);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&all[i], NULL, thread, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 3; i++) { /* a fork while they work */
        const pid_t child = fork();
        if (child == 0) {
            put("forked", "x");
            _exit(0);
        }
        CHECK(ended_well(child));
    }
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

static int no_dots(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void directories(void)
{
    char name[20];
    struct dirent *entry, **list;
    int count = 0;

    CHECK(mkdir("d", 0755) == 0);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "d/%02d", i);
        put(name, "");
    }
    DIR *stream = opendir("d");
    CHECK(stream && dirfd(stream) >= 0);
    while ((entry = readdir(stream)))
        count += entry->d_name[0] != '.' && entry->d_ino != 0;
    CHECK(count == 100);
    rewinddir(stream);
    CHECK((entry = readdir(stream)));
    const long place = telldir(stream);
    CHECK((entry = readdir(stream)));
    strcpy(name, entry->d_name);
    readdir(stream);
    seekdir(stream, place);
    CHECK((entry = readdir(stream)) && strcmp(entry->d_name, name) == 0 && closedir(stream) == 0);
    CHECK(scandir("d", &list, no_dots, alphasort) == 100 && strcmp(list[99]->d_name, "99") == 0);
    glob_t found;
    CHECK(glob("d/1*", 0, NULL, &found) == 0 && found.gl_pathc == 10 && strcmp(found.gl_pathv[0], "d/10") == 0);
    const int fd = open("d", O_RDONLY | O_DIRECTORY);
    const int file = openat(fd, "05", O_RDWR);
    CHECK(file >= 0 && write(file, "x", 1) == 1 && holds("d/05", "x") && unlinkat(fd, "05", 0) == 0);
    CHECK(renameat(fd, "06", fd, "05") == 0 && mkdirat(fd, "sub", 0700) == 0 && unlinkat(fd, "sub", AT_REMOVEDIR) == 0);
    CHECK(fchdir(fd) == 0 && access("05", F_OK) == 0 && chdir("..") == 0);
}

static void working(void)
{
    char before[5000], now[5000], path[6000];

    CHECK(getcwd(before, sizeof before) && mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && chdir("a/b") == 0);
    snprintf(path, sizeof path, "%s/a/b", before);
    CHECK(getcwd(now, sizeof now) && strcmp(now, path) == 0);
    put("here", "x");
    CHECK(holds("../b/here", "x") && system("test \"$(cat here)\" = x && cd .. && cat b/here >/dev/null") == 0);
    CHECK(realpath("../b/./here", now) && strncmp(now, path, strlen(path)) == 0);
    CHECK(open("../../../../../../../../../../../../etc/hostname", O_RDONLY) >= 0);
    CHECK(chdir("/") == 0 && access("here", F_OK) == -1 && chdir(before) == 0 && holds("a/b/here", "x"));
}

static void maps(void)
{
    const size_t bytes = 20000;
    char buffer[10];
    const int fd = open("f", O_RDWR | O_CREAT, 0644);

    CHECK(ftruncate(fd, (off_t)bytes) == 0 && pwrite(fd, "start", 5, 0) == 5);
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED && memcmp(map, "start", 5) == 0);
    memcpy(map + 10000, "mapped", 6);
    CHECK(pread(fd, buffer, 6, 10000) == 6 && memcmp(buffer, "mapped", 6) == 0);
    CHECK(pwrite(fd, "written", 7, 5000) == 7 && memcmp(map + 5000, "written", 7) == 0);
    char *second = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 8192);
    CHECK(second != MAP_FAILED && memcmp(second + 10000 - 8192, "mapped", 6) == 0);
    memcpy(map + 9000, "both", 4);
    CHECK(memcmp(second + 9000 - 8192, "both", 4) == 0 && munmap(second, 4096) == 0);
    char *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(own != MAP_FAILED && memcmp(own + 9000, "both", 4) == 0);
    memcpy(own, "other", 5);
    CHECK(pread(fd, buffer, 5, 0) == 5 && memcmp(buffer, "start", 5) == 0 && munmap(own, bytes) == 0);
    memcpy(map + 19990, "end", 3);
    CHECK(close(fd) == 0 && msync(map, bytes, MS_SYNC) == 0);
    const pid_t child = fork();
    if (child == 0) {
        memcpy(map + 100, "child", 5);
        exit(0);
    }
    CHECK(ended_well(child) && memcmp(map + 100, "child", 5) == 0);
    memcpy(map + 200, "last", 4);
    CHECK(munmap(map, bytes) == 0);
    const int again = open("f", O_RDONLY);
    CHECK(pread(again, buffer, 3, 19990) == 3 && memcmp(buffer, "end", 3) == 0);
    CHECK(pread(again, buffer, 5, 100) == 5 && memcmp(buffer, "child", 5) == 0);
    CHECK(pread(again, buffer, 4, 200) == 4 && memcmp(buffer, "last", 4) == 0);
    struct stat stats;
    CHECK(fstat(again, &stats) == 0 && stats.st_size == (off_t)bytes);
}

static int locked_for_others(off_t start, off_t length, short type)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
        const int fd = open("f", O_RDWR);
        const int failed = fcntl(fd, F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES);
        struct flock test = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
        CHECK(fcntl(fd, F_GETLK, &test) == 0 && (test.l_type != F_UNLCK) == failed);
        exit(failed ? 10 : 11);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) >= 10);
    return WEXITSTATUS(status) == 10;
}

static void locks(void)
{
    const int fd = open("f", O_RDWR | O_CREAT, 0644), other = open("f", O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 100};

    CHECK(fcntl(fd, F_SETLK, &lock) == 0 && fcntl(other, F_SETLK, &lock) == 0);
    CHECK(locked_for_others(150, 1, F_RDLCK) && !locked_for_others(0, 100, F_WRLCK));
    lock = (struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 10};
    CHECK(fcntl(fd, F_SETLK, &lock) == 0 && !locked_for_others(120, 10, F_WRLCK) && locked_for_others(119, 1, F_WRLCK));
    lock = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET};
    CHECK(fcntl(fd, F_SETLK, &lock) == 0 && !locked_for_others(150, 1, F_RDLCK) && locked_for_others(150, 1, F_WRLCK));
    lock.l_type = F_WRLCK;
    CHECK(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
    CHECK(!locked_for_others(150, 1, F_RDLCK) && locked_for_others(150, 1, F_WRLCK));
    CHECK(close(other) == 0 && !locked_for_others(150, 1, F_WRLCK));
    CHECK(flock(fd, LOCK_EX) == 0);
    const int third = open("f", O_RDWR);
    CHECK(flock(third, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK && flock(fd, LOCK_UN) == 0);
    CHECK(flock(third, LOCK_SH | LOCK_NB) == 0 && lockf(fd, F_LOCK, 0) == 0 && locked_for_others(5, 1, F_WRLCK));
}

static void copies(void)
{
    char path[] = "/tmp/themis-calls-XXXXXX";
    const int inside = open("in", O_RDWR | O_CREAT, 0644), outside = mkstemp(path);
    off_t offset = 2;

    unlink(path);
    CHECK(write(inside, "0123456789", 10) == 10);
    CHECK(sendfile(outside, inside, &offset, 5) == 5 && offset == 7 && lseek(outside, 0, SEEK_CUR) == 5);
    CHECK(lseek(outside, 0, SEEK_SET) == 0 && sendfile(inside, outside, NULL, 100) == 5 &&
          holds("in", "012345678923456"));
    off_t from = 0, to = 1;
    const ssize_t copied = copy_file_range(outside, &from, inside, &to, 3, 0);
    CHECK((copied == -1 && errno == EXDEV && pwrite(inside, "234", 3, 1) == 3) || copied == 3);
    CHECK(holds("in", "023445678923456"));
    const int other = open("other", O_RDWR | O_CREAT, 0644);
    CHECK(lseek(inside, 0, SEEK_SET) == 0 && copy_file_range(inside, NULL, other, NULL, 4, 0) == 4 &&
          holds("other", "0234"));
}

static void ready(void)
{
    const int fd = open("f", O_RDWR | O_CREAT, 0644);
    struct pollfd polled = {.fd = fd, .events = POLLIN | POLLOUT};
    fd_set reads, writes;

    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_SET(fd, &reads);
    FD_SET(fd, &writes);
    CHECK(poll(&polled, 1, 0) == 1 && polled.revents == (POLLIN | POLLOUT));
    CHECK(select(fd + 1, &reads, &writes, NULL, &(struct timeval){0}) == 2);
    char link[40], path[5000] = "", full[5000];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    CHECK(readlink(link, path, sizeof path - 1) > 0 && getcwd(full, sizeof full) &&
          strcmp(strcat(full, "/f"), path) == 0);
    const int again = open(link, O_RDWR);
    CHECK(again >= 0 && write(again, "x", 1) == 1 && holds("f", "x"));
    struct stat stats;
    CHECK(stat(link, &stats) == 0 && stats.st_size == 1);
}

static void removed(void)
{
    const int fd = open("f", O_RDWR | O_CREAT, 0644);
    char buffer[10];
    struct stat stats;

    CHECK(write(fd, "kept", 4) == 4 && unlink("f") == 0 && access("f", F_OK) == -1);
    CHECK(pread(fd, buffer, 4, 0) == 4 && fstat(fd, &stats) == 0 && stats.st_nlink == 0 && stats.st_size == 4);
    put("f", "new");
    CHECK(pread(fd, buffer, 4, 0) == 4 && memcmp(buffer, "kept", 4) == 0 && holds("f", "new"));
    const pid_t child = fork();
    if (child == 0) {
        CHECK(pread(fd, buffer, 4, 0) == 4 && memcmp(buffer, "kept", 4) == 0);
        exit(0);
    }
    CHECK(ended_well(child) && close(fd) == 0);
}

static const test_case_t cases[] = {{"plain", plain},           {"duplicates", duplicates},
                                    {"streams", streams},       {"standard", standard},
                                    {"inherited", inherited},   {"children", children},
                                    {"vforked", vforked},       {"unseen", unseen},
                                    {"numbers", numbers},       {"cancelled", cancelled},
                                    {"remembered", remembered}, {"ends", ends},
                                    {"refused", refused},       {"offset", offset_shared},
                                    {"threads", threads},       {"directories", directories},
                                    {"working", working},       {"maps", maps},
                                    {"locks", locks},           {"copies", copies},
                                    {"ready", ready},           {"removed", removed}};

int main(int argc, char **argv)
{
    self = argv[0];
    return cases_run(argc, argv, cases, sizeof cases / sizeof *cases);
}
