/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/placement.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/min.h"

static const char separators[] = ", \t";

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* The next word from *at on, which is set to its end; its length, or 0 after the last one. */
static size_t word_next(const char **at, const char **word)
{
    *word = *at + strspn(*at, separators);
    size_t length = strcspn(*word, separators);

    *at = *word + length;
    return length;
}

static uint32_t words_count(const char *text)
{
    const char *word;
    uint32_t count = 0;

    while (word_next(&text, &word))
        count++;
    return count;
}

typedef struct name {
    const char *text;
    size_t length;
} name_t;

/* The number of a server, looked for from `from` on; `count`: none has that name. */
static uint32_t server_find(const name_t *server, uint32_t count, uint32_t from, const name_t *wanted)
{
    for (uint32_t k = 0; k < count; k++) {
        const name_t *found = &server[(from + k) % count];

        if (found->length == wanted->length && memcmp(found->text, wanted->text, wanted->length) == 0)
            return (from + k) % count;
    }
    return count;
}

/* Marks the servers that `text` names. */
static themis_status_t servers_mark(const char *text, const name_t *server, uint32_t count, uint8_t *marked,
                                    name_t *unknown)
{
    name_t wanted;
    uint32_t next = 0, named = 0;

    while ((wanted.length = word_next(&text, &wanted.text)) > 0) {
        uint32_t found = server_find(server, count, next, &wanted);

        named++;
        if (found == count && !unknown->text)
            *unknown = wanted;
        if (found == count)
            continue;
        marked[found] = 1;
        next = found + 1; /* most lists are in order */
    }
    return named == 0 ? THEMIS_CONFIG : unknown->text ? THEMIS_NO_ENTRY : THEMIS_OK;
}

/* Runs begin where the server before is not marked. */
static themis_status_t runs_find(const uint8_t *marked, uint32_t known, themis_client_placement_t *placement)
{
    uint32_t count = placement->servers;

    placement->run = calloc(known, sizeof *placement->run);
    if (!placement->run)
        return THEMIS_NO_MEMORY;
    if (known == count)
        placement->run[placement->runs++] = (themis_client_placement_run_t){0, count};
    for (uint32_t i = 0; known < count && i < count; i++) {
        if (!marked[i] || marked[(i + count - 1) % count])
            continue;
        themis_client_placement_run_t *run = &placement->run[placement->runs++];
        for (run->first = i; marked[(i + run->length) % count]; run->length++)
            ;
    }
    for (uint32_t i = 0; i < placement->runs; i++)
        if (placement->run[i].length > placement->longest)
            placement->longest = placement->run[i].length;
    return THEMIS_OK;
}

themis_status_t themis_client_placement_read(const char *text, const char *list, themis_client_placement_t *placement,
                                             uint32_t *known, char *unknown, size_t size)
{
    name_t missing = {NULL, 0};
    const char *at = list;

    *placement = (themis_client_placement_t){.servers = words_count(list)};
    *known = 0;
    name_t *server = calloc(placement->servers + 1, sizeof *server);
    uint8_t *marked = calloc(placement->servers + 1, 1);
    themis_status_t status = server && marked ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t i = 0; server && i < placement->servers; i++)
        server[i].length = word_next(&at, &server[i].text);
    if (status == THEMIS_OK)
        status = servers_mark(text, server, placement->servers, marked, &missing);
    for (uint32_t i = 0; marked && i < placement->servers; i++)
        *known += marked[i];
    if (status == THEMIS_OK)
        status = runs_find(marked, *known, placement);
    snprintf(unknown, size, "%.*s", (int)missing.length, missing.text ? missing.text : "");
    free(server);
    free(marked);
    if (status != THEMIS_OK)
        themis_client_placement_free(placement);
    return status;
}

void themis_client_placement_free(themis_client_placement_t *placement)
{
    free(placement->run);
    *placement = (themis_client_placement_t){0};
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

static int is_long_enough(const themis_client_placement_run_t *run, uint32_t wanted)
{
    return 2 * (uint64_t)run->length >= wanted;
}

/* A run is covered by blocks of `count` servers, which overlap as little as they can; where the block of a place
 * begins.
 */
static uint32_t block_begin(uint32_t length, uint32_t count, uint32_t place)
{
    uint64_t blocks = (length + count - 1) / count;

    return blocks == 1 ? 0 : (uint32_t)(place * blocks / length * (length - count) / (blocks - 1));
}

void themis_client_placement_choose(const themis_client_placement_t *placement, uint64_t hash, uint32_t usual,
                                    themis_proto_layout_t *layout)
{
    uint32_t wanted = layout->count ? layout->count : usual;
    uint64_t places = 0;

    wanted = wanted ? (uint32_t)themis_util_min(wanted, placement->longest) : placement->longest;
    for (uint32_t i = 0; i < placement->runs; i++)
        places += is_long_enough(&placement->run[i], wanted) ? placement->run[i].length : 0;
    uint64_t place = hash % places;
    for (uint32_t i = 0; i < placement->runs; i++) {
        const themis_client_placement_run_t *run = &placement->run[i];

        if (!is_long_enough(run, wanted))
            continue;
        if (place >= run->length) {
            place -= run->length;
            continue;
        }
        layout->count = (uint32_t)themis_util_min(wanted, run->length);
        uint32_t begin = run->length == placement->servers ? (uint32_t)place
                                                           : block_begin(run->length, layout->count, (uint32_t)place);
        layout->first = (uint32_t)(((uint64_t)run->first + begin) % placement->servers);
        return;
    }
}
