/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/history_files.h"
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "util/status.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Digits, and then `end`. */
static int is_number(const char *text, const char *end, uint64_t *number)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 19 || strcmp(text + digits, end) != 0)
        return 0;
    *number = strtoull(text, NULL, 10);
    return 1;
}

themis_server_history_kind_t themis_server_history_files_kind(const char *name, const char *file, uint64_t *number)
{
    size_t length = strlen(name);

    if (strncmp(file, name, length) != 0)
        return THEMIS_SERVER_HISTORY_OTHER;
    file += length;
    if (*file == '-' && is_number(file + 1, ".jsonl", number))
        return THEMIS_SERVER_HISTORY_LOG;
    if (*file == '.' && is_number(file + 1, ".running", number))
        return THEMIS_SERVER_HISTORY_RUNNING;
    return *file == '.' && is_number(file + 1, ".new", number) ? THEMIS_SERVER_HISTORY_FRESH
                                                               : THEMIS_SERVER_HISTORY_OTHER;
}

void themis_server_history_files_users(const char *directory, void (*found)(void *arg, uint32_t user), void *arg)
{
    DIR *users = opendir(directory);
    const struct dirent *entry;
    uint64_t user;

    if (!users)
        return;
    while ((entry = readdir(users)))
        if (is_number(entry->d_name, "", &user) && user <= UINT32_MAX)
            found(arg, (uint32_t)user);
    closedir(users);
}

/* --- access ------------------------------------------------------------------------------------------------------- */

static const char acl_name[] = "system.posix_acl_access";

/* One more user than the owner may look into the directory; the layout is Linux's. */
static int acl_set(int fd, uint32_t user)
{
    enum { OWNER = 1, USER = 2, GROUP = 4, MASK = 16, OTHER = 32 };
    const struct {
        uint16_t tag, rights;
        uint32_t id;
    } entries[] = {
        {htole16(OWNER), htole16(7), UINT32_MAX}, {htole16(USER), htole16(5), htole32(user)},
        {htole16(GROUP), 0, UINT32_MAX},          {htole16(MASK), htole16(5), UINT32_MAX},
        {htole16(OTHER), 0, UINT32_MAX},
    };
    unsigned char value[4 + sizeof entries] = {2}; /* the version */

    memcpy(value + 4, entries, sizeof entries);
    return fsetxattr(fd, acl_name, value, sizeof value, 0);
}

themis_status_t themis_server_history_files_admit(const char *path, uint32_t user, int is_public)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return themis_util_status_from_errno(errno);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return themis_util_status_from_errno(errno);
    fremovexattr(fd, acl_name); /* there may be none */
    int failed = fchmod(fd, is_public ? 0755 : 0700);
    if (!failed && !is_public && user != geteuid())
        failed = acl_set(fd, user);
    int cause = errno;
    close(fd);
    errno = cause;
    return failed ? themis_util_status_from_errno(cause) : THEMIS_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Writes everything, or nothing remains; closes the file. errno as of the first error. */
static themis_status_t text_write(int fd, const char *text, size_t length, off_t before)
{
    ssize_t written = write(fd, text, length);
    int cause = written < 0 ? errno : written == (ssize_t)length ? 0 : ENOSPC;

    if (cause && ftruncate(fd, before) != 0)
        cause = errno; /* half a line, which readers skip */
    if (close(fd) != 0 && !cause)
        cause = errno;
    errno = cause;
    return cause ? themis_util_status_from_errno(cause) : THEMIS_OK;
}

/* "line\n", after another newline if `broken`; owned by the caller. */
static char *line_text(const char *line, int broken, size_t *length)
{
    char *text = NULL;
    int printed = asprintf(&text, "%s%s\n", broken ? "\n" : "", line);

    *length = printed < 0 ? 0 : (size_t)printed;
    errno = printed < 0 ? ENOMEM : errno;
    return printed < 0 ? NULL : text;
}

/* For everybody who gets into the directory, whatever the umask is. */
static int file_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

    if (fd >= 0)
        fchmod(fd, 0644);
    return fd;
}

themis_status_t themis_server_history_files_append(const char *path, const char *line, size_t *bytes)
{
    struct stat status = {0};
    char last = '\n';
    int fd = file_open(path, O_RDWR | O_APPEND);

    if (fd < 0 || fstat(fd, &status) != 0 || (status.st_size > 0 && pread(fd, &last, 1, status.st_size - 1) != 1)) {
        int cause = errno;
        if (fd >= 0)
            close(fd);
        errno = cause;
        return themis_util_status_from_errno(cause);
    }
    char *text = line_text(line, last != '\n', bytes);
    if (!text) {
        close(fd);
        return THEMIS_NO_MEMORY;
    }
    themis_status_t result = text_write(fd, text, *bytes, status.st_size);
    int cause = errno;
    free(text);
    errno = cause;
    return result;
}

