/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * others CASE DIRECTORY: descriptors that have come in other ways than by opening, asynchronous accesses, locks of open
 * files, and walks through trees; each case in an empty directory. The same program is to succeed below a mount point
 * and on a local file system.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "test/preload/cases.h"

/* --- descriptors by their names in /proc */

/* Through a path that is not absolute a file on servers is not found. */
static int holds_or_missing(const char *name, const char *text)
{
    const int fd = open(name, O_RDONLY);

    if (fd < 0)
        return errno == ENOENT;
    close(fd);
    return holds(name, text);
}

static void proc(void)
{
    char path[100], here[5000], alias[40];
    struct stat stats;
    const pid_t parent = getpid();

    put("f", "hello");
    CHECK(getcwd(here, sizeof here));
    const int fd = open("f", O_RDWR);
    const int gone = open("gone", O_RDWR | O_CREAT, 0600);
    CHECK(write(gone, "gone", 4) == 4 && unlink("gone") == 0);
    snprintf(path, sizeof path, "/proc/self/task/%ld/fd/%d", syscall(SYS_gettid), fd);
    CHECK(holds(path, "hello"));
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
    CHECK(holds(path, "hello"));
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)parent, fd);
    CHECK(holds(path, "hello") && stat(path, &stats) == 0 && stats.st_size == 5);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(close(fd) == 0 && holds(path, "hello") && stat(path, &stats) == 0 && stats.st_size == 5);
        FILE *file = fopen(path, "r");
        CHECK(file && fgets(here, 100, file) && strcmp(here, "hello") == 0 && fclose(file) == 0);
        const int again = open(path, O_WRONLY | O_TRUNC);
        CHECK(again >= 0 && write(again, "HELLO!", 6) == 6);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        CHECK(fcntl(again, F_SETLK, &lock) == 0 && stat(path, &stats) == 0);
        const pid_t other = fork();
        if (other == 0)
            exit(fcntl(again, F_SETLK, &lock) == 0); /* a look has not released it */
        CHECK(ended_well(other));
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)parent, gone);
        CHECK(holds_or_missing(path, "gone"));
        exit(0);
    }
    CHECK(ended_well(child) && holds("f", "HELLO!") && chdir("/proc/self/fd") == 0);
    snprintf(path, sizeof path, "%d", fd);
    CHECK(holds_or_missing(path, "HELLO!"));
    const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), found = openat(directory, path, O_RDONLY);
    CHECK(found >= 0 || errno == ENOENT);
    snprintf(alias, sizeof alias, "/tmp/themis-others-%d", (int)parent);
    CHECK(chdir(here) == 0 && symlink("/proc/self/fd", alias) == 0);
    snprintf(path, sizeof path, "%s/%d", alias, fd);
    const int right = holds_or_missing(path, "HELLO!");
    CHECK(unlink(alias) == 0 && right);
}

/* What a program reads that opens a local link to its standard input: that file, or nothing. */
static void linked(void)
{
    char link[] = "/tmp/themis-others-XXXXXX", line[10] = "";

    put("f", "text");
    const int fd = open("f", O_RDONLY), made = mkstemp(link);
    CHECK(fd >= 0 && made >= 0 && close(made) == 0 && unlink(link) == 0 && symlink("/dev/stdin", link) == 0);
    CHECK(dup2(fd, 0) == 0);
    const int right = holds_or_missing(link, "text");
    FILE *file = fopen(link, "r");
    CHECK(file ? fgets(line, 10, file) && strcmp(line, "text") == 0 : errno == ENOENT);
    file = freopen(link, "r", file ? file : fopen("/dev/null", "r"));
    CHECK(file ? fgets(line, 10, file) && strcmp(line, "text") == 0 : errno == ENOENT);
    CHECK(unlink(link) == 0 && right);
}

/* The link of a descriptor is not the file. */
static void names_themselves(void)
{
    char path[40];

    put("f", "text");
    const int fd = open("f", O_RDONLY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK(unlink(path) == -1 && remove(path) == -1 && rmdir(path) == -1 && rename(path, "g") == -1);
    CHECK(mkdir(path, 0700) == -1 && errno == EEXIST && symlink("f", path) == -1 && errno == EEXIST);
    CHECK(rename("f", path) == -1 && mknod(path, S_IFREG | 0600, 0) == -1 && link("f", path) == -1);
    CHECK(holds("f", "text") && access("g", F_OK) == -1 && holds(path, "text"));
}

/* --- descriptors that come by a socket */

static void send_descriptor(int through, int fd, int many)
{
    char data = 'd', room[CMSG_SPACE(sizeof(int))] = "";
    struct iovec vector = {&data, 1};
    struct mmsghdr message = {
        .msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room}};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message.msg_hdr);

    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(part), &fd, sizeof fd);
    CHECK(many ? sendmmsg(through, &message, 1, 0) == 1 : sendmsg(through, &message.msg_hdr, 0) == 1);
}

