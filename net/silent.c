/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/silent.h"
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 1024 };

void themis_net_silents_init(themis_net_silents_t *silents, themis_net_silent_t *sockets, unsigned count,
                             unsigned max_of_one)
{
    *silents = (themis_net_silents_t){sockets, count, max_of_one};
    for (unsigned i = 0; i < count; i++)
        sockets[i] = (themis_net_silent_t){.fd = -1};
}

void themis_net_silent_drop(themis_net_silent_t *silent)
{
    if (silent->fd >= 0)
        close(silent->fd);
    silent->fd = -1;
    silent->held = 0;
}

void themis_net_silents_close(themis_net_silents_t *silents)
{
    for (unsigned i = 0; i < silents->count; i++)
        themis_net_silent_drop(&silents->sockets[i]);
}

static unsigned bucket_of(uint64_t who)
{
    return (unsigned)((who * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}

/* One who has about the most. */
static uint64_t busiest(const themis_net_silents_t *silents)
{
    unsigned short counts[BUCKETS] = {0};
    uint64_t found = 0;
    unsigned max = 0;

    for (unsigned i = 0; i < silents->count; i++) {
        uint64_t who = silents->sockets[i].who;
        if (silents->sockets[i].fd < 0 || ++counts[bucket_of(who)] <= max)
            continue;
        max = counts[bucket_of(who)];
        found = who;
    }
    return found;
}

/* The oldest one of `who`, or -1; sets how many there are. */
static int oldest_of(const themis_net_silents_t *silents, uint64_t who, unsigned *count)
{
    int found = -1;

    *count = 0;
    for (unsigned i = 0; i < silents->count; i++) {
        const themis_net_silent_t *silent = &silents->sockets[i];
        if (silent->fd < 0 || silent->who != who)
            continue;
        ++*count;
        if (!silent->held && (found < 0 || silent->since < silents->sockets[found].since))
            found = (int)i;
    }
    return found;
}

int themis_net_silents_place(themis_net_silents_t *silents, uint64_t who)
{
    unsigned count;
    int oldest = oldest_of(silents, who, &count);

    for (unsigned i = 0; i < silents->count && count < silents->max_of_one; i++)
        if (silents->sockets[i].fd < 0)
            return (int)i;
    if (count < silents->max_of_one)
        oldest = oldest_of(silents, busiest(silents), &count);
    if (oldest >= 0)
        themis_net_silent_drop(&silents->sockets[oldest]);
    return oldest;
}

unsigned themis_net_silents_expire(themis_net_silents_t *silents, uint64_t before)
{
    unsigned left = 0;

    for (unsigned i = 0; i < silents->count; i++) {
        themis_net_silent_t *silent = &silents->sockets[i];
        if (silent->since < before && !silent->held)
            themis_net_silent_drop(silent);
        left += silent->fd >= 0;
    }
    return left;
}
