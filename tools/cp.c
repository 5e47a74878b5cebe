/* SPDX-License-Identifier: BSD-3-Clause */
/* themis cp and themis cat: bytes between servers and this host. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/location.h"
#include "tools/command.h"
#include "tools/pipelined_copy.h"
#include "util/clock.h"

static const uint64_t progress_after = 2 * THEMIS_NS_PER_S, progress_every = THEMIS_NS_PER_S / 4;

typedef struct copying {
    const themis_tools_command_t *self;
    int recursive, quiet;
    uint64_t started, shown; /* ns; of the command, of the last sign of progress */
    const char *name;        /* of the current file */
    uint64_t size;           /* bytes of it */
    uint64_t before;         /* bytes of the files that are done */
} copying_t;

static int complain_errno(const copying_t *copying, const char *path)
{
    return themis_tools_complain(copying->self, "%s: %s", path, strerror(errno));
}

/* --- progress ----------------------------------------------------------------------------------------------------- */

static void show_progress(void *arg, uint64_t bytes)
{
    copying_t *copying = arg;
    uint64_t now = themis_util_clock_now();

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

static int open_source(const copying_t *copying, const themis_tools_place_t *place, themis_tools_end_t *end)
{
    struct stat stats;

    *end = (themis_tools_end_t){.fd = -1, .is_regular = 1};
    if (place->session)
        return themis_open(place->session, place->path, THEMIS_OPEN_READ, 0, NULL, &end->file) == THEMIS_OK
                   ? THEMIS_TOOLS_OK
                   : themis_tools_failed(copying->self);
    end->fd = open(place->path, O_RDONLY | O_CLOEXEC);
    if (end->fd < 0)
        return complain_errno(copying, place->path);
    end->is_regular = fstat(end->fd, &stats) == 0 && S_ISREG(stats.st_mode);
    return THEMIS_TOOLS_OK;
}

static int open_target_there(const copying_t *copying, const themis_tools_place_t *place, uint32_t mode,
                             themis_tools_end_t *end)
{
    const int flags = THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE;
    themis_status_t status =
        themis_open(place->session, place->path, flags | THEMIS_OPEN_EXCLUSIVE, mode, NULL, &end->file);

    if (status == THEMIS_EXISTS) {
        end->replaces = 1;
        status = themis_open(place->session, place->path, flags, mode, NULL, &end->file);
    }
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_failed(copying->self);
}

/* What the target holds stays: it may yet turn out to be the source, or the source to be unreadable. */
static int open_target(const copying_t *copying, const themis_tools_place_t *place, uint32_t mode,
                       themis_tools_end_t *end)
{
    struct stat stats;

    *end = (themis_tools_end_t){.fd = -1, .is_regular = 1};
    if (place->session)
        return open_target_there(copying, place, mode, end);
    end->fd = open(place->path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    if (end->fd < 0)
        return complain_errno(copying, place->path);
    end->is_regular = end->replaces = fstat(end->fd, &stats) == 0 && S_ISREG(stats.st_mode);
    return THEMIS_TOOLS_OK;
}

/* Closes; what was written to a server is made durable before. */
static int close_end(const copying_t *copying, themis_tools_end_t *end, const themis_tools_place_t *place, int write)
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

/* Paths on the same servers are files, since there are no links. A stream may be copied to itself: nothing is lost. */
static int is_same_file(const copying_t *copying, const themis_tools_end_t *source, const themis_tools_end_t *target,
                        int *same)
{
    struct stat from, to;

    *same = 0;
    if (source->file && target->file)
        return strcmp(themis_file_path(source->file), themis_file_path(target->file)) != 0
                   ? THEMIS_TOOLS_OK
                   : themis_tools_same_servers(copying->self, themis_file_session(source->file),
                                               themis_file_session(target->file), same);
    if (!source->file && !target->file && source->is_regular && target->is_regular)
        *same = fstat(source->fd, &from) == 0 && fstat(target->fd, &to) == 0 && from.st_dev == to.st_dev &&
                from.st_ino == to.st_ino;
    return THEMIS_TOOLS_OK;
}

static int copy_bytes(copying_t *copying, const themis_tools_place_t *from, const themis_tools_place_t *to,
                      const themis_tools_end_t *source, const themis_tools_end_t *target)
{
    const char *cause;
    int same, result = is_same_file(copying, source, target, &same);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (same)
        return themis_tools_complain(copying->self, "'%s' and '%s' are the same file", from->text, to->text);
    if (themis_tools_transfer(*source, *target, show_progress, copying, &cause) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    end_progress(copying);
    return themis_tools_complain(copying->self, "%s to %s: %s", from->text, to->text, cause);
}

static int copy_file(copying_t *copying, const themis_tools_place_t *from, const themis_tools_place_t *to,
                     const themis_tools_attributes_t *attributes)
{
    themis_tools_end_t source, target;
    int result = open_source(copying, from, &source);

    if (result != THEMIS_TOOLS_OK)
        return result;
    result = open_target(copying, to, attributes->mode, &target);
    if (result == THEMIS_TOOLS_OK) {
        copying->name = from->text;
        copying->size = attributes->size;
        result = copy_bytes(copying, from, to, &source, &target);
        copying->before += attributes->size;
        result |= close_end(copying, &target, to, 1);
    }
    close_end(copying, &source, from, 0);
    return result;
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static int copy_any(copying_t *copying, const themis_tools_place_t *from, const themis_tools_place_t *to,
                    const themis_tools_attributes_t *attributes);

static int complain_look(const copying_t *copying, const themis_tools_place_t *place)
{
    return place->session ? themis_tools_failed(copying->self) : complain_errno(copying, place->path);
}

typedef struct descent {
    copying_t *copying;
    const themis_tools_place_t *from, *to;
    int result;
} descent_t;

static int is_special(const themis_tools_place_t *place)
{
    themis_tools_attributes_t attributes;

    return !place->session && themis_tools_place_look(place, &attributes) == THEMIS_OK &&
           attributes.kind == THEMIS_TOOLS_SPECIAL;
}

/* Nobody may ever be at the other end of a FIFO in a tree, and a device may never end. */
static int copy_below(copying_t *copying, const themis_tools_place_t *from, const themis_tools_place_t *to)
{
    static const char special[] = "%s is neither a file nor a directory; it is not copied";
    themis_tools_attributes_t attributes;
    themis_status_t status = themis_tools_place_look(from, &attributes);

    if (status == THEMIS_NO_ENTRY && from->session)
        return THEMIS_TOOLS_OK; /* its making was cut short: it is not there */
    if (status != THEMIS_OK)
        return complain_look(copying, from);
    if (attributes.kind == THEMIS_TOOLS_SPECIAL)
        return themis_tools_complain(copying->self, special, from->text);
    if (is_special(to))
        return themis_tools_complain(copying->self, "%s is neither a file nor a directory; %s is not copied to it",
                                     to->text, from->text);
    return copy_any(copying, from, to, &attributes);
}

static int copy_entry(void *arg, const char *name, themis_type_t type)
{
    descent_t *descent = arg;
    const themis_tools_command_t *self = descent->copying->self;
    themis_tools_place_t from = {0}, to = {0};
    int result = themis_tools_place_below(self, descent->from, name, strlen(name), &from);

    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_place_below(self, descent->to, name, strlen(name), &to);
    if (result == THEMIS_TOOLS_OK)
        result = copy_below(descent->copying, &from, &to);
    themis_tools_place_free(&from);
    themis_tools_place_free(&to);
    descent->result |= result;
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

static int make_directory(const copying_t *copying, const themis_tools_place_t *place, uint32_t mode)
{
    if (place->session) {
        themis_status_t status = themis_mkdir(place->session, place->path, mode);
        return status == THEMIS_OK || status == THEMIS_EXISTS ? THEMIS_TOOLS_OK : themis_tools_failed(copying->self);
    }
    return mkdir(place->path, mode) == 0 || errno == EEXIST ? THEMIS_TOOLS_OK : complain_errno(copying, place->path);
}

static int copy_directory(copying_t *copying, const themis_tools_place_t *from, const themis_tools_place_t *to,
                          uint32_t mode)
{
    descent_t descent = {copying, from, to, THEMIS_TOOLS_OK};
    int within;

    if (!copying->recursive)
        return themis_tools_complain(copying->self, "%s is a directory; -r copies it", from->text);
    int result = themis_tools_place_is_within(copying->self, to, from, &within);
    if (result == THEMIS_TOOLS_OK && within)
        result = themis_tools_complain(copying->self, "cannot copy a directory, '%s', into itself, '%s'", from->text,
                                       to->text);
    if (result == THEMIS_TOOLS_OK)
        result = make_directory(copying, to, mode | 0700);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (!from->session)
        return copy_local_entries(&descent);
    if (themis_readdir(from->session, from->path, copy_entry, &descent) != THEMIS_OK)
        return themis_tools_failed(copying->self);
    return descent.result;
}

static int copy_any(copying_t *copying, const themis_tools_place_t *from, const themis_tools_place_t *to,
                    const themis_tools_attributes_t *attributes)
{
    return attributes->kind == THEMIS_TOOLS_DIRECTORY ? copy_directory(copying, from, to, attributes->mode)
                                                      : copy_file(copying, from, to, attributes);
}

/* --- cp ----------------------------------------------------------------------------------------------------------- */

/* Into a directory the name stays. */
static int copy_operand(copying_t *copying, const char *text, const themis_tools_place_t *to, int into)
{
    themis_tools_place_t from, target = {0};
    themis_tools_attributes_t attributes;
    int result = themis_tools_place_at(copying->self, text, &from);

    if (result != THEMIS_TOOLS_OK)
        return result;
    size_t length = 0;
    const char *name = into ? themis_tools_place_name(from.path, &length) : "";
    result = themis_tools_place_below(copying->self, to, name, length, &target);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_place_look(&from, &attributes) == THEMIS_OK
                     ? copy_any(copying, &from, &target, &attributes)
                     : complain_look(copying, &from);
    themis_tools_place_free(&from);
    themis_tools_place_free(&target);
    return result;
}

static int run_cp(const themis_tools_command_t *self, int argc, char **argv)
{
    copying_t copying = {.self = self, .started = themis_util_clock_now()};
    const themis_tools_option_t options[] = {
        {'r', "recursive", &copying.recursive, NULL}, {'q', "quiet", &copying.quiet, NULL}, {0}};
    int at = themis_tools_options(self, argc, argv, options);
    themis_tools_attributes_t attributes;
    themis_tools_place_t to;

    if (at < 0 || argc - at < 2)
        return themis_tools_usage(self);
    copying.quiet |= !isatty(STDERR_FILENO);
    int result = themis_tools_place_at(self, argv[argc - 1], &to);
    if (result != THEMIS_TOOLS_OK)
        return result;
    int into = themis_tools_place_look(&to, &attributes) == THEMIS_OK && attributes.kind == THEMIS_TOOLS_DIRECTORY;
    if (argc - at > 2 && !into) {
        result = themis_tools_complain(self, "%s is not a directory", argv[argc - 1]);
        at = argc;
    }
    for (; at < argc - 1; at++)
        result |= copy_operand(&copying, argv[at], &to, into);
    themis_tools_place_free(&to);
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
    themis_tools_place_t from;

    if (at < 0 || at == argc)
        return themis_tools_usage(self);
    for (; at < argc; at++) {
        int failed = themis_tools_place_at(self, argv[at], &from);
        if (!failed)
            failed = open_source(&copying, &from, &source);
        if (!failed) {
            if (themis_tools_transfer(source, out, NULL, NULL, &cause) != THEMIS_OK)
                failed = themis_tools_complain(self, "%s: %s", argv[at], cause);
            close_end(&copying, &source, &from, 0);
        }
        themis_tools_place_free(&from);
        result |= failed;
    }
    return result;
}

const themis_tools_command_t themis_tools_cat = {"cat", "PATH...", "Writes files to standard output.", NULL, run_cat};
