/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file is written under a temporary name in the target's directory and renamed at the end. Where that is not
 * possible, or would separate the target from its other names (hard links), or from its owner or group, it is written
 * in place, as are streams.
 */
#define _GNU_SOURCE
#include "tools/copy.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/creation_mode.h"
#include "tools/interrupt.h"
#include "tools/pipelined_copy.h"
#include "util/clock.h"

static const uint64_t progress_after = 2 * THEMIS_NS_PER_S, progress_every = THEMIS_NS_PER_S / 4;

/* --- progress ----------------------------------------------------------------------------------------------------- */

typedef struct progress {
    themis_tools_copying_t *copying;
    const char *name;
    uint64_t size, done; /* bytes */
} progress_t;

static int progress_show(void *arg, uint64_t bytes)
{
    progress_t *progress = arg;
    themis_tools_copying_t *copying = progress->copying;
    uint64_t now = themis_util_clock_now();

    pthread_mutex_lock(&copying->lock);
    copying->bytes += bytes > progress->done ? bytes - progress->done : 0;
    progress->done = bytes;
    if (!copying->quiet && now - copying->started >= progress_after && now - copying->shown >= progress_every) {
        copying->shown = now;
        double seconds = (double)(now - copying->started) / 1e9, mib = (double)copying->bytes / 0x1p20;
        fprintf(stderr, "\r%-40.40s %3.0f %%  %.0f MiB  %.0f MiB/s ", progress->name,
                progress->size ? 100.0 * (double)bytes / (double)progress->size : 100.0, mib, mib / seconds);
        fflush(stderr);
    }
    pthread_mutex_unlock(&copying->lock);
    return themis_tools_interrupted();
}

void themis_tools_copying_progress_end(themis_tools_copying_t *copying)
{
    pthread_mutex_lock(&copying->lock);
    if (copying->shown)
        fputc('\n', stderr);
    copying->shown = 0;
    pthread_mutex_unlock(&copying->lock);
}

/* --- the target --------------------------------------------------------------------------------------------------- */

typedef struct target {
    themis_tools_location_t location;  /* symbolic links resolved */
    themis_tools_location_t temporary; /* empty: written in place */
    themis_tools_endpoint_t end;
    themis_tools_location_info_t old; /* of what it replaces */
    int exists;
} target_t;

/* Where a symbolic link leads to is replaced, not the link; through one on servers it is written in place. */
static int target_resolve(const themis_tools_location_t *to, target_t *target)
{
    themis_tools_location_info_t info;
    char path[PATH_MAX];

    if (to->session || themis_tools_location_is_stream(to) || themis_tools_location_look_link(to, &info) != THEMIS_OK ||
        info.kind != THEMIS_TOOLS_LINK)
        return themis_tools_location_at(to->text, &target->location);
    if (!realpath(to->path, path))
        return themis_tools_error("not writing through the symbolic link %s, which leads nowhere", to->text);
    return themis_tools_location_at(path, &target->location);
}

static int temporary_name(target_t *target)
{
    static atomic_uint number;
    const char *text = target->location.text, *path = target->location.path;
    size_t length;
    const char *name = themis_tools_location_name(path, &length);
    char *temporary;

    if (length == 0 || name < text || name > text + strlen(text))
        return THEMIS_TOOLS_FAILED;
    if (asprintf(&temporary, "%.*s.themis-cp-%d-%u", (int)(name - text), text, (int)getpid(),
                 atomic_fetch_add(&number, 1)) < 0)
        return themis_tools_error("out of memory");
    int result = themis_tools_location_at(temporary, &target->temporary);
    free(temporary);
    return result;
}

/* What exists has to be writable, as if it were written in place; on servers its layout stays. */
static int existing_check(const target_t *target, themis_layout_t *layout)
{
    const themis_tools_location_t *to = &target->location;
    themis_file_t *file;

    if (target->old.kind == THEMIS_TOOLS_DIRECTORY)
        return themis_tools_error("cannot overwrite directory '%s' with non-directory", to->text);
    if (!to->session)
        return access(to->path, W_OK) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno(to->path);
    themis_stat_t stat;
    themis_status_t status = themis_open(to->session, to->path, THEMIS_OPEN_WRITE, 0, NULL, &file);
    if (status == THEMIS_OK) {
        themis_file_layout(file, layout);
        themis_close(file);
    } else if (status == THEMIS_LOST) { /* it may be written, and what was there is not wanted */
        status = themis_stat(to->session, to->path, &stat);
        *layout = stat.layout;
    }
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
}

