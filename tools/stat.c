/* SPDX-License-Identifier: BSD-3-Clause */
/* themis stat: attributes, size and layout of files and directories. */
#include <inttypes.h>
#include <stdio.h>
#include "tools/attributes.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/sessions.h"

static void attributes_print(const char *path, const themis_stat_t *stat, const char *target)
{
    char created[32], modified[32];

    themis_tools_format_name(path, stdout);
    printf("\n  type      %s\n  mode      %04o\n  owner     %" PRIu32 ":%" PRIu32 "\n",
           themis_tools_attributes_type(stat->type), stat->mode & 07777, stat->uid, stat->gid);
    if (stat->type == THEMIS_TYPE_FILE)
        printf("  size      %" PRIu64 " bytes; takes %" PRIu64 " on the servers\n  layout    stripes of %" PRIu64
               " bytes on %" PRIu32 " servers, the first on server %" PRIu32 "\n",
               stat->size, stat->allocated, stat->layout.stripe_size, stat->layout.count, stat->layout.first);
    if (stat->lost)
        printf("  lost      the bytes on %" PRIu32 " of the servers; the size is that of the rest\n", stat->lost);
    if (stat->type == THEMIS_TYPE_SYMLINK) {
        fputs("  target    ", stdout);
        themis_tools_format_name(target, stdout);
        putchar('\n');
    }
    if (stat->type == THEMIS_TYPE_DIRECTORY && stat->layout.stripe_size)
        printf("  new files have stripes of %" PRIu64 " bytes\n", stat->layout.stripe_size);
    if (stat->type == THEMIS_TYPE_DIRECTORY && stat->layout.count)
        printf("  new files are on %" PRIu32 " servers\n", stat->layout.count);
    printf("  created   %s\n  modified  %s\n", themis_tools_attributes_time(stat->created, created),
           themis_tools_attributes_time(stat->modified, modified));
}

typedef struct rows {
    int as_json;
    json_t *array;
} rows_t;

static int path_stat(void *arg, themis_t *session, const char *path)
{
    rows_t *rows = arg;
    char target[THEMIS_PATH_BYTES] = "";
    themis_stat_t stat;

    if (themis_lstat(session, path, &stat) != THEMIS_OK)
        return themis_tools_error_last();
    if (stat.type == THEMIS_TYPE_SYMLINK && themis_readlink(session, path, target) != THEMIS_OK)
        return themis_tools_error_last();
    json_t *row = rows->as_json ? themis_tools_attributes_json(path, &stat) : NULL;
    if (row && *target)
        json_object_set_new(row, "target", themis_tools_json_name(target));
    if (rows->as_json)
        json_array_append_new(rows->array, row);
    else
        attributes_print(path, &stat, target);
    return THEMIS_TOOLS_OK;
}

static int run_stat(int argc, char **argv)
{
    rows_t rows = {.array = json_array()};
    const themis_tools_option_t options[] = {{0, "json", &rows.as_json, NULL}, {0}};
    int result = themis_tools_session_each_path(argc, argv, options, path_stat, &rows);

    if (rows.as_json && result != THEMIS_TOOLS_USAGE)
        themis_tools_json_print(rows.array);
    else
        json_decref(rows.array);
    return result;
}

const themis_tools_command_t themis_tools_stat = {"stat",
                                                  "[--json] PATH...",
                                                  "Shows attributes, size and layout of files and directories.",
                                                  "  --json   as JSON\n",
                                                  run_stat,
                                                  THEMIS_TOOLS_PATTERNS_ALL};
