/* SPDX-License-Identifier: BSD-3-Clause */
/* themis cp and themis cat: bytes between servers and this host. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/tool.h"
#include "tools/transfer.h"
#include "util/clock.h"

enum { PATH_BYTES = 8192 };
static const uint64_t progress_after = 2 * THEMIS_NS_PER_S, progress_every = THEMIS_NS_PER_S / 4;

typedef struct copying {
    const themis_tools_command_t *self;
    int recursive, quiet;
    uint64_t started, shown; /* ns; of the command, of the last sign of progress */
    const char *name;        /* of the current file */
    uint64_t size;           /* bytes of it */
    uint64_t before;         /* bytes of the files that are done */
} copying_t;

/* One name, on a server or here. */
typedef struct place {
    const char *text;  /* as given */
    themis_t *session; /* NULL: local */
    const char *path;
} place_t;

static int complain_errno(const copying_t *copying, const char *path)
{
    return themis_tools_complain(copying->self, "%s: %s", path, strerror(errno));
}

static int locate(const copying_t *copying, const char *text, place_t *place)
{
    *place = (place_t){text, NULL, text};
    return themis_tools_is_remote(text) ? themis_tools_resolve(copying->self, text, &place->session, &place->path)
                                        : THEMIS_TOOLS_OK;
}

/* --- progress ----------------------------------------------------------------------------------------------------- */

static void show_progress(void *arg, uint64_t bytes)
{
    copying_t *copying = arg;
    uint64_t now = themis_clock_now();

    if (copying->quiet || now - copying->started < progress_after || now - copying->shown < progress_every)
        return;
    copying->shown = now;
    double seconds = (double)(now - copying->started) / 1e9, mib = (double)(copying->before + bytes) / 0x1p20;
    fprintf(stderr, "\r%-40.40s %3.0f %%  %.0f MiB  %.0f MiB/s ", copying->name,
            copying->size ? 100.0 * (double)bytes / (double)copying->size : 100.0, mib, mib / seconds);
}

