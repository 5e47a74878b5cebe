/* SPDX-License-Identifier: BSD-3-Clause */
/* themis find: paths on servers for which tests hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/attributes.h"
#include "tools/command.h"
#include "tools/find_expression.h"
#include "tools/format.h"
#include "tools/json.h"

typedef struct search {
    themis_tools_find_expression_t expression;
    json_t *json; /* NULL: as text */
} search_t;

static int entry_test(void *arg, const themis_tools_walked_t *walked, themis_tools_walk_event_t event)
{
    const search_t *search = arg;

    if (event != THEMIS_TOOLS_WALK_ENTRY || !themis_tools_find_matches(&search->expression, walked))
        return THEMIS_TOOLS_OK;
    if (search->json)
        json_array_append_new(search->json, themis_tools_attributes_json(walked->shown, &walked->stat));
    else if (search->expression.zero)
        fputs(walked->shown, stdout);
    else
        themis_tools_format_name(walked->shown, stdout);
    if (!search->json)
        putchar(search->expression.zero ? '\0' : '\n');
    return THEMIS_TOOLS_OK;
}

static int run_find(int argc, char **argv)
{
    static char all[] = "themis:/";
    search_t search = {0};
    int paths = 1;

    while (paths < argc && argv[paths][0] != '-' && strcmp(argv[paths], "!") != 0)
        paths++;
    int result = themis_tools_find_parse(argv + paths, &search.expression);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (search.expression.json && !(search.json = json_array()))
        return themis_tools_error("out of memory");
    if (paths == 1)
        result = themis_tools_walk(all, search.expression.max_depth, entry_test, &search);
    for (int i = 1; i < paths; i++)
        result |= themis_tools_walk(argv[i], search.expression.max_depth, entry_test, &search);
    if (search.json)
        themis_tools_json_print(search.json);
    return result;
}

const themis_tools_command_t themis_tools_find = {
    "find", "[PATH...] [TEST...]", "Lists paths for which all tests hold; from / without a PATH.",
    "  -name PATTERN    the last part of the path; -iname: in upper or lower case\n"
    "  -path PATTERN    all of the path as it is printed\n"
    "  -type T          f: file, d: directory\n"
    "  -size [+-]N[ckMG]  rounded up to units of 512 bytes, bytes (c), KiB, MiB or GiB; + for more, - for less\n"
    "  -mtime [+-]N     changed N days ago, rounded down; -mmin: in minutes\n"
    "  -newer FILE      changed after FILE, which is on servers or on this host\n"
    "  -user USER       of this owner, by name or number\n"
    "  -empty           files without bytes, directories without entries\n"
    "  -maxdepth N      N levels below a PATH at most; -mindepth: at least\n"
    "  -print0          a NUL byte after each path, for xargs -0; -print: a new line, as without it\n"
    "  --json           as JSON\n"
    "! or -not before a test: it does not hold.\n",
    run_find};
