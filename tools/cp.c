/* SPDX-License-Identifier: BSD-3-Clause */
/* themis cp: copies files and directories between servers and this host. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/options.h"
#include "tools/pipelined_copy.h"
#include "util/clock.h"

static const uint64_t progress_after = 2 * THEMIS_NS_PER_S, progress_every = THEMIS_NS_PER_S / 4;

typedef struct copying {
    int recursive, quiet;
    uint64_t started, shown; /* ns; of the command, of the last progress line */
    const char *name;        /* of the current file */
    uint64_t size;           /* bytes of it */
    uint64_t before;         /* bytes of the files that are done */
} copying_t;

/* --- progress ----------------------------------------------------------------------------------------------------- */

static void progress_show(void *arg, uint64_t bytes)
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

/* Before anything else is printed on the terminal. */
static void progress_end(copying_t *copying)
{
    if (copying->shown)
        fputc('\n', stderr);
    copying->shown = 0;
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

static int copy_bytes(copying_t *copying, const themis_tools_location_t *from, const themis_tools_location_t *to,
                      const themis_tools_endpoint_t *source, const themis_tools_endpoint_t *target)
{
    const char *cause;
    int same, result = themis_tools_endpoint_is_same_file(source, target, &same);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (same)
        return themis_tools_error("'%s' and '%s' are the same file", from->text, to->text);
    if (themis_tools_pipelined_copy(*source, *target, progress_show, copying, &cause) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    progress_end(copying);
    return themis_tools_error("%s to %s: %s", from->text, to->text, cause);
}

static int copy_file(copying_t *copying, const themis_tools_location_t *from, const themis_tools_location_t *to,
                     const themis_tools_location_info_t *attributes)
{
    themis_tools_endpoint_t source, target;
    int result = themis_tools_endpoint_open_source(from, &source);

    if (result != THEMIS_TOOLS_OK)
        return result;
    result = themis_tools_endpoint_open_target(to, attributes->mode, &target);
    if (result == THEMIS_TOOLS_OK) {
        copying->name = from->text;
        copying->size = attributes->size;
        result = copy_bytes(copying, from, to, &source, &target);
        copying->before += attributes->size;
        result |= themis_tools_endpoint_close(&target, to, 1);
    }
    themis_tools_endpoint_close(&source, from, 0);
    return result;
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static int copy_any(copying_t *copying, const themis_tools_location_t *from, const themis_tools_location_t *to,
                    const themis_tools_location_info_t *attributes);

static int look_error(const themis_tools_location_t *location)
{
    return location->session ? themis_tools_error_last() : themis_tools_error_errno(location->path);
}

typedef struct descent {
    copying_t *copying;
    const themis_tools_location_t *from, *to;
    int result;
} descent_t;

static int is_special(const themis_tools_location_t *location)
{
    themis_tools_location_info_t attributes;

    return !location->session && themis_tools_location_look(location, &attributes) == THEMIS_OK &&
           attributes.kind == THEMIS_TOOLS_SPECIAL;
}

/* A FIFO in a tree may have no other end, and a device no end of data: neither is copied. */
static int copy_below(copying_t *copying, const themis_tools_location_t *from, const themis_tools_location_t *to)
{
    static const char special[] = "%s is neither a file nor a directory; it is not copied";
    themis_tools_location_info_t attributes;
    themis_status_t status = themis_tools_location_look(from, &attributes);

    if (status == THEMIS_NO_ENTRY && from->session)
        return THEMIS_TOOLS_OK; /* its creation was interrupted: it does not exist */
    if (status != THEMIS_OK)
        return look_error(from);
    if (attributes.kind == THEMIS_TOOLS_SPECIAL)
        return themis_tools_error(special, from->text);
    if (is_special(to))
        return themis_tools_error("%s is neither a file nor a directory; %s is not copied to it", to->text, from->text);
    return copy_any(copying, from, to, &attributes);
}

static int copy_entry(void *arg, const char *name, themis_type_t type)
{
    descent_t *descent = arg;
    themis_tools_location_t from = {0}, to = {0};
    int result = themis_tools_location_below(descent->from, name, strlen(name), &from);

    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_location_below(descent->to, name, strlen(name), &to);
    if (result == THEMIS_TOOLS_OK)
        result = copy_below(descent->copying, &from, &to);
    themis_tools_location_free(&from);
    themis_tools_location_free(&to);
    descent->result |= result;
    return 0;
}

static int copy_local_entries(descent_t *descent)
{
    DIR *directory = opendir(descent->from->path);
    struct dirent *entry;

    if (!directory)
        return themis_tools_error_errno(descent->from->path);
    while ((entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            copy_entry(descent, entry->d_name, THEMIS_TYPE_FILE);
    closedir(directory);
    return descent->result;
}

static int directory_make(const themis_tools_location_t *location, uint32_t mode)
{
    if (location->session) {
        themis_status_t status = themis_mkdir(location->session, location->path, mode);
        return status == THEMIS_OK || status == THEMIS_EXISTS ? THEMIS_TOOLS_OK : themis_tools_error_last();
    }
    return mkdir(location->path, mode) == 0 || errno == EEXIST ? THEMIS_TOOLS_OK
                                                               : themis_tools_error_errno(location->path);
}

static int copy_directory(copying_t *copying, const themis_tools_location_t *from, const themis_tools_location_t *to,
                          uint32_t mode)
{
    descent_t descent = {copying, from, to, THEMIS_TOOLS_OK};
    int within;

    if (!copying->recursive)
        return themis_tools_error("%s is a directory; -r copies it", from->text);
    int result = themis_tools_location_is_within(to, from, &within);
    if (result == THEMIS_TOOLS_OK && within)
        result = themis_tools_error("cannot copy a directory, '%s', into itself, '%s'", from->text, to->text);
    if (result == THEMIS_TOOLS_OK)
        result = directory_make(to, mode | 0700);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (!from->session)
        return copy_local_entries(&descent);
    if (themis_readdir(from->session, from->path, copy_entry, &descent) != THEMIS_OK)
        return themis_tools_error_last();
    return descent.result;
}

static int copy_any(copying_t *copying, const themis_tools_location_t *from, const themis_tools_location_t *to,
                    const themis_tools_location_info_t *attributes)
{
    return attributes->kind == THEMIS_TOOLS_DIRECTORY ? copy_directory(copying, from, to, attributes->mode)
                                                      : copy_file(copying, from, to, attributes);
}

/* --- cp ----------------------------------------------------------------------------------------------------------- */

/* Into a directory the name stays. */
static int copy_operand(copying_t *copying, const char *text, const themis_tools_location_t *to, int into)
{
    themis_tools_location_t from, target = {0};
    themis_tools_location_info_t attributes;
    int result = themis_tools_location_at(text, &from);

    if (result != THEMIS_TOOLS_OK)
        return result;
    size_t length = 0;
    const char *name = into ? themis_tools_location_name(from.path, &length) : "";
    result = themis_tools_location_below(to, name, length, &target);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_location_look(&from, &attributes) == THEMIS_OK
                     ? copy_any(copying, &from, &target, &attributes)
                     : look_error(&from);
    themis_tools_location_free(&from);
    themis_tools_location_free(&target);
    return result;
}

static int run_cp(int argc, char **argv)
{
    copying_t copying = {.started = themis_util_clock_now()};
    const themis_tools_option_t options[] = {
        {'r', "recursive", &copying.recursive, NULL}, {'q', "quiet", &copying.quiet, NULL}, {0}};
    int at = themis_tools_options(argc, argv, options);
    themis_tools_location_info_t attributes;
    themis_tools_location_t to;

    if (at < 0 || argc - at < 2)
        return themis_tools_usage();
    copying.quiet |= !isatty(STDERR_FILENO);
    int result = themis_tools_location_at(argv[argc - 1], &to);
    if (result != THEMIS_TOOLS_OK)
        return result;
    int into = themis_tools_location_look(&to, &attributes) == THEMIS_OK && attributes.kind == THEMIS_TOOLS_DIRECTORY;
    if (argc - at > 2 && !into) {
        result = themis_tools_error("%s is not a directory", argv[argc - 1]);
        at = argc;
    }
    for (; at < argc - 1; at++)
        result |= copy_operand(&copying, argv[at], &to, into);
    themis_tools_location_free(&to);
    progress_end(&copying);
    return result;
}

const themis_tools_command_t themis_tools_cp = {
    "cp", "[-r] [-q] FROM... TO", "Copies files to servers, from servers, or between them.",
    "  -r   directories too, with all below them\n  -q   no progress on the terminal\n", run_cp};