/* Before anything else is said on the terminal. */
static void end_progress(copying_t *copying)
{
    if (copying->shown)
        fputc('\n', stderr);
    copying->shown = 0;
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

static int open_end(const copying_t *copying, const place_t *place, int write, uint32_t mode, themis_tools_end_t *end)
{
    const int flags = write ? THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_TRUNCATE : THEMIS_OPEN_READ;

    struct stat local;

    *end = (themis_tools_end_t){.fd = -1, .is_regular = 1};
    if (place->session)
        return themis_open(place->session, place->path, flags, mode, NULL, &end->file) == THEMIS_OK
                   ? THEMIS_TOOLS_OK
                   : themis_tools_failed(copying->self);
    end->fd = open(place->path, (write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC, mode);
    if (end->fd < 0)
        return complain_errno(copying, place->path);
    end->is_regular = fstat(end->fd, &local) == 0 && S_ISREG(local.st_mode);
    return THEMIS_TOOLS_OK;
}

/* Closes; what was written to a server is made durable before. */
static int close_end(const copying_t *copying, themis_tools_end_t *end, const place_t *place, int write)
{
    int result = THEMIS_TOOLS_OK;

    if (end->file) {
        if (write && themis_sync(end->file) != THEMIS_OK)
            result = themis_tools_failed(copying->self);
        if (themis_close(end->file) != THEMIS_OK && result == THEMIS_TOOLS_OK)
            result = themis_tools_failed(copying->self);
    } else if (end->fd >= 0 && close(end->fd) != 0) {
        result = complain_errno(copying, place->path);
    }
    return result;
}

static int copy_file(copying_t *copying, const place_t *from, const place_t *to, uint32_t mode, uint64_t size)
{
    themis_tools_end_t source, target;
    const char *cause;
    int result = open_end(copying, from, 0, 0, &source);

    if (result != THEMIS_TOOLS_OK)
        return result;
    result = open_end(copying, to, 1, mode, &target);
    if (result == THEMIS_TOOLS_OK) {
        copying->name = from->text;
        copying->size = size;
        if (themis_tools_transfer(source, target, show_progress, copying, &cause) != THEMIS_OK) {
            end_progress(copying);
            result = themis_tools_complain(copying->self, "%s to %s: %s", from->text, to->text, cause);
        }
        copying->before += size;
        result |= close_end(copying, &target, to, 1);
    }
    close_end(copying, &source, from, 0);
    return result;
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

typedef struct attributes {
    int is_directory;
    uint32_t mode;
    uint64_t size;
} attributes_t;

static themis_status_t look(const place_t *place, attributes_t *attributes)
{
    themis_stat_t remote;
    struct stat local;

    if (place->session) {
        themis_status_t status = themis_stat(place->session, place->path, &remote);
        if (status == THEMIS_OK)
            *attributes = (attributes_t){remote.type == THEMIS_TYPE_DIRECTORY, remote.mode & 0777, remote.size};
        return status;
    }
    if (stat(place->path, &local) != 0)
        return errno == ENOENT ? THEMIS_NO_ENTRY : THEMIS_IO;
    *attributes = (attributes_t){S_ISDIR(local.st_mode), local.st_mode & 0777, (uint64_t)local.st_size};
    return THEMIS_OK;
}

static int copy_any(copying_t *copying, const place_t *from, const place_t *to);

typedef struct descent {
    copying_t *copying;
    const place_t *from, *to;
    int result;
} descent_t;

static int copy_entry(void *arg, const char *name, themis_type_t type)
{
    descent_t *descent = arg;
    char from[PATH_BYTES], to[PATH_BYTES];

    if (snprintf(from, sizeof from, "%s/%s", descent->from->path, name) >= PATH_BYTES ||
        snprintf(to, sizeof to, "%s/%s", descent->to->path, name) >= PATH_BYTES) {
        descent->result = themis_tools_complain(descent->copying->self, "%s: the path is too long", name);
        return 0;
    }
    place_t source = {from, descent->from->session, from}, target = {to, descent->to->session, to};
    attributes_t attributes;
    if (source.session && look(&source, &attributes) == THEMIS_NO_ENTRY)
        return 0; /* its making was cut short: it is not there */
    descent->result |= copy_any(descent->copying, &source, &target);
    return 0;
}

static int copy_local_entries(descent_t *descent)
{
    DIR *directory = opendir(descent->from->path);
    struct dirent *entry;

    if (!directory)
        return complain_errno(descent->copying, descent->from->path);
    while ((entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            copy_entry(descent, entry->d_name, THEMIS_TYPE_FILE);
    closedir(directory);
    return descent->result;
}

static int make_directory(const copying_t *copying, const place_t *place, uint32_t mode)
{
    if (place->session) {
        themis_status_t status = themis_mkdir(place->session, place->path, mode);
        return status == THEMIS_OK || status == THEMIS_EXISTS ? THEMIS_TOOLS_OK : themis_tools_failed(copying->self);
    }
    return mkdir(place->path, mode) == 0 || errno == EEXIST ? THEMIS_TOOLS_OK : complain_errno(copying, place->path);
}

static int copy_directory(copying_t *copying, const place_t *from, const place_t *to, uint32_t mode)
{
    descent_t descent = {copying, from, to, THEMIS_TOOLS_OK};

    if (!copying->recursive)
        return themis_tools_complain(copying->self, "%s is a directory; -r copies it", from->text);
    int result = make_directory(copying, to, mode | 0700);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (!from->session)
        return copy_local_entries(&descent);
    if (themis_readdir(from->session, from->path, copy_entry, &descent) != THEMIS_OK)
        return themis_tools_failed(copying->self);
    return descent.result;
}

static int copy_any(copying_t *copying, const place_t *from, const place_t *to)
{
    attributes_t attributes;
    themis_status_t status = look(from, &attributes);

    if (status != THEMIS_OK)
        return from->session ? themis_tools_failed(copying->self) : complain_errno(copying, from->path);
    return attributes.is_directory ? copy_directory(copying, from, to, attributes.mode)
                                   : copy_file(copying, from, to, attributes.mode, attributes.size);
}

/* --- cp ----------------------------------------------------------------------------------------------------------- */

/* Into a directory the name stays. */
static int copy_operand(copying_t *copying, const char *text, const place_t *to, int into)
{
    char path[PATH_BYTES];
    place_t from, target = *to;
    int result = locate(copying, text, &from);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (into) {
        size_t length = strlen(from.path);
        while (length > 1 && from.path[length - 1] == '/')
            length--;
        const char *name = from.path + length;
        while (name > from.path && name[-1] != '/')
            name--;
        snprintf(path, sizeof path, "%s/%.*s", to->path, (int)(from.path + length - name), name);
        target.path = target.text = path;
    }
    return copy_any(copying, &from, &target);
}

static int run_cp(const themis_tools_command_t *self, int argc, char **argv)
{
    copying_t copying = {.self = self, .started = themis_clock_now()};
    const themis_tools_option_t options[] = {
        {'r', "recursive", &copying.recursive, NULL}, {'q', "quiet", &copying.quiet, NULL}, {0}};
    int at = themis_tools_options(self, argc, argv, options);
    attributes_t attributes = {0};
    place_t to;

    if (at < 0 || argc - at < 2)
        return themis_tools_usage(self);
    copying.quiet |= !isatty(STDERR_FILENO);
    int result = locate(&copying, argv[argc - 1], &to);
    if (result != THEMIS_TOOLS_OK)
        return result;
    int into = look(&to, &attributes) == THEMIS_OK && attributes.is_directory;
    if (argc - at > 2 && !into)
        return themis_tools_complain(self, "%s is not a directory", argv[argc - 1]);
    for (; at < argc - 1; at++)
        result |= copy_operand(&copying, argv[at], &to, into);
    end_progress(&copying);
    return result;
}

const themis_tools_command_t themis_tools_cp = {
    "cp", "[-r] [-q] FROM... TO", "Copies files to servers, from servers, or between them.",
    "  -r   directories too, with all below them\n  -q   no progress on the terminal\n", run_cp};

/* --- cat ---------------------------------------------------------------------------------------------------------- */

static int run_cat(const themis_tools_command_t *self, int argc, char **argv)
{
    copying_t copying = {.self = self};
    const themis_tools_option_t options[] = {{0}};
    int at = themis_tools_options(self, argc, argv, options), result = THEMIS_TOOLS_OK;
    themis_tools_end_t source, out = {.fd = STDOUT_FILENO};
    const char *cause;
    place_t from;

    if (at < 0 || at == argc)
        return themis_tools_usage(self);
    for (; at < argc; at++) {
        int failed = locate(&copying, argv[at], &from);
        if (!failed)
            failed = open_end(&copying, &from, 0, 0, &source);
        if (!failed) {
            if (themis_tools_transfer(source, out, NULL, NULL, &cause) != THEMIS_OK)
                failed = themis_tools_complain(self, "%s: %s", argv[at], cause);
            close_end(&copying, &source, &from, 0);
        }
        result |= failed;
    }
    return result;
}

const themis_tools_command_t themis_tools_cat = {"cat", "PATH...", "Writes files to standard output.", NULL, run_cat};
