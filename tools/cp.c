/* SPDX-License-Identifier: BSD-3-Clause */
/* themis cp: copies files and directories between servers and this host. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/copy.h"
#include "tools/copy_pool.h"
#include "tools/copy_tree.h"
#include "tools/interrupt.h"
#include "tools/options.h"
#include "util/clock.h"
#include "util/config.h"

enum { MAX_JOBS = 64 };

/* The operands. */
typedef struct operands {
    themis_tools_copying_t *copying;
    themis_tools_copy_pool_t *pool;
    themis_tools_copied_directories_t directories;
    themis_tools_location_t to;
    int into;      /* 1: `to` is a directory, in which names stay */
    char **copied; /* owned: targets of the files so far */
    int count;
} operands_t;

/* The second of two operands with one name would replace the first in the same directory. */
static int target_note(operands_t *operands, const themis_tools_location_t *from, const themis_tools_location_t *target)
{
    for (int i = 0; i < operands->count; i++)
        if (strcmp(operands->copied[i], target->text) == 0)
            return themis_tools_error("will not overwrite just-created '%s' with '%s'", target->text, from->text);
    operands->copied[operands->count] = strdup(target->text);
    return operands->copied[operands->count++] ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");
}

static int any_copy(operands_t *operands, themis_tools_location_t *from, themis_tools_location_t *target,
                    const themis_tools_location_info_t *attributes)
{
    if (attributes->kind == THEMIS_TOOLS_LINK)
        return themis_tools_copy_link(operands->copying, from, target);
    if (attributes->kind == THEMIS_TOOLS_DIRECTORY)
        return operands->copying->recursive ? themis_tools_copy_tree(operands->copying, operands->pool, from, target,
                                                                     attributes, &operands->directories)
                                            : themis_tools_error("%s is a directory; -r copies it", from->text);
    if (operands->into && target_note(operands, from, target) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_tools_copy_pool_add(operands->pool, from, target, attributes);
    return THEMIS_TOOLS_OK;
}

static int source_look(const themis_tools_copying_t *copying, const themis_tools_location_t *from,
                       themis_tools_location_info_t *attributes)
{
    *attributes = (themis_tools_location_info_t){
        .kind = THEMIS_TOOLS_SPECIAL, .mode = 0666, .modified = themis_util_clock_wall()};
    if (themis_tools_location_is_stream(from))
        return THEMIS_TOOLS_OK;
    themis_status_t status = copying->no_follow ? themis_tools_location_look_link(from, attributes)
                                                : themis_tools_location_look(from, attributes);
    if (status == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    return from->session ? themis_tools_error_last() : themis_tools_error_errno(from->path);
}

/* Into a directory the name stays. */
static int operand_copy(operands_t *operands, const char *text)
{
    themis_tools_location_t from, target = {0};
    themis_tools_location_info_t attributes;
    size_t length = 0;
    int result = themis_tools_location_at(text, &from);

    if (result != THEMIS_TOOLS_OK)
        return result;
    const char *name = operands->into ? themis_tools_location_name(from.path, &length) : "";
    result = themis_tools_location_below(&operands->to, name, length, &target);
    if (result == THEMIS_TOOLS_OK && operands->into && themis_tools_location_is_stream(&from))
        result = themis_tools_error("standard input has no name to keep in %s", operands->to.text);
    if (result == THEMIS_TOOLS_OK)
        result = source_look(operands->copying, &from, &attributes);
    if (result == THEMIS_TOOLS_OK)
        result = any_copy(operands, &from, &target, &attributes);
    themis_tools_location_free(&from);
    themis_tools_location_free(&target);
    return result;
}

static int operands_copy(operands_t *operands, int count, char **texts)
{
    themis_tools_location_info_t attributes;
    int result = themis_tools_location_at(texts[count - 1], &operands->to);

    if (result != THEMIS_TOOLS_OK)
        return result;
    operands->into = !themis_tools_location_is_stream(&operands->to) &&
                     themis_tools_location_look(&operands->to, &attributes) == THEMIS_OK &&
                     attributes.kind == THEMIS_TOOLS_DIRECTORY;
    if (count > 2 && !operands->into)
        result = themis_tools_error("%s is not a directory", texts[count - 1]);
    else
        for (int i = 0; i < count - 1; i++)
            result |= operand_copy(operands, texts[i]);
    return result;
}

static int copy_all(themis_tools_copying_t *copying, int count, char **texts)
{
    operands_t operands = {.copying = copying, .copied = calloc((size_t)count, sizeof *operands.copied)};

    operands.pool = operands.copied ? themis_tools_copy_pool_create(copying) : NULL;
    if (!operands.pool) {
        free(operands.copied);
        return THEMIS_TOOLS_FAILED;
    }
    themis_tools_interrupt_watch();
    int result = operands_copy(&operands, count, texts);
    result |= themis_tools_copy_pool_end(operands.pool);
    result |= themis_tools_copied_directories_finish(&operands.directories);
    themis_tools_copying_progress_end(copying);
    while (operands.count > 0)
        free(operands.copied[--operands.count]);
    free(operands.copied);
    themis_tools_location_free(&operands.to);
    return themis_tools_interrupted() ? 128 + themis_tools_interrupted() : result;
}

static int run_cp(int argc, char **argv)
{
    themis_tools_copying_t copying = {.started = themis_util_clock_now(), .lock = PTHREAD_MUTEX_INITIALIZER};
    const char *jobs = "1";
    int64_t number;
    const themis_tools_option_t options[] = {{'r', "recursive", &copying.recursive, NULL},
                                             {'R', NULL, &copying.recursive, NULL},
                                             {'q', "quiet", &copying.quiet, NULL},
                                             {'p', "preserve", &copying.preserve, NULL},
                                             {'n', "no-clobber", &copying.keep_existing, NULL},
                                             {'u', "update", &copying.update, NULL},
                                             {'L', "dereference", &copying.follow, NULL},
                                             {'P', "no-dereference", &copying.no_follow, NULL},
                                             {'j', "jobs", NULL, &jobs},
                                             {0, "verify", &copying.verify, NULL},
                                             {0}};
    int at = themis_tools_options(argc, argv, options);

    if (at < 0 || argc - at < 2)
        return themis_tools_usage();
    if (themis_util_config_integer(jobs, 1, MAX_JOBS, &number) != THEMIS_OK)
        return themis_tools_misuse("-j %s: expected a number from 1 to %d", jobs, MAX_JOBS);
    if (copying.follow && copying.no_follow)
        return themis_tools_misuse("-L and -P exclude each other");
    copying.jobs = (int)number;
    copying.quiet |= !isatty(STDERR_FILENO);
    return copy_all(&copying, argc - at, argv + at);
}

const themis_tools_command_t themis_tools_cp = {
    "cp",
    "[-rpnuq] [-L or -P] [-j N] [--verify] FROM... TO",
    "Copies files to servers, from servers, or between them; - is standard input or output.",
    "  -r   directories too, with all below them\n"
    "  -p   keeps the mode, and on this host times and, where allowed, owner\n"
    "  -n   does not replace a file that exists\n"
    "  -u   replaces a file only if it is older\n"
    "  -L   follows symbolic links in directories, too; without it they are copied as links\n"
    "  -P   does not follow those that are operands either\n"
    "  -j N  N files at a time\n"
    "  --verify  reads again what was written, and compares checksums\n"
    "  -q   no progress on the terminal\n",
    run_cp,
    THEMIS_TOOLS_PATTERNS_SOURCES};
