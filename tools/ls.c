/* SPDX-License-Identifier: BSD-3-Clause */
/* themis ls: the entries of directories. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/attributes.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/sessions.h"

typedef struct listing {
    themis_t *session;
    const char *directory;
    int detailed;
    json_t *json;         /* NULL: as text */
    uint32_t unknown;     /* entries whose attributes are not known since a server is down */
    const themis_t *told; /* of this session it has been said which servers are missing */
    int result;
} listing_t;

static void attributes_show(const listing_t *listing, const char *name, const themis_stat_t *stat, const char *suffix)
{
    char modified[32];

    if (listing->json)
        json_array_append_new(listing->json, themis_tools_attributes_json(name, stat));
    else if (listing->detailed)
        printf("%c%03o %5" PRIu32 " %5" PRIu32 " %14" PRIu64 " %s %s\n",
               stat->type == THEMIS_TYPE_DIRECTORY ? 'd' : '-', stat->mode & 07777, stat->uid, stat->gid, stat->size,
               themis_tools_attributes_time(stat->modified, modified), name);
    else
        printf("%s%s\n", name, suffix);
}

/* Where a server is down only names are known; after the first failure the others are not asked for. */
static void name_show(listing_t *listing, const char *name, themis_type_t type)
{
    const char *suffix = type == THEMIS_TYPE_DIRECTORY ? "/" : "";

    listing->unknown++;
    if (listing->json)
        json_array_append_new(listing->json, json_pack("{s:s, s:s, s:b}", "name", name, "type",
                                                       themis_tools_attributes_type(type), "reachable", 0));
    else if (listing->detailed)
        printf("%c???     ?     ?              ? %-19s %s\n", type == THEMIS_TYPE_DIRECTORY ? 'd' : '-', "?", name);
    else
        printf("%s%s\n", name, suffix);
}

static int is_unreachable(const listing_t *listing, themis_status_t status)
{
    uint32_t down;

    themis_tools_session_is_down(listing->session, 0, &down);
    return down > 0 && (status == THEMIS_UNREACHABLE || status == THEMIS_DISCONNECTED || status == THEMIS_TIMED_OUT);
}

/* A name without attributes (its creation was interrupted) does not exist. */
static int entry_show(void *arg, const char *name, themis_type_t type)
{
    listing_t *listing = arg;
    char path[8192];
    themis_stat_t stat;

    if (listing->unknown > 0) {
        name_show(listing, name, type);
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s", listing->directory, name);
    themis_status_t status = themis_stat(listing->session, path, &stat);
    if (status == THEMIS_OK)
        attributes_show(listing, name, &stat, type == THEMIS_TYPE_DIRECTORY ? "/" : "");
    else if (is_unreachable(listing, status))
        name_show(listing, name, type);
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

static int path_list(listing_t *listing, const char *text)
{
    const char *path;
    themis_stat_t stat;
    int result = themis_tools_session_resolve(text, &listing->session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    listing->directory = path;
    themis_status_t status = themis_stat(listing->session, path, &stat);
    if (status != THEMIS_OK && is_unreachable(listing, status))
        stat.type = THEMIS_TYPE_DIRECTORY; /* its home may still have the names in it */
    else if (status != THEMIS_OK)
        return themis_tools_error_last();
    if (stat.type != THEMIS_TYPE_DIRECTORY)
        attributes_show(listing, path, &stat, "");
    else if (themis_readdir(listing->session, path, entry_show, listing) != THEMIS_OK)
        listing->result = themis_tools_error_last();
    missing_tell(listing, text);
    return listing->result;
}

static int run_ls(int argc, char **argv)
{
    listing_t listing = {0};
    int as_json = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{'l', "long", &listing.detailed, NULL}, {0, "json", &as_json, NULL}, {0}};
    int at = themis_tools_options(argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (as_json && !(listing.json = json_array()))
        return themis_tools_error("out of memory");
    if (at == argc)
        result = path_list(&listing, "themis:/");
    for (int several = argc - at > 1; at < argc; at++) {
        if (several && !as_json)
            printf("%s:\n", argv[at]);
        result |= path_list(&listing, argv[at]);
    }
    if (as_json)
        themis_tools_json_print(listing.json);
    return result ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

const themis_tools_command_t themis_tools_ls = {"ls", "[-l] [--json] [PATH...]", "Lists directories; / without a PATH.",
                                                "  -l       with attributes\n  --json   as JSON\n", run_ls};
