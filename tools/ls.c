/* SPDX-License-Identifier: BSD-3-Clause */
/* themis ls and themis stat: what names and attributes there are, for people or as JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/command.h"

typedef struct listing {
    const themis_tools_command_t *self;
    themis_t *session;
    const char *directory; /* NULL: `name` is the whole path */
    int detailed;
    json_t *json; /* NULL: for people */
    int failed;
} listing_t;

static const char *type_name(themis_type_t type)
{
    return type == THEMIS_TYPE_DIRECTORY ? "directory" : "file";
}

static void format_time(uint64_t ns, char text[32])
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || strftime(text, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(text, 32, "?");
}

static json_t *stat_json(const char *name, const themis_stat_t *stat)
{
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I}", "name", name, "type", type_name(stat->type),
                  "mode", (int)stat->mode, "uid", (int)stat->uid, "gid", (int)stat->gid, "size_bytes",
                  (json_int_t)stat->size, "allocated_bytes", (json_int_t)stat->allocated, "created_ns",
                  (json_int_t)stat->created, "modified_ns", (json_int_t)stat->modified, "id", (json_int_t)stat->id);

    if (object && stat->type == THEMIS_TYPE_FILE)
        json_object_set_new(object, "layout",
                            json_pack("{s:I, s:I, s:I}", "stripe_size_bytes", (json_int_t)stat->layout.stripe_size,
                                      "count", (json_int_t)stat->layout.count, "first",
                                      (json_int_t)stat->layout.first));
    return object;
}

static void print_line(const char *name, const themis_stat_t *stat)
{
    char when[32];

    format_time(stat->modified, when);
    printf("%c%03o %5" PRIu32 " %5" PRIu32 " %14" PRIu64 " %s %s\n", stat->type == THEMIS_TYPE_DIRECTORY ? 'd' : '-',
           stat->mode & 07777, stat->uid, stat->gid, stat->size, when, name);
}

static void print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2));
    putchar('\n');
}

/* Shows one entry; a name that has no attributes (its making was cut short) is not there. */
static int show_entry(void *arg, const char *name, themis_type_t type)
{
    listing_t *listing = arg;
    char path[8192];
    themis_stat_t stat;

    snprintf(path, sizeof path, "%s/%s", listing->directory, name);
    themis_status_t status = themis_stat(listing->session, path, &stat);
    if (status == THEMIS_NO_ENTRY)
        return 0;
    if (status != THEMIS_OK)
        listing->failed = themis_tools_failed(listing->self);
    else if (listing->json)
        json_array_append_new(listing->json, stat_json(name, &stat));
    else if (listing->detailed)
        print_line(name, &stat);
    else
        printf("%s%s\n", name, type == THEMIS_TYPE_DIRECTORY ? "/" : "");
    return 0;
}

static int list_one(listing_t *listing, const char *text)
{
    const char *path;
    themis_stat_t stat;
    int result = themis_tools_resolve(listing->self, text, &listing->session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (themis_stat(listing->session, path, &stat) != THEMIS_OK)
        return themis_tools_failed(listing->self);
    if (stat.type == THEMIS_TYPE_DIRECTORY) {
        listing->directory = path;
        if (themis_readdir(listing->session, path, show_entry, listing) != THEMIS_OK)
            return themis_tools_failed(listing->self);
    } else if (listing->json) {
        json_array_append_new(listing->json, stat_json(path, &stat));
    } else if (listing->detailed) {
        print_line(path, &stat);
    } else {
        printf("%s\n", path);
    }
    return listing->failed;
}

static int run_ls(const themis_tools_command_t *self, int argc, char **argv)
{
    listing_t listing = {.self = self};
    int as_json = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{'l', "long", &listing.detailed, NULL}, {0, "json", &as_json, NULL}, {0}};
    int at = themis_tools_options(self, argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (as_json && !(listing.json = json_array()))
        return themis_tools_complain(self, "out of memory");
    if (at == argc)
        result = list_one(&listing, "themis:/");
    for (int several = argc - at > 1; at < argc; at++) {
        if (several && !as_json)
            printf("%s:\n", argv[at]);
        result |= list_one(&listing, argv[at]);
    }
    if (as_json)
        print_json(listing.json);
    json_decref(listing.json);
    return result ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

const themis_tools_command_t themis_tools_ls = {"ls", "[-l] [--json] [PATH...]", "Lists directories; / without a PATH.",
                                                "  -l       with attributes\n  --json   as JSON\n", run_ls};

/* --- stat --------------------------------------------------------------------------------------------------------- */

static void print_stat(const char *path, const themis_stat_t *stat)
{
    char created[32], modified[32];

    format_time(stat->created, created);
    format_time(stat->modified, modified);
    printf("%s\n  type      %s\n  mode      %04o\n  owner     %" PRIu32 ":%" PRIu32 "\n", path, type_name(stat->type),
           stat->mode & 07777, stat->uid, stat->gid);
    if (stat->type == THEMIS_TYPE_FILE)
        printf("  size      %" PRIu64 " bytes; takes %" PRIu64 " on the servers\n  layout    stripes of %" PRIu64
               " bytes on %" PRIu32 " servers, the first on server %" PRIu32 "\n",
               stat->size, stat->allocated, stat->layout.stripe_size, stat->layout.count, stat->layout.first);
    printf("  created   %s\n  modified  %s\n", created, modified);
}

static int stat_one(const themis_tools_command_t *self, const char *text, json_t *json)
{
    themis_t *session;
    const char *path;
    themis_stat_t stat;
    int result = themis_tools_resolve(self, text, &session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (themis_stat(session, path, &stat) != THEMIS_OK)
        return themis_tools_failed(self);
    if (json)
        json_array_append_new(json, stat_json(path, &stat));
    else
        print_stat(path, &stat);
    return THEMIS_TOOLS_OK;
}

static int run_stat(const themis_tools_command_t *self, int argc, char **argv)
{
    int as_json = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{0, "json", &as_json, NULL}, {0}};
    int at = themis_tools_options(self, argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (at == argc)
        return themis_tools_usage(self);
    json_t *json = as_json ? json_array() : NULL;
    for (; at < argc; at++)
        result |= stat_one(self, argv[at], json);
    if (json)
        print_json(json);
    json_decref(json);
    return result ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

const themis_tools_command_t themis_tools_stat = {"stat", "[--json] PATH...",
                                                  "Shows attributes, size and layout of files and directories.",
                                                  "  --json   as JSON\n", run_stat};
