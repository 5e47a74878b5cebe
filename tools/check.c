/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * themis check: compares what all servers have. Files may come and go meanwhile, so only what is found twice in a row
 * counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tools/array.h"
#include "tools/check_scan.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/sessions.h"
#include "util/clock.h"

enum { SECOND_LOOK_S = 2, DEFAULT_AGE_S = 600, QUESTION_BYTES = 4 * 4096 };

typedef enum kind { DOUBLED, ORPHAN, NO_NAME, NO_ENTRY, INCOMPLETE } kind_t;

/* For JSON, and what is wrong, after the path or the object; how it is mended. */
static const struct {
    const char *name, *text, *repair;
} kinds[] = {[DOUBLED] = {"doubled", "has an object that has another name, too", "the name is removed"},
             [ORPHAN] = {"orphan", "an object without a name", "it is removed"},
             [NO_NAME] = {"entry", "an entry of a name that does not exist", "it is removed"},
             [NO_ENTRY] = {"unlisted", "no listing of its directory shows it", "its entry is added"},
             [INCOMPLETE] = {"incomplete", "has no object on a server, which may be a hole", NULL}};

typedef struct finding {
    kind_t kind;
    uint32_t server;
    uint64_t id, generation;
    int type;
    char *path; /* owned; "" of an orphan */
    int mended;
} finding_t;

typedef struct findings {
    finding_t *list;
    size_t count, capacity;
    int failed; /* 1: no memory */
} findings_t;

/* --- findings ----------------------------------------------------------------------------------------------------- */

static void finding_add(findings_t *findings, const finding_t *finding, const char *path)
{
    finding_t *more = themis_tools_array_room(findings->list, findings->count, &findings->capacity, sizeof *more);

    if (more)
        findings->list = more;
    char *copy = more ? strdup(path) : NULL;
    if (!copy) {
        findings->failed = 1;
        return;
    }
    findings->list[findings->count] = *finding;
    findings->list[findings->count++].path = copy;
}

static void findings_free(findings_t *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->list[i].path);
    free(findings->list);
    *findings = (findings_t){0};
}

static int is_same(const finding_t *a, const finding_t *b)
{
    return a->kind == b->kind && a->server == b->server && a->id == b->id && a->generation == b->generation &&
           strcmp(a->path, b->path) == 0;
}

