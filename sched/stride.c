/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "stride": deterministic, by virtual time (start-time fair queueing). Each entry has a pass, which grows by
 * bytes/share; the smallest pass is next. The virtual time is the pass of the last pick. An entry that comes back after
 * a pause starts from the virtual time of one to two THEMIS_SCHED_GRACE ago, if its pass is smaller: it is compensated
 * for a short pause, but not for a long one.
 *
 * Phases: clients with one request at a time that are served exactly evenly end their requests together, and then leave
 * the device idle together. So where such a job finds the device idle, its pass is shifted by a random part of a
 * request, to between 0 and THEMIS_SCHED_PHASE quanta later than it would be; from then on its requests end at other
 * times than those of others. Where that does not help it is repeated at growing intervals.
 */
#include "sched/random.h"
#include "sched/state.h"
#include "util/clock.h"

typedef struct stride {
    double virtual_time;
    double recent, older; /* virtual time at the last two snapshots */
    uint64_t snapshot;    /* ns; of the last one */
} stride_t;

typedef struct account {
    double pass;            /* virtual time up to which the entry was served */
    double phase;           /* bytes by which it was shifted */
    uint64_t shifted, wait; /* ns; when the phase was last changed, and for how long it stays then */
} account_t;
_Static_assert(sizeof(account_t) <= THEMIS_SCHED_DRAW_BYTES, "account of an entry");

static account_t *account_of(themis_sched_entry_t *entry)
{
    return (account_t *)(void *)entry->draw;
}

static void stride_init(themis_sched_t *sched, uint64_t now)
{
    ((stride_t *)sched->state)->snapshot = now;
}

static void stride_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    *account_of(entry) = (account_t){.pass = ((stride_t *)sched->state)->virtual_time};
}

static void take_snapshot(stride_t *state, uint64_t now)
{
    if (now - state->snapshot < THEMIS_SCHED_GRACE)
        return;
    state->older = now - state->snapshot < 2 * THEMIS_SCHED_GRACE ? state->recent : state->virtual_time;
    state->recent = state->virtual_time;
    state->snapshot = now;
}

static void shift_phase(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    static const uint64_t first_wait = THEMIS_NS_PER_S / 4, max_wait = 2 * THEMIS_NS_PER_S;
    account_t *account = account_of(entry);
    uint64_t quantum = sched->options.quantum, max = THEMIS_SCHED_PHASE * quantum, total = entry->head->total;
    uint64_t slice_time = (uint64_t)((double)quantum / sched->rate) + 1;
    int lone = now - entry->last_concurrent >= THEMIS_NS_PER_S;

    /* An idle time below an eighth of a slice is how long replies take; a request of one slice is never shared. */
    if (!lone || sched->device_idle < slice_time / 8 || total <= quantum || now - account->shifted < account->wait)
        return;
    double phase = themis_sched_uniform(&sched->random) * (double)(total < max ? total : max);
    account->pass += (phase - account->phase) / entry->share;
    account->phase = phase;
    account->shifted = now;
    account->wait = account->wait == 0 ? first_wait : 2 * account->wait;
    if (account->wait > max_wait)
        account->wait = max_wait;
}

static void stride_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    stride_t *state = sched->state;
    account_t *account = account_of(entry);

    take_snapshot(state, now);
    shift_phase(sched, entry, now);
    if (account->pass < state->older)
        account->pass = state->older;
}

static void stride_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
    account_of(entry)->pass += bytes / entry->share;
}

/* Like an entry that comes back it starts from not long ago, and it is set back no more than a phase would do. */
static void stride_charge_moved(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes, uint64_t now)
{
    stride_t *state = sched->state;
    account_t *account = account_of(entry);

    take_snapshot(state, now);
    if (!themis_sched_entry_is_busy(entry) && account->pass < state->older)
        account->pass = state->older;
    double room =
        (double)(THEMIS_SCHED_PHASE * sched->options.quantum) - (account->pass - state->virtual_time) * entry->share;
    if (room > 0)
        stride_charge(sched, entry, bytes < room ? bytes : room);
}

static double stride_key(const themis_sched_entry_t *entry)
{
    return ((const account_t *)(const void *)entry->draw)->pass;
}

/* What an entry is ahead or behind counts in bytes, so its virtual length changes with the share. */
static void stride_reshare(themis_sched_t *sched, themis_sched_entry_t *entry, double old)
{
    double virtual_time = ((stride_t *)sched->state)->virtual_time;
    account_t *account = account_of(entry);

    if (old > 0 && entry->share > 0)
        account->pass = virtual_time + (account->pass - virtual_time) * (old / entry->share);
}

/* Moves the origin before doubles become coarse: at 2^50 they still tell quarters of a byte apart. */
static void rebase_passes(themis_sched_t *sched, stride_t *state)
{
    double origin = state->virtual_time;

    if (origin < 0x1p50)
        return;
    for (uint32_t i = 0; i < sched->count; i++) {
        account_of(sched->entries[i])->pass -= origin;
        if (themis_sched_heap_has(&sched->order, i))
            themis_sched_heap_set(&sched->order, i, stride_key(sched->entries[i]));
    }
    state->virtual_time = 0;
    state->recent -= origin;
    state->older -= origin;
}

static themis_sched_entry_t *stride_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    stride_t *state = sched->state;

    rebase_passes(sched, state);
    take_snapshot(state, now);
    if (sched->order.count == 0)
        return NULL;
    themis_sched_entry_t *next = sched->entries[themis_sched_heap_min(&sched->order)];
    if (account_of(next)->pass > state->virtual_time)
        state->virtual_time = account_of(next)->pass;
    return next;
}

const themis_sched_draw_ops_t themis_sched_draw_stride = {
    .state_bytes = sizeof(stride_t),
    .init = stride_init,
    .join = stride_join,
    .wake = stride_wake,
    .charge = stride_charge,
    .charge_moved = stride_charge_moved,
    .key = stride_key,
    .reshare = stride_reshare,
    .pick = stride_pick,
};
