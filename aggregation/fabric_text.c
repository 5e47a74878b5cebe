/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form of a fabric, as ibsim reads and ibnetdiscover writes it: records of
 *     caguid=0x... or switchguid=0x...
 *     Hca|Ca|Switch PORTS "NAME" [# "DESCRIPTION"]
 *     [PORT] "PEER"[PEERPORT] ...
 * Every cable is in the records of both its ends, so each line adds half a link.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include <uthash.h>

#include "aggregation/fabric.h"
#include "aggregation/fabric_text.h"
#include "util/log.h"

typedef struct named {
    char name[64];
    uint32_t vertex;
    UT_hash_handle hh;
} named_t;

typedef struct reader {
    themis_aggregation_draft_t draft;
    named_t *names;
    uint32_t current; /* vertex of the record being read */
    bool in_record;
    uint64_t guid;
} reader_t;

/* The vertex of a name, added when the name appears for the first time. */
static themis_status_t vertex_by_name(reader_t *r, const char *name, uint32_t *vertex)
{
    themis_aggregation_vertex_t fresh = {0};
    named_t *found;

    HASH_FIND_STR(r->names, name, found);
    if (!found) {
        found = calloc(1, sizeof *found);
        if (!found)
            return THEMIS_NO_MEMORY;
        snprintf(fresh.name, sizeof fresh.name, "%s", name);
        snprintf(found->name, sizeof found->name, "%s", name);
        found->vertex = r->draft.vertices;
        HASH_ADD_STR(r->names, name, found);
        if (!found->hh.tbl) {
            free(found);
            return THEMIS_NO_MEMORY;
        }
        if (themis_aggregation_draft_vertex(&r->draft, &fresh) != THEMIS_OK)
            return THEMIS_NO_MEMORY;
    }
    *vertex = found->vertex;
    return THEMIS_OK;
}

/* ibnetdiscover names nodes by GUID and gives the description as a comment. */
static void description_read(themis_aggregation_vertex_t *vertex, const char *line)
{
    char description[64];
    const char *comment = strchr(line, '#');

    if (comment && sscanf(comment, "# \"%63[^\"]\"", description) == 1)
        snprintf(vertex->name, sizeof vertex->name, "%s", description);
}

static themis_status_t record_read(reader_t *r, bool is_switch, const char *name, const char *line)
{
    themis_status_t status = vertex_by_name(r, name, &r->current);

    if (status != THEMIS_OK)
        return status;
    description_read(&r->draft.vertex[r->current], line);
    r->draft.vertex[r->current].is_switch = is_switch;
    r->draft.vertex[r->current].guid = r->guid;
    r->in_record = true;
    r->guid = 0;
    return THEMIS_OK;
}

static themis_status_t port_read(reader_t *r, const char *name)
{
    uint32_t peer;
    themis_status_t status = r->in_record ? vertex_by_name(r, name, &peer) : THEMIS_PARSE;

    if (status != THEMIS_OK || peer == r->current)
        return status;
    return themis_aggregation_draft_link(&r->draft, r->current, peer);
}

static themis_status_t line_read(reader_t *r, const char *line)
{
    char name[64], word[16];
    unsigned long long guid;

    line += strspn(line, " \t\r\n");
    if (*line == '\0' || *line == '#')
        return THEMIS_OK;
    if (sscanf(line, "caguid=%llx", &guid) == 1 || sscanf(line, "switchguid=%llx", &guid) == 1) {
        r->guid = guid;
        r->in_record = false;
        return THEMIS_OK;
    }
    if (line[0] == '[' && sscanf(line, "[%*u]%*[^\"]\"%63[^\"]\"", name) == 1)
        return port_read(r, name);
    if (sscanf(line, "%15[A-Za-z] %*u \"%63[^\"]\"", word, name) == 2) {
        if (strcmp(word, "Switch") == 0 || strcmp(word, "Hca") == 0 || strcmp(word, "Ca") == 0)
            return record_read(r, word[0] == 'S', name, line);
    }
    /* other keys of a record: vendid=0x2c9 and the like */
    return sscanf(line, "%15[a-z]=", word) == 1 && strchr(line, '=') ? THEMIS_OK : THEMIS_PARSE;
}

static void names_free(named_t *names)
{
    named_t *name, *next;

    HASH_ITER(hh, names, name, next)
    {
        HASH_DEL(names, name);
        free(name);
    }
}

themis_status_t themis_aggregation_fabric_text_load(const char *path, themis_aggregation_fabric_t **fabric)
{
    reader_t r = {0};
    char line[1024];
    int number = 0;
    FILE *file = fopen(path, "r");
    themis_status_t status = THEMIS_OK;

    if (!file)
        return THEMIS_NO_ENTRY;
    while (status == THEMIS_OK && fgets(line, sizeof line, file)) {
        number++;
        status = line_read(&r, line);
    }
    fclose(file);
    if (status == THEMIS_OK && r.draft.vertices == 0)
        status = THEMIS_PARSE;
    if (status == THEMIS_PARSE)
        themis_error("%s:%d: not a fabric in the text form of ibnetdiscover", path, number);
    names_free(r.names);
    status = themis_aggregation_draft_finish(&r.draft, status, fabric);
    for (uint32_t i = 0; status == THEMIS_OK && i < (*fabric)->links; i++)
        (*fabric)->link[i].width = ((*fabric)->link[i].width + 1) / 2; /* both ends of a cable gave half of it */
    return status;
}