static int ends_with_slash(const char *path)
{
    size_t length = strlen(path);

    return length > 0 && path[length - 1] == '/';
}

static void target_remove(const target_t *target)
{
    if (target->temporary.session)
        themis_unlink(target->temporary.session, target->temporary.path);
    else if (target->temporary.path)
        unlink(target->temporary.path);
}

/* Whether another file in its place could not be the same but for its content. On servers owner and group of a new file
 * are those of who makes it. */
static int must_stay(const target_t *target)
{
    const themis_tools_location_info_t *old = &target->old;

    if (!target->exists)
        return 0;
    return old->kind != THEMIS_TOOLS_FILE || old->links > 1 ||
           (target->location.session && (old->uid != geteuid() || old->gid != getegid()));
}

/* Gives a replacement on this host the owner, group and mode of what it replaces; 0 if this user may not. */
static int replaced_attributes(const target_t *target)
{
    const themis_tools_location_info_t *old = &target->old;

    if (!target->exists || target->end.file)
        return 1;
    return fchown(target->end.fd, old->uid, old->gid) == 0 && fchmod(target->end.fd, old->mode) == 0;
}

/* A new file beside the target. *refused: 1, without a message, if there cannot be one to replace it. */
static int beside_open(uint32_t mode, const themis_layout_t *layout, target_t *target, int *refused)
{
    const int result =
        themis_tools_endpoint_create(&target->temporary, target->exists ? target->old.mode : mode,
                                     target->exists && target->location.session ? layout : NULL, &target->end, refused);

    if (result != THEMIS_TOOLS_OK || replaced_attributes(target))
        return result;
    *refused = 1;
    themis_tools_endpoint_close(&target->end, &target->temporary, 0);
    target_remove(target);
    return THEMIS_TOOLS_FAILED;
}

/* mode: of a new file. */
static int target_open(const themis_tools_location_t *to, uint32_t mode, target_t *target)
{
    themis_layout_t layout = {0};

    *target = (target_t){.end.fd = -1};
    int result = target_resolve(to, target);
    if (result != THEMIS_TOOLS_OK)
        return result;
    target->exists = !themis_tools_location_is_stream(to) &&
                     themis_tools_location_look_link(&target->location, &target->old) == THEMIS_OK;
    const int leads_on = target->exists && target->old.kind == THEMIS_TOOLS_LINK; /* on servers */
    if (leads_on)
        target->exists = themis_tools_location_look(&target->location, &target->old) == THEMIS_OK;
    if (!target->exists && ends_with_slash(to->path))
        return themis_tools_error("%s is not a directory", to->text);
    if (target->exists && (result = existing_check(target, &layout)) != THEMIS_TOOLS_OK)
        return result;
    int in_place = themis_tools_location_is_stream(to) || leads_on || must_stay(target) ||
                   temporary_name(target) != THEMIS_TOOLS_OK;
    if (!in_place)
        result = beside_open(mode, &layout, target, &in_place);
    if (!in_place)
        return result;
    themis_tools_location_free(&target->temporary);
    return themis_tools_endpoint_open_target(&target->location, mode, &target->end);
}

static int target_rename(const target_t *target)
{
    const themis_tools_location_t *from = &target->temporary, *to = &target->location;

    if (to->session)
        return themis_rename(to->session, from->path, to->path) == THEMIS_OK ? THEMIS_TOOLS_OK
                                                                             : themis_tools_error_last();
    return rename(from->path, to->path) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno(to->path);
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

int themis_tools_copy_attributes(const themis_tools_location_t *to, const themis_tools_location_info_t *attributes)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = (time_t)(attributes->modified / THEMIS_NS_PER_S),
                                 .tv_nsec = (long)(attributes->modified % THEMIS_NS_PER_S)}};

    if (to->session)
        return themis_chmod(to->session, to->path, attributes->mode) == THEMIS_OK ? THEMIS_TOOLS_OK
                                                                                  : themis_tools_error_last();
    if (chown(to->path, attributes->uid, attributes->gid) != 0 && errno != EPERM)
        return themis_tools_error_errno(to->path);
    return chmod(to->path, (mode_t)attributes->mode) == 0 && utimensat(AT_FDCWD, to->path, times, 0) == 0
               ? THEMIS_TOOLS_OK
               : themis_tools_error_errno(to->path);
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

static int interrupted(void *arg, uint64_t bytes)
{
    (void)arg, (void)bytes;
    return themis_tools_interrupted();
}