themis_status_t themis_server_history_files_replace(const char *path, const char *fresh, const char *line,
                                                    size_t *bytes)
{
    int fd = file_open(fresh, O_WRONLY | O_TRUNC);
    char *text = fd >= 0 ? line_text(line, 0, bytes) : NULL;
    themis_status_t status = fd < 0 ? themis_util_status_from_errno(errno) : THEMIS_NO_MEMORY;

    if (text)
        status = text_write(fd, text, *bytes, 0);
    else if (fd >= 0)
        close(fd);
    if (status == THEMIS_OK && rename(fresh, path) != 0)
        status = themis_util_status_from_errno(errno);
    int cause = errno;
    free(text);
    if (status != THEMIS_OK)
        unlink(fresh);
    errno = cause;
    return status;
}

char *themis_server_history_files_first_line(const char *path, size_t most)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t allocated = 0;
    ssize_t length = file ? getline(&line, &allocated, file) : -1;

    if (file)
        fclose(file);
    if (length > 1 && (size_t)length <= most + 1 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        return line;
    }
    free(line);
    return NULL;
}

/* --- what is to go ------------------------------------------------------------------------------------------------ */

typedef struct kept {
    uint32_t user;
    uint64_t begun, bytes;
} kept_t;

typedef struct pruning {
    const char *directory, *name;
    uint64_t oldest, bytes;
    kept_t *kept;
    size_t count, capacity;
} pruning_t;

static void log_path(const pruning_t *p, const kept_t *log, char path[THEMIS_SERVER_HISTORY_PATH])
{
    snprintf(path, THEMIS_SERVER_HISTORY_PATH, "%s/%u/%s-%llu.jsonl", p->directory, log->user, p->name,
             (unsigned long long)log->begun);
}

static void log_consider(pruning_t *p, uint32_t user, uint64_t begun)
{
    kept_t log = {.user = user, .begun = begun};
    char path[THEMIS_SERVER_HISTORY_PATH];
    struct stat status;

    log_path(p, &log, path);
    if (lstat(path, &status) != 0)
        return;
    if (status.st_mtime < 0 || (uint64_t)status.st_mtime < p->oldest) {
        unlink(path);
        return;
    }
    if (p->count == p->capacity) {
        size_t capacity = 2 * p->capacity + 64;
        kept_t *grown = realloc(p->kept, capacity * sizeof *grown);
        if (!grown)
            return;
        p->kept = grown;
        p->capacity = capacity;
    }
    log.bytes = (uint64_t)status.st_size;
    p->bytes += log.bytes;
    p->kept[p->count++] = log;
}

static void user_consider(void *arg, uint32_t user)
{
    pruning_t *p = arg;
    char path[THEMIS_SERVER_HISTORY_PATH];
    const struct dirent *entry;
    uint64_t begun;

    snprintf(path, sizeof path, "%s/%u", p->directory, user);
    DIR *files = opendir(path);
    if (!files)
        return;
    while ((entry = readdir(files)))
        if (themis_server_history_files_kind(p->name, entry->d_name, &begun) == THEMIS_SERVER_HISTORY_LOG)
            log_consider(p, user, begun);
    closedir(files);
}

static int kept_compare(const void *a, const void *b)
{
    const kept_t *x = a, *y = b;

    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    return (x->begun > y->begun) - (x->begun < y->begun);
}

/* The first file of the user that has most bytes; they are sorted by user and age, and those with 0 bytes are gone. */
static kept_t *victim_find(pruning_t *p)
{
    kept_t *victim = NULL;
    uint64_t most = 0, bytes = 0;
    kept_t *first = NULL;

    for (size_t i = 0; i < p->count; i++) {
        if (i == 0 || p->kept[i].user != p->kept[i - 1].user)
            bytes = 0, first = NULL;
        first = first || p->kept[i].bytes == 0 ? first : &p->kept[i];
        bytes += p->kept[i].bytes;
        if (bytes > most)
            most = bytes, victim = first;
    }
    return victim;
}

void themis_server_history_files_prune(const char *directory, const char *name, uint64_t oldest, uint64_t size)
{
    pruning_t p = {.directory = directory, .name = name, .oldest = oldest};
    char path[THEMIS_SERVER_HISTORY_PATH];
    kept_t *victim;

    themis_server_history_files_users(directory, user_consider, &p);
    if (p.count)
        qsort(p.kept, p.count, sizeof *p.kept, kept_compare);
    while (p.bytes > size && (victim = victim_find(&p))) {
        log_path(&p, victim, path);
        unlink(path);
        p.bytes -= victim->bytes;
        victim->bytes = 0;
    }
    free(p.kept);
}
