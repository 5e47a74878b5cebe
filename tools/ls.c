/* SPDX-License-Identifier: BSD-3-Clause */
/* themis ls: the entries of directories. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/attributes.h"
#include "tools/array.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/listing.h"
#include "tools/sessions.h"
#include "util/status.h"

typedef struct order {
    int time, size, reverse; /* else by name */
} order_t;

typedef struct listing {
    themis_t *session;
    const char *directory;
    themis_tools_listed_t *rows; /* owned */
    size_t count, capacity;
    themis_tools_listing_format_t format;
    order_t order;
    int recursive, titled; /* titled: the name of a directory stands before its entries */
    json_t *json;          /* NULL: as text */
    char **pending;        /* owned; directories to list, the next one last */
    size_t pending_count, pending_capacity;
    uint32_t unknown;     /* entries whose attributes are not known since a server is down */
    const themis_t *told; /* of this session it has been said which servers are missing */
    int result;
} listing_t;

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* `target`: of a symbolic link, or NULL. */
static void row_add(listing_t *listing, const char *name, const themis_stat_t *stat, int known, const char *target)
{
    themis_tools_listed_t *rows =
        themis_tools_array_room(listing->rows, listing->count, &listing->capacity, sizeof *rows);
    char *copy = strdup(name);

    if (rows)
        listing->rows = rows;
    if (!rows || !copy) {
        free(copy);
        listing->result = themis_tools_error("out of memory");
        return;
    }
    rows[listing->count++] = (themis_tools_listed_t){copy, target ? strdup(target) : NULL, known, *stat};
}

/* With where it leads to, if it is a symbolic link and that is shown. */
static void known_add(listing_t *listing, const char *name, const char *path, const themis_stat_t *stat)
{
    char target[THEMIS_PATH_BYTES];
    const int shown = stat->type == THEMIS_TYPE_SYMLINK && (listing->format.detailed || listing->json) &&
                      themis_readlink(listing->session, path, target) == THEMIS_OK;

    row_add(listing, name, stat, 1, shown ? target : NULL);
}

/* Where a server is down only names are known; after the first failure the others are not asked for. */
static void name_add(listing_t *listing, const char *name, themis_type_t type)
{
    const themis_stat_t stat = {.type = type};

    listing->unknown++;
    row_add(listing, name, &stat, 0, NULL);
}

static int is_unreachable(const listing_t *listing, themis_status_t status)
{
    uint32_t down;

    themis_tools_session_is_down(listing->session, 0, &down);
    return down > 0 && themis_util_status_is_away(status);
}