/* Reads again what was written. */
static int target_verify(const themis_tools_location_t *written, const themis_tools_location_t *to, uint64_t wanted)
{
    const themis_tools_endpoint_t nowhere = {.fd = -1};
    themis_tools_endpoint_t end;
    uint64_t found = 0;
    const themis_tools_pipelined_t options = {.progress = interrupted, .checksum = &found};
    const char *cause;
    int result = themis_tools_endpoint_open_source(written, &end);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (!end.is_regular)
        result = themis_tools_error("%s is not a regular file: it cannot be compared", to->text);
    else if (themis_tools_pipelined_copy(end, nowhere, &options, &cause) != THEMIS_OK)
        result = themis_tools_error("%s: %s", to->text, cause);
    else if (found != wanted)
        result = themis_tools_error("%s: the checksum differs from that of what was read", to->text);
    themis_tools_endpoint_close(&end, written, 0);
    return result;
}

static int bytes_copy(themis_tools_copying_t *copying, const themis_tools_location_t *from,
                      const themis_tools_endpoint_t *source, const themis_tools_location_info_t *attributes,
                      target_t *target, uint64_t *checksum)
{
    progress_t progress = {copying, from->text, attributes->size, 0};
    const themis_tools_pipelined_t options = {progress_show, &progress, copying->verify ? checksum : NULL};
    const char *cause;

    if (themis_tools_pipelined_copy(*source, target->end, &options, &cause) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    themis_tools_copying_progress_end(copying);
    return themis_tools_error("%s to %s: %s", from->text, target->location.text, cause);
}

/* After the last byte: compares, gives attributes and the name. */
static int target_finish(const themis_tools_copying_t *copying, const target_t *target,
                         const themis_tools_location_info_t *attributes, uint64_t checksum)
{
    const themis_tools_location_t *written = target->temporary.text ? &target->temporary : &target->location;
    int result = THEMIS_TOOLS_OK;

    if (copying->verify)
        result = target_verify(written, &target->location, checksum);
    if (result == THEMIS_TOOLS_OK && copying->preserve && target->end.is_regular)
        result = themis_tools_copy_attributes(written, attributes);
    if (result == THEMIS_TOOLS_OK && target->temporary.text)
        result = target_rename(target);
    return result;
}

static int source_copy(themis_tools_copying_t *copying, const themis_tools_location_t *from,
                       const themis_tools_endpoint_t *source, const themis_tools_location_t *to,
                       const themis_tools_location_info_t *attributes)
{
    target_t target;
    uint64_t checksum = 0;
    int result = target_open(to, themis_tools_creation_mode(attributes->mode), &target);

    if (result == THEMIS_TOOLS_OK) {
        result = bytes_copy(copying, from, source, attributes, &target, &checksum);
        result |= themis_tools_endpoint_close(&target.end, &target.location, result == THEMIS_TOOLS_OK);
        if (result == THEMIS_TOOLS_OK)
            result = target_finish(copying, &target, attributes, checksum);
        if (result != THEMIS_TOOLS_OK)
            target_remove(&target);
    }
    themis_tools_location_free(&target.temporary);
    themis_tools_location_free(&target.location);
    return result;
}

/* With -n and -u some files are not replaced. */
static int is_kept(const themis_tools_copying_t *copying, const themis_tools_location_t *to,
                   const themis_tools_location_info_t *attributes)
{
    themis_tools_location_info_t old;

    if ((!copying->keep_existing && !copying->update) || themis_tools_location_is_stream(to) ||
        themis_tools_location_look(to, &old) != THEMIS_OK)
        return 0;
    return copying->keep_existing || old.modified >= attributes->modified;
}

int themis_tools_copy_file(themis_tools_copying_t *copying, const themis_tools_location_t *from,
                           const themis_tools_location_t *to, const themis_tools_location_info_t *attributes)
{
    themis_tools_endpoint_t source;
    int same, result = themis_tools_location_is_same_file(from, to, &same);

    if (result != THEMIS_TOOLS_OK || themis_tools_interrupted())
        return THEMIS_TOOLS_FAILED;
    if (same)
        return themis_tools_error("'%s' and '%s' are the same file", from->text, to->text);
    if (is_kept(copying, to, attributes))
        return THEMIS_TOOLS_OK;
    result = themis_tools_endpoint_open_source(from, &source);
    if (result != THEMIS_TOOLS_OK)
        return result;
    result = source_copy(copying, from, &source, to, attributes);
    themis_tools_endpoint_close(&source, from, 0);
    return result;
}
