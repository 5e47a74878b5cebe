/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/exclusive_use.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "util/log.h"
#include "util/status.h"

static const char line_start[] = "themis-store 1 ";
enum { RECORD_BYTES = 192, START = sizeof line_start - 1 };

/* What a STORE is to have. */
typedef struct record {
    char text[RECORD_BYTES];
    size_t first; /* length of the first line, with its end */
} record_t;

static themis_status_t lock_failed(const char *key, const char *path, const char *what)
{
    themis_status_t status = themis_util_status_from_errno(errno);

    themis_error("%s = %s: cannot %s: %s", key, path, what, strerror(errno));
    return status;
}

themis_status_t themis_store_exclusive_use_file(const char *key, const char *path, int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return THEMIS_OK;
    if (errno == EWOULDBLOCK) {
        themis_error("%s = %s is in use by another server; each server needs its own", key, path);
        return THEMIS_BUSY;
    }
    if (errno != ENOSYS && errno != EOPNOTSUPP && errno != ENOLCK)
        return lock_failed(key, path, "lock");
    themis_warn("%s = %s: its file system has no locks (%s); make sure that no other server uses it", key, path,
                strerror(errno));
    return THEMIS_OK;
}

static void record_make(record_t *record, const char *content, const themis_store_identity_t *identity)
{
    char text[THEMIS_STORE_IDENTITY_TEXT];

    record->first = (size_t)snprintf(record->text, sizeof record->text, "%s%s\n", line_start, content);
    if (identity)
        snprintf(record->text + record->first, sizeof record->text - record->first, "store %s\n",
                 themis_store_identity_text(identity, text));
}

static themis_status_t fail_other(const char *key, const char *directory, const char *found, const record_t *wanted)
{
    if (strncmp(found, line_start, START) == 0 && strncmp(found, wanted->text, wanted->first) == 0)
        themis_error("%s = %s holds the %.*s, but of another store; it is left unchanged", key, directory,
                     (int)(wanted->first - 1 - START), wanted->text + START);
    else if (strncmp(found, line_start, START) == 0)
        themis_error("%s = %s holds the %.*s, not the %.*s; it is left unchanged", key, directory,
                     (int)strcspn(found + START, "\n"), found + START, (int)(wanted->first - 1 - START),
                     wanted->text + START);
    else
        themis_error("%s = %s has a file STORE that is not of this version; it is left unchanged", key, directory);
    return THEMIS_CONFIG;
}

/* Succeeds if the STORE has the record, its first line alone, or nothing yet; *complete: it has all of it. */
static themis_status_t check_record(const char *key, const char *directory, int fd, const record_t *wanted,
                                    int *complete)
{
    char found[RECORD_BYTES];
    ssize_t got = pread(fd, found, sizeof found - 1, 0);

    if (got < 0)
        return lock_failed(key, directory, "read its STORE");
    found[got] = 0;
    *complete = strcmp(found, wanted->text) == 0;
    if (*complete || got == 0)
        return THEMIS_OK;
    if (strncmp(found, wanted->text, wanted->first) == 0 &&
        ((size_t)got == wanted->first || wanted->text[wanted->first] == 0)) {
        *complete = wanted->text[wanted->first] == 0;
        return THEMIS_OK;
    }
    return fail_other(key, directory, found, wanted);
}

static themis_status_t write_record(const char *key, const char *directory, int fd, int directory_fd,
                                    const record_t *record)
{
    size_t length = strlen(record->text);
    ssize_t written = pwrite(fd, record->text, length, 0);

    if (written >= 0 && (size_t)written < length)
        errno = ENOSPC;
    if (written != (ssize_t)length || fsync(fd) != 0 || fsync(directory_fd) != 0)
        return lock_failed(key, directory, "write its STORE");
    return THEMIS_OK;
}

static themis_status_t lock_store(const char *key, const char *directory, int directory_fd, const record_t *record,
                                  int fd)
{
    int complete;
    themis_status_t status = check_record(key, directory, fd, record, &complete);

    if (status == THEMIS_OK)
        status = themis_store_exclusive_use_file(key, directory, fd);
    /* again, as another server may have written it before it released the lock */
    if (status == THEMIS_OK)
        status = check_record(key, directory, fd, record, &complete);
    if (status == THEMIS_OK && !complete)
        status = write_record(key, directory, fd, directory_fd, record);
    return status;
}

/* 1 if the directory has a file with such a name, -1 with errno if it cannot be read. */
static int has_foreign(int directory_fd, int (*foreign)(const char *name))
{
    int found = 0, fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!directory) {
        int cause = errno;
        if (fd >= 0)
            close(fd);
        errno = cause;
        return -1;
    }
    while (!found && (errno = 0, entry = readdir(directory)))
        found = foreign(entry->d_name);
    int cause = errno;
    closedir(directory);
    errno = cause;
    return found ? found : cause ? -1 : 0;
}

/* Opens STORE, which is created if it is missing and the directory has no foreign files. */
static themis_status_t open_store(const char *key, const char *directory, int directory_fd,
                                  int (*foreign)(const char *name), int *fd)
{
    *fd = openat(directory_fd, "STORE", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (*fd >= 0)
        return THEMIS_OK;
    if (errno != ENOENT)
        return lock_failed(key, directory, "open its STORE");
    int found = foreign ? has_foreign(directory_fd, foreign) : 0;
    if (found < 0)
        return lock_failed(key, directory, "list");
    if (found) {
        themis_error("%s = %s holds a database without a STORE, which may not be this server's; it is left unchanged: "
                     "empty it if its contents are not needed",
                     key, directory);
        return THEMIS_CONFIG;
    }
    *fd = openat(directory_fd, "STORE", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *fd >= 0 ? THEMIS_OK : lock_failed(key, directory, "open its STORE");
}

themis_status_t themis_store_exclusive_use_directory(const char *key, const char *directory, const char *content,
                                                     const themis_store_identity_t *identity,
                                                     int (*foreign)(const char *name), int *fd)
{
    int directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), made = -1;
    record_t record;

    if (directory_fd < 0)
        return lock_failed(key, directory, "open");
    record_make(&record, content, identity);
    themis_status_t status = open_store(key, directory, directory_fd, foreign, &made);
    if (status == THEMIS_OK)
        status = lock_store(key, directory, directory_fd, &record, made);
    close(directory_fd);
    if (status == THEMIS_OK)
        *fd = made;
    else if (made >= 0)
        close(made);
    return status;
}