static int receive_descriptor(int through, int many)
{
    char data, room[CMSG_SPACE(sizeof(int))];
    struct iovec vector = {&data, 1};
    struct mmsghdr message = {
        .msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room}};
    int fd;

    CHECK(many ? recvmmsg(through, &message, 1, 0, NULL) == 1 : recvmsg(through, &message.msg_hdr, 0) == 1);
    const struct cmsghdr *part = CMSG_FIRSTHDR(&message.msg_hdr);
    CHECK(part && part->cmsg_type == SCM_RIGHTS);
    memcpy(&fd, CMSG_DATA(part), sizeof fd);
    return fd;
}

static void passed(void)
{
    char buffer[20] = "";
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    const pid_t child = fork(); /* before there is any file */
    if (child == 0) {
        const int first = receive_descriptor(pair[1], 0);
        CHECK(read(first, buffer, 3) == 3 && memcmp(buffer, "abc", 3) == 0);
        CHECK(pwrite(first, "X", 1, 0) == 1 && lseek(first, 0, SEEK_CUR) == 3);
        const int second = receive_descriptor(pair[1], 1);
        CHECK(second != first && close(first) == 0 && read(second, buffer, 3) == 3 && memcmp(buffer, "def", 3) == 0);
        const int local = receive_descriptor(pair[1], 0);
        CHECK(read(local, buffer, 1) == 0);
        exit(0);
    }
    put("f", "abcdefghi");
    const int fd = open("f", O_RDWR), local = open("/dev/null", O_RDONLY);
    send_descriptor(pair[0], fd, 0);
    send_descriptor(pair[0], fd, 1);
    send_descriptor(pair[0], local, 0);
    CHECK(ended_well(child) && lseek(fd, 0, SEEK_CUR) == 6 && holds("f", "Xbcdefghi"));
    const int own = (int)syscall(SYS_pidfd_open, getpid(), 0), again = (int)syscall(SYS_pidfd_getfd, own, fd, 0);
    CHECK((again >= 0 && lseek(again, 0, SEEK_CUR) == 6) || errno == EPERM || errno == ENOSYS);
    CHECK(read(fd, buffer, 3) == 3 && memcmp(buffer, "ghi", 3) == 0);
}

/* Only below a mount point, and by root: whoever else sends a descriptor may have written into it what he likes. */
static void forged(void)
{
    char buffer[4];
    int pair[2];

    put("f", "text");
    CHECK(chmod("f", 0666) == 0 && chmod(".", 0777) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        const int fd = open("f", O_RDWR);
        CHECK(fd >= 0 && read(fd, buffer, 4) == 4);
        send_descriptor(pair[0], fd, 0);
        exit(0);
    }
    const int fd = receive_descriptor(pair[1], 0);
    CHECK(read(fd, buffer, 4) == -1 && errno == EBADF && ended_well(child));
}

/* By their numbers, calls do not end a thread that is cancelled, and lengths that do not fit are the kernel's. */
static void *calls_by_number(void *arg)
{
    char data = 'd', room[CMSG_SPACE(sizeof(int))] = "";
    struct iovec vector = {&data, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    const int *pair = arg;

    CHECK(pthread_cancel(pthread_self()) == 0);
    CHECK(syscall(SYS_sendmsg, pair[0], &message, 0) == 1 && syscall(SYS_recvmsg, pair[1], &message, 0) == 1);
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = (size_t)1 << 40;
    CHECK(syscall(SYS_sendmsg, pair[0], &message, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_close, pair[0]) == 0 && syscall(SYS_close, pair[1]) == 0);
    return arg;
}

static void by_number(void)
{
    pthread_t thread;
    void *result;
    int pair[2];

    put("f", "text");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(pthread_create(&thread, NULL, calls_by_number, pair) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == pair);
}

/* --- asynchronous accesses */

static volatile sig_atomic_t signalled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int value;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    signalled = info->si_value.sival_int;
}

