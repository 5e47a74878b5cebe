/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/check_compare.h"
#include <stdlib.h>
#include <string.h>
#include "tools/array.h"
#include "util/clock.h"

typedef themis_tools_check_scan_t scan_t;
typedef themis_tools_check_name_t name_t;
typedef themis_tools_check_object_t object_t;
typedef themis_tools_check_finding_t finding_t;
typedef themis_tools_check_findings_t findings_t;

/* Ids begin there, as microseconds since 1970. They may be ahead of their server's clock by a second
 * (server/name_db.c), and servers are not asked at the same time. */
#define ID_EPOCH_US (UINT64_C(1577836800) * 1000000)
#define SLACK_US UINT64_C(2000000)

/* --- findings ----------------------------------------------------------------------------------------------------- */

static themis_status_t finding_add(findings_t *findings, const finding_t *finding, const char *path)
{
    finding_t *more = themis_tools_array_room(findings->list, findings->count, &findings->capacity, sizeof *more);

    if (!more)
        return THEMIS_NO_MEMORY;
    findings->list = more;
    findings->list[findings->count] = *finding;
    if (!(findings->list[findings->count].path = strdup(path)))
        return THEMIS_NO_MEMORY;
    findings->count++;
    return THEMIS_OK;
}

void themis_tools_check_findings_free(findings_t *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->list[i].path);
    free(findings->list);
    *findings = (findings_t){0};
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
    const finding_t *one = a, *other = b;
    int result = order(one->kind, other->kind);

    if (result == 0)
        result = strcmp(one->path, other->path);
    if (result == 0)
        result = order(one->id, other->id);
    if (result == 0)
        result = order(one->server, other->server);
    if (result == 0)
        result = order(one->generation, other->generation);
    return result ? result : order(one->modified, other->modified);
}

void themis_tools_check_findings_keep(findings_t *later, const findings_t *earlier)
{
    size_t kept = 0, at = 0;

    for (size_t i = 0; i < later->count; i++) {
        while (at < earlier->count && by_place(&earlier->list[at], &later->list[i]) < 0)
            at++;
        if (at < earlier->count && by_place(&earlier->list[at], &later->list[i]) == 0)
            later->list[kept++] = later->list[i];
        else
            free(later->list[i].path);
    }
    later->count = kept;
}

/* --- names and entries -------------------------------------------------------------------------------------------- */

/* Has the object a name that stays, further on? */
static int is_doubled(const scan_t *scan, const name_t *name)
{
    const name_t *next = name + 1;

    return name->type == THEMIS_TYPE_FILE && name < scan->names + scan->name_count - 1 && next->id == name->id &&
           next->type == THEMIS_TYPE_FILE && !themis_tools_check_scan_has_moved(scan, name->id);
}

static themis_status_t name_compare(const scan_t *scan, const name_t *name, findings_t *findings)
{
    const themis_tools_check_entry_t *entry = themis_tools_check_scan_entry(scan, name->path);
    finding_t finding = {.server = name->server, .id = name->id, .generation = name->generation, .type = name->type};

    if (name->is_misplaced)
        finding.kind = THEMIS_TOOLS_CHECK_MISPLACED;
    else if (is_doubled(scan, name)) /* it goes, and so does its entry */
        finding.kind = THEMIS_TOOLS_CHECK_DOUBLED;
    else if (strcmp(name->path, "/") == 0 || (entry && entry->type == name->type))
        return THEMIS_OK;
    else
        finding.kind = entry ? THEMIS_TOOLS_CHECK_WRONG_TYPE : THEMIS_TOOLS_CHECK_NO_ENTRY;
    return finding_add(findings, &finding, name->path);
}

static themis_status_t names_compare(const scan_t *scan, findings_t *findings)
{
    themis_status_t status = THEMIS_OK;

    for (size_t i = 0; i < scan->name_count && status == THEMIS_OK; i++)
        status = name_compare(scan, &scan->names[i], findings);
    for (size_t i = 0; i < scan->entry_count && status == THEMIS_OK; i++) {
        const themis_tools_check_entry_t *entry = &scan->entries[i];
        const finding_t finding = {.kind =
                                       entry->is_misplaced ? THEMIS_TOOLS_CHECK_MISPLACED : THEMIS_TOOLS_CHECK_NO_NAME,
                                   .server = entry->server};
        if (entry->is_misplaced || !themis_tools_check_scan_name(scan, entry->path))
            status = finding_add(findings, &finding, entry->path);
    }
    return status;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

/* Which of the file's servers that one is, from 0 on; from layout->count on: none. */
static uint32_t layout_index(const scan_t *scan, const themis_layout_t *layout, uint32_t server)
{
    return (server + scan->servers - layout->first) % scan->servers;
}

/* An object of which `names` are the file's: do any of these lead to it? */
static int is_reached(const scan_t *scan, const name_t *names, size_t count, const object_t *object)
{
    for (size_t i = 0; i < count; i++)
        if (layout_index(scan, &names[i].layout, object->server) < names[i].layout.count)
            return 1;
    return 0;
}

static int by_server(const void *a, const void *b)
{
    return order(((const object_t *)a)->server, ((const object_t *)b)->server);
}

/* Has each server one of the `count` objects of a name that has to, by what the others have? */
static themis_status_t file_compare(const scan_t *scan, const name_t *name, const object_t *objects, size_t count,
                                    findings_t *findings)
{
    const themis_layout_t *layout = &name->layout;
    themis_status_t status = THEMIS_OK;
    uint64_t stripes = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t index = layout_index(scan, layout, objects[i].server);
        uint64_t last = objects[i].end ? (objects[i].end - 1) / layout->stripe_size * layout->count + index + 1 : 0;
        if (index < layout->count && last > stripes)
            stripes = last;
    }
    for (uint32_t index = 0; index < layout->count && index < stripes && status == THEMIS_OK; index++) {
        uint32_t server = (layout->first + index) % scan->servers;
        const finding_t finding = {.kind = THEMIS_TOOLS_CHECK_INCOMPLETE, .server = server, .id = name->id};
        if (!bsearch(&(object_t){.server = server}, objects, count, sizeof *objects, by_server))
            status = finding_add(findings, &finding, name->path);
    }
    return status;
}

