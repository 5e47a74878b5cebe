/* SPDX-License-Identifier: BSD-3-Clause */
/* themis du: the space that files take on the servers, summed up for directories. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/array.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/walk.h"
#include "util/config.h"

typedef struct usage {
    int files, human, apparent, total;
    unsigned depth;        /* below which nothing is printed */
    json_t *json;          /* NULL: as text */
    uint64_t *sums, whole; /* sums: owned; bytes of the directories from the operand down */
    size_t open, capacity;
} usage_t;

static int line_print(const usage_t *usage, uint64_t bytes, const char *shown)
{
    char text[8];

    if (usage->json) {
        json_array_append_new(usage->json,
                              json_pack("{s:o, s:I}", "path", themis_tools_json_name(shown),
                                        usage->apparent ? "size_bytes" : "allocated_bytes", (json_int_t)bytes));
        return THEMIS_TOOLS_OK;
    }
    if (usage->human)
        printf("%s\t", themis_tools_format_bytes((double)bytes, text));
    else
        printf("%" PRIu64 "\t", usage->apparent ? bytes : (bytes + 1023) / 1024);
    themis_tools_format_name(shown, stdout);
    putchar('\n');
    return THEMIS_TOOLS_OK;
}

static void bytes_add(usage_t *usage, uint64_t bytes)
{
    if (usage->open > 0)
        usage->sums[usage->open - 1] += bytes;
    else
        usage->whole += bytes;
}

static int directory_open(usage_t *usage)
{
    uint64_t *sums = themis_tools_array_room(usage->sums, usage->open, &usage->capacity, sizeof *sums);

    if (!sums)
        return themis_tools_error("out of memory");
    usage->sums = sums;
    usage->sums[usage->open++] = 0;
    return THEMIS_TOOLS_OK;
}

static int entry_sum(void *arg, const themis_tools_walked_t *walked, themis_tools_walk_event_t event)
{
    usage_t *usage = arg;
    int directory = walked->stat.type == THEMIS_TYPE_DIRECTORY;
    uint64_t bytes = usage->apparent ? walked->stat.size : walked->stat.allocated;

    if (event == THEMIS_TOOLS_WALK_CONTENTS)
        return THEMIS_TOOLS_OK;
    if (directory && event == THEMIS_TOOLS_WALK_ENTRY)
        return directory_open(usage);
    if (directory && usage->open == 0)
        return THEMIS_TOOLS_FAILED; /* there was no memory for it */
    if (directory)
        bytes = usage->sums[--usage->open];
    bytes_add(usage, bytes);
    if (walked->depth > usage->depth || !(directory || usage->files || walked->depth == 0))
        return THEMIS_TOOLS_OK;
    return line_print(usage, bytes, walked->shown);
}

static int operands_sum(usage_t *usage, char **operands, int count)
{
    static char all[] = "themis:/";
    int result = count > 0 ? THEMIS_TOOLS_OK : themis_tools_walk(all, UINT_MAX, entry_sum, usage);

    for (int i = 0; i < count; i++)
        result |= themis_tools_walk(operands[i], UINT_MAX, entry_sum, usage);
    if (usage->total)
        line_print(usage, usage->whole, "total");
    if (usage->json)
        themis_tools_json_print(usage->json);
    free(usage->sums);
    return result;
}

static int run_du(int argc, char **argv)
{
    usage_t usage = {.depth = UINT_MAX};
    int as_json = 0, summarize = 0;
    const char *depth = NULL;
    const themis_tools_option_t options[] = {
        {'a', "all", &usage.files, NULL},      {'h', "human-readable", &usage.human, NULL},
        {'s', "summarize", &summarize, NULL},  {'c', "total", &usage.total, NULL},
        {'b', "bytes", &usage.apparent, NULL}, {'d', "max-depth", NULL, &depth},
        {0, "json", &as_json, NULL},           {0}};
    int at = themis_tools_options(argc, argv, options);
    int64_t limit = UINT_MAX;

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (depth && themis_util_config_integer(depth, 0, UINT_MAX, &limit) != THEMIS_OK)
        return themis_tools_misuse("-d %s: expected a number of levels", depth);
    usage.depth = summarize ? 0 : (unsigned)limit;
    if (as_json && !(usage.json = json_array()))
        return themis_tools_error("out of memory");
    return operands_sum(&usage, argv + at, argc - at);
}

const themis_tools_command_t themis_tools_du = {"du",
                                                "[-ahscb] [-d LEVELS] [--json] [PATH...]",
                                                "Sums up the space that files take, in KiB.",
                                                "  -a       files, too, not only directories\n"
                                                "  -h       sizes as 1.5G\n"
                                                "  -s       the sum of each PATH only\n"
                                                "  -c       the sum of all at the end\n"
                                                "  -b       sizes of files in bytes, not the space that they take\n"
                                                "  -d N     directories down to N levels\n"
                                                "  --json   as JSON\n",
                                                run_du,
                                                THEMIS_TOOLS_PATTERNS_ALL};