/* Keeps of `later` what `earlier` has as well; both are in the order in which they were found. */
static void findings_keep(findings_t *later, const findings_t *earlier)
{
    size_t kept = 0, from = 0;

    for (size_t i = 0; i < later->count; i++) {
        size_t at = from;
        while (at < earlier->count && !is_same(&later->list[i], &earlier->list[at]))
            at++;
        if (at == earlier->count) {
            free(later->list[i].path);
            continue;
        }
        from = at + 1;
        later->list[kept++] = later->list[i];
    }
    later->count = kept;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static void names_compare(const themis_tools_check_scan_t *scan, findings_t *findings)
{
    for (size_t i = 0; i < scan->name_count; i++) {
        const themis_tools_check_name_t *name = &scan->names[i], *next = name + 1;
        const finding_t finding = {
            .server = name->server, .id = name->id, .generation = name->generation, .type = name->type};
        if (name->id && name->type == THEMIS_TYPE_FILE && i + 1 < scan->name_count && next->id == name->id &&
            next->type == THEMIS_TYPE_FILE) {
            finding_t doubled = finding;
            doubled.kind = DOUBLED;
            finding_add(findings, &doubled, name->path);
        }
        if (strcmp(name->path, "/") != 0 && !themis_tools_check_entry_at(scan, name->path)) {
            finding_t unlisted = finding;
            unlisted.kind = NO_ENTRY;
            finding_add(findings, &unlisted, name->path);
        }
    }
    for (size_t i = 0; i < scan->entry_count; i++)
        if (!themis_tools_check_name_at(scan, scan->entries[i].path)) {
            const finding_t finding = {.kind = NO_NAME, .server = scan->entries[i].server};
            finding_add(findings, &finding, scan->entries[i].path);
        }
}

/* The objects from `first` to `end` are those of the name: has each server one that has to, by what the others have? */
static void name_compare(const themis_tools_check_scan_t *scan, const themis_tools_check_name_t *name, size_t first,
                         size_t end, findings_t *findings)
{
    const themis_layout_t *layout = &name->layout;
    uint64_t stripes = 0;

    if (layout->stripe_size == 0 || layout->count == 0)
        return;
    for (size_t i = first; i < end; i++) {
        const themis_tools_check_object_t *object = &scan->objects[i];
        uint64_t index = (object->server + scan->servers - layout->first % scan->servers) % scan->servers;
        uint64_t last = object->end ? (object->end - 1) / layout->stripe_size * layout->count + index + 1 : 0;
        stripes = last > stripes ? last : stripes;
    }
    for (uint32_t index = 0; index < layout->count && index < stripes; index++) {
        uint32_t server = (layout->first + index) % scan->servers;
        size_t at = first;
        while (at < end && scan->objects[at].server != server)
            at++;
        const finding_t finding = {.kind = INCOMPLETE, .server = server, .id = name->id};
        if (at == end)
            finding_add(findings, &finding, name->path);
    }
}

/* `before`: ns since 1970; what was changed later may be of a file that is being removed or renamed. */
static void objects_compare(const themis_tools_check_scan_t *scan, uint64_t before, findings_t *findings)
{
    size_t end;

    for (size_t first = 0; first < scan->object_count; first = end) {
        const themis_tools_check_name_t *name = themis_tools_check_name_of(scan, scan->objects[first].id);
        for (end = first + 1; end < scan->object_count && scan->objects[end].id == scan->objects[first].id; end++)
            ;
        if (name) {
            name_compare(scan, name, first, end, findings);
            continue;
        }
        for (size_t i = first; i < end; i++) {
            const finding_t orphan = {.kind = ORPHAN, .server = scan->objects[i].server, .id = scan->objects[i].id};
            if (scan->objects[i].modified <= before)
                finding_add(findings, &orphan, "");
        }
    }
}

static int look(themis_t *session, uint64_t age_s, themis_tools_check_scan_t *scan, findings_t *findings)
{
    int result = themis_tools_check_scan(session, scan);

    if (result != THEMIS_TOOLS_OK)
        return result;
    names_compare(scan, findings);
    objects_compare(scan, themis_util_clock_wall() - age_s * THEMIS_NS_PER_S, findings);
    return findings->failed ? themis_tools_error("out of memory") : THEMIS_TOOLS_OK;
}

/* --- repair ------------------------------------------------------------------------------------------------------- */

/* Where the directory of a path has its home; UINT32_MAX: it has none. `directory` gets it, `path` has its name. */
static uint32_t directory_home(const themis_tools_check_scan_t *scan, const char *path, char *directory, size_t size)
{
    size_t length = (size_t)(strrchr(path, '/') - path);

    snprintf(directory, size, "%.*s", (int)(length ? length : 1), path);
    const themis_tools_check_name_t *name = themis_tools_check_name_at(scan, directory);
    if (name)
        return name->server;
    for (size_t i = 0; length == 0 && i < scan->entry_count; i++)
        if (strrchr(scan->entries[i].path, '/') == scan->entries[i].path)
            return scan->entries[i].server;
    return UINT32_MAX;
}

/* A server without any names may have lost them, and its files would be taken for objects without a name. */
static int maker_has_names(const themis_tools_check_scan_t *scan, uint64_t id)
{
    uint64_t maker = (id >> THEMIS_TOOLS_CHECK_SERVER_SHIFT) - 1;

    for (size_t i = 0; i < scan->name_count; i++)
        if (scan->names[i].server == maker)
            return 1;
    return 0;
}

/* Why what is found is not mended; NULL: it is. */
static const char *repair_obstacle(const themis_tools_check_scan_t *scan, const finding_t *finding, int force)
{
    /* a rename that is under way ends by itself, and may give its name back to an object */
    if ((finding->kind == DOUBLED || finding->kind == ORPHAN) && scan->open)
        return "is left while changes of names are not complete";
    if (finding->kind == ORPHAN && !force && !maker_has_names(scan, finding->id))
        return "is left, as the server that has made it has no names at all; --force removes it";
    return NULL;
}

/* What to ask which server; returns 0 if there is nothing. */
static int repair_make(const themis_tools_check_scan_t *scan, const finding_t *finding, char *question,
                       uint32_t *server)
{
    char directory[QUESTION_BYTES / 2];

    *server = finding->server;
    switch (finding->kind) {
    case DOUBLED:
        snprintf(question, QUESTION_BYTES, "unname %s %" PRIu64 " %" PRIu64, finding->path, finding->id,
                 finding->generation);
        return 1;
    case ORPHAN:
        snprintf(question, QUESTION_BYTES, "destroy %" PRIu64, finding->id);
        return 1;
    case NO_NAME:
        snprintf(question, QUESTION_BYTES, "unlist %s", finding->path);
        return 1;
    case NO_ENTRY:
        *server = directory_home(scan, finding->path, directory, sizeof directory);
        snprintf(question, QUESTION_BYTES, "list %s %s %d", directory, strrchr(finding->path, '/') + 1, finding->type);
        return *server != UINT32_MAX;
    default:
        return 0;
    }
}

static void finding_note(const finding_t *finding, const char *text)
{
    if (*finding->path)
        themis_tools_note("%s: %s", finding->path, text);
    else
        themis_tools_note("object %" PRIx64 ": %s", finding->id, text);
}

static void repair(themis_t *session, const themis_tools_check_scan_t *scan, findings_t *findings, int force)
{
    char question[QUESTION_BYTES], *text;
    uint32_t server;

    for (size_t i = 0; i < findings->count; i++) {
        finding_t *finding = &findings->list[i];
        const char *obstacle = repair_obstacle(scan, finding, force);
        if (obstacle)
            finding_note(finding, obstacle);
        if (obstacle || !repair_make(scan, finding, question, &server))
            continue;
        if (themis_check(session, server, question, &text) == THEMIS_OK) {
            finding->mended = 1;
            free(text);
        } else {
            finding_note(finding, themis_last_error());
        }
    }
}

/* --- showing ------------------------------------------------------------------------------------------------------ */

static void text_print(const themis_tools_check_scan_t *scan, const findings_t *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const finding_t *finding = &findings->list[i];
        const char *text = kinds[finding->kind].text;
        if (finding->kind == ORPHAN)
            printf("server %u, object %" PRIx64 ": %s", finding->server, finding->id, text);
        else if (finding->kind == INCOMPLETE)
            printf("%s: %s, number %u", finding->path, text, finding->server);
        else
            printf("%s: %s", finding->path, text);
        printf("%s%s\n", finding->mended ? ": " : "", finding->mended ? kinds[finding->kind].repair : "");
    }
    printf("%zu names, %zu objects on %u servers", scan->name_count, scan->object_count, scan->servers);
    if (scan->open)
        printf(", %" PRIu64 " changes that are not complete, of which %" PRIu64 " wait for a server", scan->open,
               scan->failing);
    printf("\n");
}