static void on_thread(union sigval given)
{
    pthread_mutex_lock(&mutex);
    value = given.sival_int;
    pthread_cond_signal(&told);
    pthread_mutex_unlock(&mutex);
}

static void await_aio(struct aiocb *control, ssize_t expected)
{
    const struct aiocb *list[] = {control};

    while (aio_error(control) == EINPROGRESS)
        CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
    CHECK(aio_error(control) == 0 && aio_return(control) == expected);
}

static void aio(void)
{
    char buffer[10] = "", text[] = "written";
    const int fd = open("f", O_RDWR | O_CREAT, 0644);
    struct aiocb control = {.aio_fildes = fd, .aio_buf = text, .aio_nbytes = 7, .aio_offset = 3};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

    sigaction(SIGUSR1, &action, NULL);
    CHECK(aio_write(&control) == 0);
    await_aio(&control, 7);
    CHECK(aio_fsync(O_SYNC, &control) == 0);
    await_aio(&control, 0);
    control.aio_buf = buffer;
    control.aio_sigevent =
        (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 17};
    CHECK(aio_read(&control) == 0);
    await_aio(&control, 7);
    while (!signalled)
        usleep(1000);
    CHECK(signalled == 17 && memcmp(buffer, text, 7) == 0);
    control.aio_sigevent = (struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 18};
    control.aio_sigevent.sigev_notify_function = on_thread;
    CHECK(aio_read(&control) == 0);
    pthread_mutex_lock(&mutex);
    while (!value)
        pthread_cond_wait(&told, &mutex);
    pthread_mutex_unlock(&mutex);
    await_aio(&control, 7);
    CHECK(value == 18 && aio_cancel(fd, NULL) == AIO_ALLDONE && aio_cancel(fd, &control) == AIO_ALLDONE);
    control = (struct aiocb){.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 1, .aio_offset = -1};
    control.aio_reqprio = -1;
    CHECK(aio_read(&control) == -1 && errno == EINVAL && aio_error(&control) == EINVAL);
    control.aio_reqprio = 0;
    if (aio_read(&control) == 0)
        CHECK((aio_error(&control) == EINVAL || aio_error(&control) == EINPROGRESS));
}

/* A list may have files of both kinds. */
static void aio_lists(void)
{
    char path[] = "/tmp/themis-others-XXXXXX", text[] = "text", back[2][5] = {"", ""};
    const int here = open("f", O_RDWR | O_CREAT, 0644), there = mkstemp(path);
    struct aiocb a = {.aio_fildes = here, .aio_buf = text, .aio_nbytes = 4, .aio_lio_opcode = LIO_WRITE};
    struct aiocb b = a, nothing = {.aio_fildes = -1, .aio_lio_opcode = LIO_NOP};
    struct aiocb *list[] = {&a, NULL, &b, &nothing};

    unlink(path);
    b.aio_fildes = there;
    CHECK(lio_listio(LIO_WAIT, list, 4, NULL) == 0 && aio_return(&a) == 4 && aio_return(&b) == 4);
    a.aio_lio_opcode = b.aio_lio_opcode = LIO_READ;
    a.aio_buf = back[0];
    b.aio_buf = back[1];
    CHECK(lio_listio(LIO_NOWAIT, list, 4, NULL) == 0);
    await_aio(&a, 4);
    await_aio(&b, 4);
    CHECK(strcmp(back[0], text) == 0 && strcmp(back[1], text) == 0);
    const int reading = open("f", O_RDONLY);
    a.aio_fildes = reading;
    a.aio_lio_opcode = LIO_WRITE;
    CHECK(lio_listio(LIO_WAIT, list, 4, NULL) == -1 && errno == EIO && aio_error(&a) == EBADF && aio_error(&b) == 0);
    a.aio_lio_opcode = 99;
    CHECK(lio_listio(LIO_WAIT, list, 1, NULL) == -1 && errno == EIO && aio_error(&a) == EINVAL);
}

/* --- locks of open file descriptions */