/* A name without attributes (its creation was interrupted) does not exist. */
static int entry_add(void *arg, const char *name, themis_type_t type)
{
    listing_t *listing = arg;
    char path[8192];
    themis_stat_t stat;

    if (listing->unknown > 0) {
        name_add(listing, name, type);
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s", listing->directory, name);
    themis_status_t status = themis_lstat(listing->session, path, &stat);
    if (status == THEMIS_OK)
        known_add(listing, name, path, &stat);
    else if (is_unreachable(listing, status))
        name_add(listing, name, type);
    else if (status != THEMIS_NO_ENTRY)
        listing->result = themis_tools_error_last();
    return 0;
}

/* Says which servers are missing. */
static void servers_tell(listing_t *listing)
{
    themis_session_info_t info;

    if (listing->told == listing->session || themis_session_info(listing->session, &info) != THEMIS_OK)
        return;
    listing->told = listing->session;
    const char *at = info.server_list;
    for (uint32_t i = 0; i < info.servers; i++) {
        int length = (int)strcspn(at, ",");
        if (themis_tools_session_is_down(listing->session, i, NULL))
            themis_tools_error("server %.*s is DOWN: what it holds is missing", length, at);
        at += length + (at[length] == ',');
    }
}

static void missing_tell(listing_t *listing, const char *text)
{
    uint32_t down;

    themis_tools_session_is_down(listing->session, 0, &down);
    if (down == 0)
        return;
    servers_tell(listing);
    listing->result = THEMIS_TOOLS_FAILED;
    if (listing->unknown > 0)
        themis_tools_error("%s: of %" PRIu32 " entries only the names are known", text, listing->unknown);
    listing->unknown = 0;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static const order_t *comparing; /* qsort passes nothing on */

static int row_compare(const void *a, const void *b)
{
    const themis_tools_listed_t *left = a, *right = b;
    int result = strcmp(left->name, right->name);

    if (comparing->time && left->stat.modified != right->stat.modified)
        result = left->stat.modified > right->stat.modified ? -1 : 1;
    else if (comparing->size && left->stat.size != right->stat.size)
        result = left->stat.size > right->stat.size ? -1 : 1;
    return comparing->reverse ? -result : result;
}

/* `text`: the directory that they are in; NULL: a file that was named itself. */
static void rows_to_json(const listing_t *listing, const char *text)
{
    for (size_t i = 0; i < listing->count; i++) {
        const themis_tools_listed_t *row = &listing->rows[i];
        json_t *object = row->known ? themis_tools_attributes_json(row->name, &row->stat)
                                    : json_pack("{s:o, s:s, s:b}", "name", themis_tools_json_name(row->name), "type",
                                                themis_tools_attributes_type(row->stat.type), "reachable", 0);
        if (row->target)
            json_object_set_new(object, "target", themis_tools_json_name(row->target));
        if (listing->recursive && text)
            json_object_set_new(object, "directory", themis_tools_json_name(text));
        json_array_append_new(listing->json, object);
    }
}

/* The directories among the rows, so that the first is listed next. */
static void rows_to_pending(listing_t *listing, const char *text)
{
    size_t length = strlen(text);

    length -= text[length - 1] == '/';
    for (size_t i = listing->count; i-- > 0;) {
        const themis_tools_listed_t *row = &listing->rows[i];
        if (row->stat.type != THEMIS_TYPE_DIRECTORY)
            continue;
        char **pending = themis_tools_array_room(listing->pending, listing->pending_count, &listing->pending_capacity,
                                                 sizeof *pending);
        char *below = malloc(length + strlen(row->name) + 2);
        if (pending)
            listing->pending = pending;
        if (!pending || !below) {
            free(below);
            listing->result = themis_tools_error("out of memory");
            return;
        }
        sprintf(below, "%.*s/%s", (int)length, text, row->name);
        pending[listing->pending_count++] = below;
    }
}

/* Shows the rows and gives them up. */
static void rows_show(listing_t *listing, const char *text)
{
    comparing = &listing->order;
    qsort(listing->rows, listing->count, sizeof *listing->rows, row_compare);
    if (listing->json) {
        rows_to_json(listing, text);
    } else {
        if (listing->titled && text) {
            fputs(listing->titled++ > 1 ? "\n" : "", stdout);
            themis_tools_format_name(text, stdout);
            puts(":");
        }
        themis_tools_listing_print(listing->rows, listing->count, &listing->format);
    }
    if (listing->recursive && text)
        rows_to_pending(listing, text);
    for (size_t i = 0; i < listing->count; i++) {
        free(listing->rows[i].name);
        free(listing->rows[i].target);
    }
    listing->count = 0;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

static int path_list(listing_t *listing, const char *text)
{
    const char *path;
    themis_stat_t stat;
    int result = themis_tools_session_resolve(text, &listing->session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    listing->directory = path;
    /* a link that is shown itself is not followed, as with ls(1) */
    themis_status_t status = listing->format.detailed ? themis_lstat(listing->session, path, &stat)
                                                      : themis_stat(listing->session, path, &stat);
    if (status != THEMIS_OK && is_unreachable(listing, status))
        stat.type = THEMIS_TYPE_DIRECTORY; /* its home may still have the names in it */
    else if (status != THEMIS_OK)
        return themis_tools_error_last();
    if (stat.type != THEMIS_TYPE_DIRECTORY)
        known_add(listing, path, path, &stat);
    else if (themis_readdir(listing->session, path, entry_add, listing) != THEMIS_OK)
        listing->result = themis_tools_error_last();
    rows_show(listing, stat.type == THEMIS_TYPE_DIRECTORY ? text : NULL);
    missing_tell(listing, text);
    return listing->result;
}

static int tree_list(listing_t *listing, const char *text)
{
    int result = path_list(listing, text);

    while (listing->pending_count > 0) {
        char *next = listing->pending[--listing->pending_count];
        result |= path_list(listing, next);
        free(next);
    }
    return result;
}

static int operands_list(listing_t *listing, char **operands, int count)
{
    int result = THEMIS_TOOLS_OK;

    listing->titled = listing->recursive || count > 1;
    if (count == 0)
        result = tree_list(listing, "themis:/");
    for (int i = 0; i < count; i++)
        result |= tree_list(listing, operands[i]);
    if (listing->json)
        themis_tools_json_print(listing->json);
    free((void *)listing->pending);
    free(listing->rows);
    return result ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

static int run_ls(int argc, char **argv)
{
    listing_t listing = {0};
    themis_tools_listing_format_t *format = &listing.format;
    int as_json = 0, single = 0, all = 0;
    themis_tools_listing_detect(format);
    const themis_tools_option_t options[] = {{'l', "long", &format->detailed, NULL},
                                             {'h', "human-readable", &format->human, NULL},
                                             {'a', "all", &all, NULL},
                                             {'R', "recursive", &listing.recursive, NULL},
                                             {'n', "numeric-uid-gid", &format->numeric, NULL},
                                             {'t', NULL, &listing.order.time, NULL},
                                             {'S', NULL, &listing.order.size, NULL},
                                             {'r', "reverse", &listing.order.reverse, NULL},
                                             {'1', NULL, &single, NULL},
                                             {0, "json", &as_json, NULL},
                                             {0}};
    int at = themis_tools_options(argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    format->detailed |= format->numeric;
    if (single)
        format->width = 0;
    if (as_json && !(listing.json = json_array()))
        return themis_tools_error("out of memory");
    return operands_list(&listing, argv + at, argc - at);
}

const themis_tools_command_t themis_tools_ls = {"ls",
                                                "[-lhaRntSr1] [--json] [PATH...]",
                                                "Lists directories; / without a PATH. On a terminal in columns.",
                                                "  -l       with mode, owner, group, size, time of modification\n"
                                                "  -h       sizes as 1.5G\n"
                                                "  -a       names that begin with a dot are shown in any case\n"
                                                "  -R       with all directories below\n"
                                                "  -n       as -l, owner and group as numbers\n"
                                                "  -t       newest first\n"
                                                "  -S       largest first\n"
                                                "  -r       in reverse order\n"
                                                "  -1       one name a line\n"
                                                "  --json   as JSON\n",
                                                run_ls,
                                                THEMIS_TOOLS_PATTERNS_ALL};