static void json_show(const themis_tools_check_scan_t *scan, const findings_t *findings)
{
    json_t *list = json_array();

    for (size_t i = 0; i < findings->count; i++) {
        const finding_t *finding = &findings->list[i];
        char object[32];
        snprintf(object, sizeof object, "%" PRIx64, finding->id);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:b}", "kind", kinds[finding->kind].name, "path",
                                              finding->path, "object", object, "server", (json_int_t)finding->server,
                                              "mended", finding->mended));
    }
    themis_tools_json_print(json_pack("{s:I, s:I, s:I, s:{s:I, s:I}, s:o}", "servers", (json_int_t)scan->servers,
                                      "names", (json_int_t)scan->name_count, "objects", (json_int_t)scan->object_count,
                                      "intents", "open", (json_int_t)scan->open, "failing", (json_int_t)scan->failing,
                                      "findings", list));
}

/* 1 if something is wrong that was not mended. */
static int is_wrong(const findings_t *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!findings->list[i].mended && findings->list[i].kind != INCOMPLETE)
            return 1;
    return 0;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

typedef struct arguments {
    int as_json, repair, force;
    uint64_t age_s;
} arguments_t;

static int check(themis_t *session, const arguments_t *given)
{
    themis_tools_check_scan_t scan;
    findings_t first = {0}, findings = {0};
    int result = look(session, given->age_s, &scan, &findings);

    for (int i = 0; result == THEMIS_TOOLS_OK && findings.count && i < 1 + given->repair; i++) {
        findings_free(&first);
        first = findings;
        findings = (findings_t){0};
        themis_tools_check_scan_free(&scan);
        sleep(SECOND_LOOK_S);
        result = look(session, given->age_s, &scan, &findings);
        findings_keep(&findings, &first);
    }
    if (result == THEMIS_TOOLS_OK && given->repair)
        repair(session, &scan, &findings, given->force);
    if (result == THEMIS_TOOLS_OK && given->as_json)
        json_show(&scan, &findings);
    else if (result == THEMIS_TOOLS_OK)
        text_print(&scan, &findings);
    if (result == THEMIS_TOOLS_OK && is_wrong(&findings))
        result = THEMIS_TOOLS_FAILED;
    findings_free(&first);
    findings_free(&findings);
    themis_tools_check_scan_free(&scan);
    return result;
}

static int run_check(int argc, char **argv)
{
    arguments_t given = {.age_s = DEFAULT_AGE_S};
    const char *servers = NULL, *age = NULL;
    const themis_tools_option_t options[] = {{0, "repair", &given.repair, NULL}, {0, "force", &given.force, NULL},
                                             {0, "json", &given.as_json, NULL},  {0, "age", NULL, &age},
                                             {'s', "servers", NULL, &servers},   {0}};
    themis_t *session;
    char *end;

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    if (age) {
        given.age_s = strtoull(age, &end, 10);
        if (*age < '0' || *age > '9' || *end || given.age_s > UINT32_MAX)
            return themis_tools_misuse("--age: expected seconds");
    }
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    return check(session, &given);
}

const themis_tools_command_t themis_tools_check = {
    "check",
    "[--repair [--force]] [--age SECONDS] [--json] [-s HOST:PORT,...]",
    "Compares the names and objects of all servers.",
    "  -s         the servers, instead of those that are configured\n"
    "  --repair   mends what is wrong\n"
    "  --force    removes objects without a name also where the server that has made them has no names at all\n"
    "  --age      of objects without a name, which count if they did not change for so long (600)\n"
    "  --json     as JSON\n",
    run_check,
    0};