static void described(void)
{
    const int first = open("f", O_RDWR | O_CREAT, 0644), second = open("f", O_RDWR), third = dup(first);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 100}, test = lock;

    CHECK(fcntl(first, F_OFD_SETLK, &lock) == 0 && fcntl(third, F_OFD_SETLK, &lock) == 0);
    CHECK(fcntl(second, F_OFD_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES));
    CHECK(fcntl(second, F_OFD_GETLK, &test) == 0 && test.l_type == F_WRLCK && test.l_pid == -1);
    test = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 100};
    CHECK(fcntl(second, F_OFD_SETLK, &test) == 0);
    const int other = open("f", O_RDWR);
    CHECK(close(other) == 0 && fcntl(second, F_OFD_SETLK, &lock) == -1); /* unlike record locks */
    test.l_pid = 1;
    CHECK(fcntl(second, F_OFD_SETLK, &test) == -1 && errno == EINVAL);
    CHECK(close(first) == 0 && fcntl(second, F_OFD_SETLK, &lock) == -1 && close(third) == 0);
    CHECK(fcntl(second, F_OFD_SETLKW, &lock) == 0);
    const int reader = open("f", O_RDONLY);
    lock.l_start = 300;
    CHECK(fcntl(reader, F_OFD_SETLK, &lock) == -1 && errno == EBADF);
}

/* Record locks end with any descriptor of the file, those of descriptions do not. */
static void kinds(void)
{
    struct flock record = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10}, test = record;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 10};
    const int first = open("f", O_RDWR | O_CREAT, 0644), second = open("f", O_RDWR);

    CHECK(fcntl(first, F_GETLK, &test) == 0 && test.l_type == F_UNLCK && fcntl(first, F_OFD_SETLK, &lock) == 0);
    CHECK(close(open("f", O_RDONLY)) == 0);
    CHECK(fcntl(second, F_OFD_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES));
    CHECK(fcntl(first, F_SETLK, &record) == 0 && fcntl(second, F_OFD_SETLK, &record) == -1);
    test = lock;
    CHECK(fcntl(first, F_GETLK, &test) == 0 && test.l_type == F_WRLCK);
    CHECK(close(open("f", O_RDONLY)) == 0 && fcntl(second, F_OFD_SETLK, &lock) == -1);
    CHECK(fcntl(second, F_OFD_SETLK, &record) == 0);
}

static int waiting_for;

static void *lock_wait(void *arg)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};

    CHECK(fcntl(*(int *)arg, F_OFD_SETLKW, &lock) == 0);
    CHECK(flock(*(int *)arg, LOCK_EX) == 0);
    return arg;
}

/* A fork while another thread waits, and the thread that has the lock goes on after it. */
static void waits(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    const int first = open("f", O_RDWR | O_CREAT, 0644);
    pthread_t thread;
    void *result;

    waiting_for = open("f", O_RDWR);
    CHECK(fcntl(first, F_OFD_SETLK, &lock) == 0 && flock(first, LOCK_SH) == 0);
    CHECK(pthread_create(&thread, NULL, lock_wait, &waiting_for) == 0 && usleep(100000) == 0);
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        CHECK(ended_well(child));
        lock.l_type = F_UNLCK;
        CHECK(fcntl(first, F_OFD_SETLK, &lock) == 0 && usleep(100000) == 0);
    }
    CHECK(flock(first, LOCK_UN) == 0 && pthread_join(thread, &result) == 0 && result == &waiting_for);
}

/* --- walks */

static char visited[4000];
static int stop_at, changed;

static int note(const char *path, const struct stat *stats, int type, struct FTW *place)
{
    static const char types[] = "fdnsLDX"; /* FTW_F, FTW_D, FTW_DNR, FTW_NS, FTW_SL, FTW_DP, FTW_SLN */
    char line[300];

    CHECK(type == FTW_NS || S_ISDIR(stats->st_mode) == (type == FTW_D || type == FTW_DP));
    if (changed)
        CHECK(access(path + place->base, F_OK) == 0 || type == FTW_SL || place->level == 0);
    snprintf(line, sizeof line, "%c%d%s ", types[type], place->level, path + place->base);
    strcat(visited, line);
    return stop_at && place->level == stop_at ? 7 : 0;
}

static int note_plain(const char *path, const struct stat *stats, int type)
{
    (void)stats;
    (void)type;
    strcat(strcat(visited, path), " ");
    return 0;
}

static int count(const char *text, char of)
{
    int found = 0;

    for (; *text; text++)
        found += *text == of && (text == visited || text[-1] == ' ');
    return found;
}