/* The objects of one id. */
static themis_status_t objects_compare(const scan_t *scan, const object_t *objects, size_t count, uint64_t age,
                                       findings_t *findings)
{
    size_t name_count;
    const name_t *names = themis_tools_check_scan_names_of(scan, objects->id, &name_count);
    themis_status_t status = names ? file_compare(scan, names, objects, count, findings) : THEMIS_OK;

    for (size_t i = 0; i < count && status == THEMIS_OK; i++) {
        uint64_t now = scan->server[objects[i].server].clock;
        const finding_t orphan = {.kind = THEMIS_TOOLS_CHECK_ORPHAN,
                                  .server = objects[i].server,
                                  .id = objects[i].id,
                                  .modified = objects[i].modified};
        if (!is_reached(scan, names, name_count, &objects[i]) && now >= age && objects[i].modified <= now - age &&
            !themis_tools_check_scan_has_moved(scan, objects[i].id))
            status = finding_add(findings, &orphan, "");
    }
    return status;
}

themis_status_t themis_tools_check_compare(const scan_t *scan, uint64_t age, findings_t *findings)
{
    themis_status_t status = names_compare(scan, findings);

    for (size_t first = 0, end; first < scan->object_count && status == THEMIS_OK; first = end) {
        for (end = first + 1; end < scan->object_count && scan->objects[end].id == scan->objects[first].id; end++)
            ;
        status = objects_compare(scan, &scan->objects[first], end - first, age, findings);
    }
    if (findings->count)
        qsort(findings->list, findings->count, sizeof *findings->list, by_place);
    return status;
}

/* --- what may be mended ------------------------------------------------------------------------------------------- */

/* How long ago that was by the server's clock, in us; 0: it is yet to come. */
static uint64_t ago(const themis_tools_check_server_t *server, uint64_t id)
{
    uint64_t made = id & ((UINT64_C(1) << THEMIS_TOOLS_CHECK_SERVER_SHIFT) - 1);
    uint64_t now = server->clock / THEMIS_NS_PER_US;

    return now > ID_EPOCH_US + made ? now - ID_EPOCH_US - made : 0;
}

/* May a server have had the object's name, and have lost it? One that has names only since after the object was made;
 * any, where nobody knows when that was. */
static int may_be_lost(const scan_t *scan, uint64_t id)
{
    uint64_t maker = (id >> THEMIS_TOOLS_CHECK_SERVER_SHIFT) - 1;

    if (maker >= scan->servers || ago(&scan->server[maker], id) == 0)
        return 1;
    for (uint32_t i = 0; i < scan->servers; i++)
        if (scan->server[i].first_id &&
            ago(&scan->server[maker], id) + SLACK_US >= ago(&scan->server[i], scan->server[i].first_id))
            return 1;
    return 0;
}

const char *themis_tools_check_obstacle(const scan_t *scan, const finding_t *finding, int force, int *unsettled)
{
    int is_of_object = finding->kind == THEMIS_TOOLS_CHECK_ORPHAN || finding->kind == THEMIS_TOOLS_CHECK_DOUBLED;

    *unsettled = 1;
    if (scan->restarted)
        return "is left, as a server was started again meanwhile";
    if (is_of_object && scan->moves_unknown)
        return "is left, as too many names have changed meanwhile";
    if (is_of_object && themis_tools_check_scan_has_moved(scan, finding->id))
        return "is left, as its names are changing";
    *unsettled = 0;
    if (finding->kind == THEMIS_TOOLS_CHECK_ORPHAN && !force && may_be_lost(scan, finding->id))
        return "is left, as a server may have lost its name; --force removes it";
    if (finding->kind == THEMIS_TOOLS_CHECK_MISPLACED)
        return "is left: nobody can reach it, and what it was is not known";
    return NULL;
}
