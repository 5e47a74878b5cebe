/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_NONFATAL_OOM 1
#include "server/history_sharing.h"
#include <stdlib.h>
#include <uthash.h>

enum { FIRST_SLOTS = 16, MOST_ACCESSES = 4096, MOST_HOSTS = 16384, MOST_FILES = 1024 };

typedef struct themis_server_history_file {
    uint64_t number;
    uint32_t processes;
    UT_hash_handle hh;
} file_t;

/* --- sets --------------------------------------------------------------------------------------------------------- */

/* Sebastiano Vigna's finaliser of splitmix64; never 0. */
static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    value ^= value >> 31;
    return value ? value : 1;
}

/* The value's place, or the free one where it belongs; there is one. */
static uint64_t *set_place(const themis_server_history_set_t *set, uint64_t value)
{
    uint32_t mask = set->capacity - 1, at = (uint32_t)value & mask;

    while (set->slot[at] != 0 && set->slot[at] != value)
        at = (at + 1) & mask;
    return &set->slot[at];
}

/* At least a quarter of the slots stays free. */
static int set_grow(themis_server_history_set_t *set)
{
    themis_server_history_set_t grown = {.capacity = set->capacity ? 2 * set->capacity : FIRST_SLOTS};

    if (set->capacity && 4 * (set->count + 1) <= 3 * set->capacity)
        return 1;
    grown.slot = calloc(grown.capacity, sizeof *grown.slot);
    if (!grown.slot)
        return 0;
    for (uint32_t i = 0; i < set->capacity; i++)
        if (set->slot[i] != 0)
            *set_place(&grown, set->slot[i]) = set->slot[i];
    grown.count = set->count;
    free(set->slot);
    *set = grown;
    return 1;
}

/* 1 if the value, which is not 0, is new and was added. */
static int set_add(themis_server_history_set_t *set, uint64_t value, uint32_t most)
{
    if (set->capacity && *set_place(set, value) == value)
        return 0;
    if (set->count >= most || !set_grow(set))
        return 0;
    *set_place(set, value) = value;
    set->count++;
    return 1;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */

void themis_server_history_sharing_release(themis_server_history_sharing_t *sharing)
{
    file_t *file, *next;

    HASH_ITER(hh, sharing->files, file, next)
    {
        HASH_DEL(sharing->files, file);
        free(file);
    }
    free(sharing->accesses.slot);
    free(sharing->hosts.slot);
    *sharing = (themis_server_history_sharing_t){0};
}

static file_t *file_get(themis_server_history_sharing_t *sharing, uint64_t number)
{
    file_t *file;

    HASH_FIND(hh, sharing->files, &number, sizeof number, file);
    if (file || HASH_COUNT(sharing->files) >= MOST_FILES || !(file = calloc(1, sizeof *file)))
        return file;
    file->number = number;
    HASH_ADD(hh, sharing->files, number, sizeof file->number, file);
    if (file->hh.tbl)
        return file;
    free(file);
    return NULL;
}

void themis_server_history_sharing_note(themis_server_history_sharing_t *sharing, uint64_t process, uint64_t host,
                                        uint64_t file)
{
    uint64_t who = mix(process);

    if (set_add(&sharing->accesses, who, MOST_ACCESSES))
        sharing->processes++;
    set_add(&sharing->hosts, mix(host), MOST_HOSTS);
    if (!set_add(&sharing->accesses, mix(who ^ mix(file)), MOST_ACCESSES))
        return;
    file_t *known = file_get(sharing, file);
    if (known)
        known->processes++;
}

uint32_t themis_server_history_sharing_files(const themis_server_history_sharing_t *sharing)
{
    return HASH_COUNT(sharing->files);
}

uint32_t themis_server_history_sharing_hosts(const themis_server_history_sharing_t *sharing)
{
    return sharing->hosts.count;
}

themis_history_sharing_t themis_server_history_sharing_kind(const themis_server_history_sharing_t *sharing)
{
    uint64_t all = 0, common = 0, own = 0;

    for (const file_t *file = sharing->files; file; file = file->hh.next) {
        all += file->processes;
        own += file->processes == 1;
        common += 2 * file->processes > sharing->processes ? file->processes : 0;
    }
    if (sharing->processes < 2)
        return sharing->processes ? THEMIS_HISTORY_SHARING_1_1 : THEMIS_HISTORY_SHARING_UNKNOWN;
    if (2 * common >= all)
        return THEMIS_HISTORY_SHARING_N_1;
    return 2 * own >= all ? THEMIS_HISTORY_SHARING_N_N : THEMIS_HISTORY_SHARING_N_M;
}