static int walk(int flags)
{
    visited[0] = '\0';
    return nftw("d", note, 5, flags);
}

static void trees(void)
{
    CHECK(mkdir("d", 0755) == 0 && mkdir("d/sub", 0755) == 0 && mkdir("d/sub/deep", 0755) == 0);
    put("d/one", "1");
    put("d/sub/deep/two", "2");
    CHECK(symlink("one", "d/link") == 0 && symlink("nowhere", "d/dangling") == 0 && symlink("..", "d/sub/up") == 0);
    CHECK(walk(FTW_PHYS) == 0 && count(visited, 'd') == 3 && count(visited, 'f') == 2 && count(visited, 'L') == 3);
    CHECK(strncmp(visited, "d0d ", 4) == 0 && strstr(visited, "f3two "));
    CHECK(walk(FTW_PHYS | FTW_DEPTH) == 0 && count(visited, 'D') == 3 &&
          strstr(visited, "D0d ") + 4 == visited + strlen(visited));
    CHECK(walk(0) == 0 && count(visited, 'd') == 3 && count(visited, 'f') == 3 && count(visited, 'X') == 1);
    changed = 1;
    CHECK(walk(FTW_CHDIR | FTW_PHYS) == 0 && count(visited, 'f') == 2 && access("d/one", F_OK) == 0);
    changed = 0;
    stop_at = 2;
    CHECK(walk(FTW_PHYS) == 7);
    stop_at = 0;
    CHECK(nftw("none", note, 5, 0) == -1 && errno == ENOENT);
    visited[0] = '\0';
    CHECK(ftw("d", note_plain, 5) == 0 && strstr(visited, "d/sub/deep/two ") && strstr(visited, "d/one "));
}

static int skip_each(const char *path, const struct stat *stats, int type, struct FTW *place)
{
    CHECK(note(path, stats, type, place) == 0);
    return type == FTW_D && place->level == 1 ? FTW_SKIP_SUBTREE : type == FTW_F ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

static void skipped(void)
{
    CHECK(mkdir("d", 0755) == 0 && mkdir("d/sub", 0755) == 0 && mkdir("d/other", 0755) == 0);
    put("d/one", "1");
    put("d/two", "2");
    put("d/sub/three", "3");
    put("d/other/four", "4");
    CHECK(nftw("d", skip_each, 5, FTW_ACTIONRETVAL | FTW_PHYS) == 0);
    CHECK(count(visited, 'd') == 3 && count(visited, 'f') == 2);
    visited[0] = '\0';
    CHECK(symlink("sub", "d/again") == 0 && symlink("sub", "d/and_again") == 0);
    CHECK(walk(0) == 0 && count(visited, 'd') == 3 && count(visited, 'f') == 4); /* each directory once */
}

static int remove_each(const char *path, const struct stat *stats, int type, struct FTW *place)
{
    (void)stats;
    return type == FTW_DP ? rmdir(path) : unlink(path + place->base);
}

/* Walks elsewhere that change the directory are not to remove what has the same names here. */
static void elsewhere(void)
{
    char directory[] = "/tmp/themis-others-XXXXXX", path[100], *roots[] = {directory, NULL};
    FTSENT *entry;

    put("same", "here");
    CHECK(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/same", directory);
    put(path, "there");
    CHECK(nftw(directory, remove_each, 5, FTW_CHDIR | FTW_DEPTH | FTW_PHYS) == 0);
    CHECK(access(directory, F_OK) == -1 && errno == ENOENT && holds("same", "here"));
    CHECK(mkdir(directory, 0700) == 0);
    put(path, "there");
    FTS *stream = fts_open(roots, FTS_PHYSICAL, NULL);
    CHECK(stream);
    while ((entry = fts_read(stream)))
        CHECK(entry->fts_info != FTS_F || unlink(entry->fts_accpath) == 0);
    CHECK(fts_close(stream) == 0 && rmdir(directory) == 0 && holds("same", "here"));
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* What a walk through the roots shows: a letter, the level and the name of each. `skip`, a name, is not entered; that
 * of `follow` is what its link leads to. */
static const char *shown(int options, const char *skip, const char *follow)
{
    static const char letters[] = "?dcxrotefinslS"; /* by fts_info */
    char directory[] = "d", link[] = "top", none[] = "none", *roots[] = {directory, link, none, NULL};
    FTS *stream = fts_open(roots, options, by_name);
    size_t end = 0;
    struct stat stats;
    FTSENT *entry;

    CHECK(stream);
    visited[0] = '\0';
    while ((entry = fts_read(stream))) {
        end += (size_t)snprintf(visited + end, sizeof visited - end, "%c%d%s ", letters[entry->fts_info],
                                entry->fts_level, entry->fts_name);
        CHECK(entry->fts_info == FTS_NS || entry->fts_info == FTS_DP || lstat(entry->fts_accpath, &stats) == 0);
        if (skip && strcmp(entry->fts_name, skip) == 0)
            CHECK(fts_set(stream, entry, FTS_SKIP) == 0);
        if (follow && strcmp(entry->fts_name, follow) == 0 && entry->fts_info == FTS_SL)
            CHECK(fts_set(stream, entry, FTS_FOLLOW) == 0);
    }
    CHECK(errno == 0 && fts_close(stream) == 0);
    return visited;
}

static void shows(int options, const char *skip, const char *follow, const char *expected)
{
    if (strcmp(shown(options, skip, follow), expected) == 0)
        return;
    fprintf(stderr, "%s\n is not\n%s\n", visited, expected);
    exit(1);
}

static void hierarchies(void)
{
    char directory[] = "d", *roots[] = {directory, NULL};

    CHECK(mkdir("d", 0755) == 0 && mkdir("d/sub", 0755) == 0 && mkdir("d/sub/deep", 0755) == 0);
    CHECK(mkdir("d/empty", 0755) == 0 && symlink("d/sub", "top") == 0 && symlink("nowhere", "d/dangling") == 0);
    put("d/one", "1");
    put("d/sub/deep/two", "2");
    CHECK(symlink("..", "d/sub/up") == 0);
    shows(FTS_PHYSICAL | FTS_NOCHDIR, NULL, NULL,
          "d0d l1dangling d1empty t1empty f1one d1sub d2deep f3two t2deep l2up t1sub t0d n0none l0top ");
    shows(FTS_PHYSICAL, "sub", NULL, "d0d l1dangling d1empty t1empty f1one d1sub t1sub t0d n0none l0top ");
    shows(FTS_PHYSICAL | FTS_COMFOLLOW, NULL, NULL,
          "d0d l1dangling d1empty t1empty f1one d1sub d2deep f3two t2deep l2up t1sub t0d n0none "
          "d0top d1deep f2two t1deep l1up t0top ");
    shows(FTS_PHYSICAL | FTS_NOCHDIR, "deep", "top",
          "d0d l1dangling d1empty t1empty f1one d1sub d2deep t2deep l2up t1sub t0d n0none "
          "l0top d0top d1deep t1deep l1up t0top ");
    shows(FTS_LOGICAL, NULL, NULL,
          "d0d S1dangling d1empty t1empty f1one d1sub d2deep f3two t2deep c2up t1sub t0d n0none "
          "d0top d1deep f2two t1deep d1up S2dangling d2empty t2empty f2one c2sub t1up t0top ");
    char empty[] = "", *nameless[] = {directory, empty, NULL};

    CHECK(!fts_open(nameless, FTS_PHYSICAL, NULL) && errno == ENOENT && !fts_open(roots, 1 << 20, NULL) &&
          errno == EINVAL);
    FTS *stream = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    CHECK(stream && strcmp(fts_children(stream, 0)->fts_name, "d") == 0 && fts_read(stream));
    FTSENT *entry = fts_children(stream, 0);
    CHECK(entry && strcmp(entry->fts_name, "dangling") == 0 && strcmp(entry->fts_link->fts_name, "empty") == 0);
    CHECK(fts_set(stream, entry->fts_link, FTS_SKIP) == 0 && fts_set(stream, entry, 99) != 0 && errno == EINVAL);
    CHECK((entry = fts_read(stream)) && strcmp(entry->fts_name, "dangling") == 0);
    CHECK((entry = fts_read(stream)) && strcmp(entry->fts_name, "one") == 0 && fts_close(stream) == 0);
}

/* --- maps over maps, and directories that are closed to some */

/* What replaces a shared map does not end up in its file. */
static void replaced(void)
{
    const int both = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_ANONYMOUS;
    const int fd = open("f", O_RDWR | O_CREAT, 0600);
    char found[3] = "";

    CHECK(ftruncate(fd, 4096) == 0);
    for (int i = 0; i < 2; i++) {
        char *area = mmap(NULL, 4096, both, MAP_SHARED, fd, 0), *other = mmap(NULL, 4096, both, own, -1, 0);
        CHECK(area != MAP_FAILED && other != MAP_FAILED);
        memcpy(area, i ? "bb" : "aa", 2);
        if (i == 0)
            CHECK(syscall(SYS_mmap, area, 4096, both, own | MAP_FIXED, -1, 0) == (long)area);
        else
            CHECK(syscall(SYS_mremap, other, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, area) == (long)area);
        memcpy(area, "XX", 2);
        CHECK(mremap(area, 4096, 8192, MREMAP_MAYMOVE) != MAP_FAILED); /* which maps of files there refuse */
        CHECK(fsync(fd) == 0 && pread(fd, found, 2, 0) == 2 && strcmp(found, i ? "bb" : "aa") == 0);
    }
}

/* By root: who is there first does not decide for others. */
static void judged(void)
{
    CHECK(mkdir("d", 0700) == 0 && chmod(".", 0755) == 0);
    put("d/f", "text");
    CHECK(chmod("d/f", 0644) == 0 && holds("d/f", "text") && seteuid(65534) == 0);
    CHECK(open("d/f", O_RDONLY) == -1 && errno == EACCES && seteuid(0) == 0 && holds("d/f", "text"));
}

/* --- numbers of descriptors */

static void lowest(void)
{
    char line[10];

    put("f", "text");
    const int first = open("f", O_RDONLY), second = open("f", O_RDONLY | O_CLOEXEC), third = open("f", O_RDONLY);
    CHECK(second == first + 1 && third == second + 1 && close(first) == 0 && open("f", O_RDONLY) == first);
    CHECK(fcntl(second, F_GETFD) == FD_CLOEXEC && fcntl(third, F_GETFD) == 0);
    CHECK(close(0) == 0 && open("f", O_RDONLY) == 0); /* as programs redirect that are old */
    CHECK(fgets(line, 10, stdin) && strcmp(line, "text") == 0);
    CHECK(close(1) == 0 && open("g", O_WRONLY | O_CREAT, 0600) == 1 && printf("out") == 3 && fflush(stdout) == 0);
    CHECK(holds("g", "out"));
}

/* --- no more descriptors */

static void exhausted(void)
{
    enum { MOST = 64 };
    const struct rlimit most = {MOST, MOST};
    int all[MOST], count = 0, fd;

    put("f", "text");
    CHECK(mkdir("d", 0755) == 0 && setrlimit(RLIMIT_NOFILE, &most) == 0);
    while ((fd = open("f", O_RDONLY)) >= 0) {
        CHECK(count < MOST);
        all[count++] = fd;
    }
    CHECK(errno == EMFILE && count > MOST / 2);
    CHECK(open("new", O_CREAT | O_WRONLY, 0600) == -1 && errno == EMFILE);
    CHECK(!opendir("d") && errno == EMFILE && !fopen("f", "r") && errno == EMFILE);
    CHECK(open("f", O_WRONLY | O_TRUNC) == -1 && errno == EMFILE);
    char buffer[4];
    for (int i = 0; i < count; i++)
        CHECK(read(all[i], buffer, 4) == 4 && memcmp(buffer, "text", 4) == 0 && close(all[i]) == 0);
    CHECK(access("new", F_OK) == -1 && errno == ENOENT);
    put("f", "other");
    CHECK(holds("f", "other") && access("f", R_OK) == 0);
    DIR *directory = opendir("d");
    CHECK(directory && closedir(directory) == 0);
}

static const test_case_t cases[] = {{"proc", proc},
                                    {"linked", linked},
                                    {"names_themselves", names_themselves},
                                    {"forged", forged},
                                    {"by_number", by_number},
                                    {"kinds", kinds},
                                    {"waits", waits},
                                    {"skipped", skipped},
                                    {"elsewhere", elsewhere},
                                    {"replaced", replaced},
                                    {"judged", judged},
                                    {"lowest", lowest},
                                    {"passed", passed},
                                    {"aio", aio},
                                    {"aio_lists", aio_lists},
                                    {"described", described},
                                    {"trees", trees},
                                    {"hierarchies", hierarchies},
                                    {"exhausted", exhausted}};

int main(int argc, char **argv)
{
    return cases_run(argc, argv, cases, sizeof cases / sizeof *cases);
}
