/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: 'I' number (8 bytes, big-endian, so that they are in order) -> intent_record.h.
 *
 * Each intent waits in a queue, until the settler takes it and gives it back to another one. All of a queue wait
 * equally long, so the first one is due first. Tables find intents by generations of names.
 */
#define _GNU_SOURCE
#include "server/intents.h"
#include <endian.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>
#include "util/clock.h"
#include "util/log.h"

enum { KEY_BYTES = 9, CHAIN_BITS = 16, ERASE_AT_ONCE = 1024, MAX_DOUBLINGS = 5, QUICK_WAITS = 6 };
/* FAILED and those after it: after one, two, ... tries that failed. */
enum {
    QUEUE_NOW,
    QUEUE_FIRST,
    QUEUE_BUSY,
    QUEUE_FAILED,
    QUEUES = QUEUE_FAILED + MAX_DOUBLINGS + 1,
    QUEUE_TAKEN = QUEUES
};
#define FIRST_TRY THEMIS_NS_PER_S
#define WARN_INTERVAL (60 * THEMIS_NS_PER_S)
#define MAX_BYTES (UINT64_C(512) << 20)

struct themis_server_intents {
    themis_server_name_db_t *db;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    int stop;
    uint64_t sleeps_until; /* ns; the settler */
    uint64_t next_number;
    uint64_t open, failing, bytes, limit, warn_again;
    themis_server_intent_entry_t *queues[QUEUES + 1];
    themis_server_intent_entry_t *chains[THEMIS_SERVER_INTENT_INDEXES][1 << CHAIN_BITS];
};

/* --- the lists; with the lock ------------------------------------------------------------------------------------- */

/* 0: it is not in that index. */
static uint64_t generation_of(const themis_server_intent_entry_t *entry, int index)
{
    const themis_server_intent_t *intent = &entry->intent;

    if (index == THEMIS_SERVER_INTENT_BY_ENDED)
        return intent->ended;
    return intent->kind == THEMIS_SERVER_INTENT_RENAME ? intent->rename : 0;
}

static themis_server_intent_entry_t **chain_of(themis_server_intents_t *intents, int index, uint64_t generation)
{
    return &intents->chains[index][(generation * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - CHAIN_BITS)];
}

/* The next one of that generation, from `at` on, or NULL. */
static themis_server_intent_entry_t *chain_find(themis_server_intent_entry_t *at, int index, uint64_t generation)
{
    while (at && generation_of(at, index) != generation)
        at = at->chains[index];
    return at;
}

static void indexes_add(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    for (int index = 0; index < THEMIS_SERVER_INTENT_INDEXES; index++) {
        themis_server_intent_entry_t **chain = chain_of(intents, index, generation_of(entry, index));
        if (!generation_of(entry, index))
            continue;
        entry->chains[index] = *chain;
        *chain = entry;
    }
}

static void indexes_remove(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    for (int index = 0; index < THEMIS_SERVER_INTENT_INDEXES; index++) {
        themis_server_intent_entry_t **at = chain_of(intents, index, generation_of(entry, index));
        if (!generation_of(entry, index))
            continue;
        while (*at != entry)
            at = &(*at)->chains[index];
        *at = entry->chains[index];
    }
}

/* ns that those of a queue wait. */
static uint64_t queue_wait(int queue)
{
    return queue == QUEUE_NOW     ? 0
           : queue == QUEUE_FIRST ? FIRST_TRY
           : queue == QUEUE_BUSY  ? 2 * FIRST_TRY
                                  : FIRST_TRY << (queue - QUEUE_FAILED);
}

static void queue_enter(themis_server_intents_t *intents, themis_server_intent_entry_t *entry, int queue)
{
    entry->queue = queue;
    DL_APPEND(intents->queues[queue], entry);
    if (queue == QUEUE_TAKEN)
        return;
    entry->due = themis_util_clock_now() + queue_wait(queue);
    if (entry->due < intents->sleeps_until)
        pthread_cond_signal(&intents->changed);
}

static void queue_leave(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    DL_DELETE(intents->queues[entry->queue], entry);
}

static uint64_t entry_bytes(const themis_server_intent_entry_t *entry)
{
    return sizeof *entry + entry->length;
}

static void entry_add(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    intents->open++;
    intents->bytes += entry_bytes(entry);
    indexes_add(intents, entry);
    queue_enter(intents, entry, QUEUE_FIRST);
}

static void entry_free(themis_server_intent_entry_t *entry)
{
    free(entry->bytes);
    free(entry);
}

/* Takes it out of the tables and its queue, and frees it. */
static void entry_remove(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    intents->open--;
    intents->failing -= entry->tries > 0;
    intents->bytes -= entry_bytes(entry);
    indexes_remove(intents, entry);
    queue_leave(intents, entry);
    entry_free(entry);
}

/* --- making ------------------------------------------------------------------------------------------------------- */

/* An entry with room for a record of `length` bytes. */
static themis_server_intent_entry_t *entry_make(uint64_t number, size_t length)
{
    themis_server_intent_entry_t *entry = calloc(1, sizeof *entry);
    uint64_t word = htobe64(number);

    if (!entry || !(entry->bytes = malloc(length))) {
        free(entry);
        return NULL;
    }
    entry->length = length;
    entry->key[0] = THEMIS_SERVER_NAME_DB_INTENT;
    memcpy(entry->key + 1, &word, sizeof word);
    entry->record = (themis_server_name_db_record_t){
        .key = entry->key, .key_length = KEY_BYTES, .value = entry->bytes, .value_length = length};
    return entry;
}

static themis_status_t record_load(void *arg, const themis_server_name_db_record_t *record)
{
    themis_server_intents_t *intents = arg;
    themis_server_intent_entry_t *entry;
    uint64_t word;

    if (record->key_length != KEY_BYTES)
        return THEMIS_CORRUPT;
    memcpy(&word, (const uint8_t *)record->key + 1, sizeof word);
    if (record->value_length == 0 || !(entry = entry_make(be64toh(word), record->value_length)))
        return record->value_length ? THEMIS_NO_MEMORY : THEMIS_CORRUPT;
    memcpy(entry->bytes, record->value, record->value_length);
    themis_status_t status = themis_server_intent_record_unpack(entry->bytes, entry->length, &entry->intent);
    if (status != THEMIS_OK) {
        entry_free(entry);
        return status;
    }
    intents->next_number = be64toh(word) + 1;
    entry_add(intents, entry);
    return THEMIS_OK;
}

themis_status_t themis_server_intents_create(themis_server_name_db_t *db, themis_server_intents_t **intents)
{
    static const char prefix = THEMIS_SERVER_NAME_DB_INTENT;
    themis_server_intents_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->db = db;
    made->next_number = 1;
    made->limit = MAX_BYTES;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    themis_status_t status = themis_server_name_db_scan(db, &prefix, 1, record_load, made);
    if (status != THEMIS_OK) {
        themis_error("what the last server process has left to do for names cannot be read: %s",
                     themis_status_string(status));
        themis_server_intents_destroy(made);
        return status;
    }
    *intents = made;
    return THEMIS_OK;
}

void themis_server_intents_destroy(themis_server_intents_t *intents)
{
    if (!intents)
        return;
    for (int queue = 0; queue <= QUEUES; queue++)
        while (intents->queues[queue])
            entry_remove(intents, intents->queues[queue]);
    pthread_cond_destroy(&intents->changed);
    pthread_mutex_destroy(&intents->lock);
    free(intents);
}

themis_status_t themis_server_intents_begin(themis_server_intents_t *intents, const themis_server_intent_t *intent,
                                            themis_server_intent_entry_t **entry)
{
    size_t length = themis_server_intent_record_bytes(intent);

    pthread_mutex_lock(&intents->lock);
    uint64_t number = intents->next_number++;
    pthread_mutex_unlock(&intents->lock);
    themis_server_intent_entry_t *made = entry_make(number, length);
    if (!made)
        return THEMIS_NO_MEMORY;
    themis_server_intent_record_pack(intent, made->bytes);
    themis_status_t status = themis_server_intent_record_unpack(made->bytes, length, &made->intent);
    if (status == THEMIS_OK)
        *entry = made;
    else
        entry_free(made);
    return status;
}

void themis_server_intents_end(themis_server_intents_t *intents, themis_server_intent_entry_t *entry,
                               themis_status_t status)
{
    if (!entry)
        return;
    entry->record.next = NULL;
    entry->is_doubtful = status != THEMIS_OK;
    pthread_mutex_lock(&intents->lock);
    int is_too_many = entry->is_doubtful && intents->bytes >= intents->limit;
    if (!is_too_many)
        entry_add(intents, entry);
    pthread_mutex_unlock(&intents->lock);
    if (is_too_many)
        entry_free(entry);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_intents_room(themis_server_intents_t *intents)
{
    uint64_t now = themis_util_clock_now();

    pthread_mutex_lock(&intents->lock);
    int is_full = intents->bytes >= intents->limit, warns = is_full && now >= intents->warn_again;
    if (warns)
        intents->warn_again = now + WARN_INTERVAL;
    uint64_t open = intents->open;
    pthread_mutex_unlock(&intents->lock);
    if (warns)
        themis_warn("%" PRIu64 " changes of names wait for other servers: no more names are removed or renamed", open);
    return is_full ? THEMIS_QUOTA : THEMIS_OK;
}

void themis_server_intents_set_limit(themis_server_intents_t *intents, uint64_t bytes)
{
    pthread_mutex_lock(&intents->lock);
    intents->limit = bytes;
    pthread_mutex_unlock(&intents->lock);
}

/* The first one of that generation, or NULL. */
static themis_server_intent_entry_t *index_find(themis_server_intents_t *intents, int index, uint64_t generation)
{
    return generation ? chain_find(*chain_of(intents, index, generation), index, generation) : NULL;
}

themis_status_t themis_server_intents_how_ended(themis_server_intents_t *intents, uint64_t generation, uint64_t rename)
{
    const int index = THEMIS_SERVER_INTENT_BY_ENDED;

    pthread_mutex_lock(&intents->lock);
    const themis_server_intent_entry_t *at = index_find(intents, index, generation);
    /* in old databases two names of one object may have the same */
    while (at && (at->intent.kind != THEMIS_SERVER_INTENT_REMOVAL || at->intent.rename != rename))
        at = chain_find(at->chains[index], index, generation);
    themis_status_t status = !at ? THEMIS_NO_ENTRY : at->is_doubtful ? THEMIS_BUSY : THEMIS_OK;
    pthread_mutex_unlock(&intents->lock);
    return status;
}

/* May it be tried at once, though its time has not come? */
static int may_hasten(const themis_server_intent_entry_t *entry)
{
    return entry->queue != QUEUE_NOW && entry->queue != QUEUE_TAKEN &&
           (entry->tried == 0 || themis_util_clock_now() >= entry->tried + FIRST_TRY);
}

themis_status_t themis_server_intents_hasten(themis_server_intents_t *intents, uint64_t generation)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&intents->lock);
    themis_server_intent_entry_t *found = index_find(intents, THEMIS_SERVER_INTENT_BY_RENAME, generation);
    if (found && !found->intent.old_is_gone)
        status = THEMIS_BUSY;
    if (status == THEMIS_BUSY && may_hasten(found)) {
        queue_leave(intents, found);
        queue_enter(intents, found, QUEUE_NOW);
    }
    pthread_mutex_unlock(&intents->lock);
    return status;
}

themis_status_t themis_server_intents_rename_settled(themis_server_intents_t *intents, uint64_t rename)
{
    pthread_mutex_lock(&intents->lock);
    int is_known = index_find(intents, THEMIS_SERVER_INTENT_BY_RENAME, rename) != NULL;
    pthread_mutex_unlock(&intents->lock);
    return is_known ? THEMIS_BUSY : THEMIS_OK;
}

void themis_server_intents_count(themis_server_intents_t *intents, uint64_t *open, uint64_t *failing)
{
    pthread_mutex_lock(&intents->lock);
    *open = intents->open;
    *failing = intents->failing;
    pthread_mutex_unlock(&intents->lock);
}

/* --- settling ----------------------------------------------------------------------------------------------------- */

/* When the first one is due, ns; UINT64_MAX: never. */
static uint64_t next_due(const themis_server_intents_t *intents)
{
    uint64_t due = UINT64_MAX;

    for (int queue = 0; queue < QUEUES; queue++)
        if (intents->queues[queue] && intents->queues[queue]->due < due)
            due = intents->queues[queue]->due;
    return due;
}

int themis_server_intents_wait(themis_server_intents_t *intents)
{
    pthread_mutex_lock(&intents->lock);
    while (!intents->stop) {
        uint64_t due = next_due(intents), now = themis_util_clock_now();
        intents->sleeps_until = due > now ? due : 0;
        if (due <= now)
            break;
        struct timespec until = {.tv_sec = (time_t)(due / THEMIS_NS_PER_S), .tv_nsec = (long)(due % THEMIS_NS_PER_S)};
        if (due == UINT64_MAX)
            pthread_cond_wait(&intents->changed, &intents->lock);
        else
            pthread_cond_clockwait(&intents->changed, &intents->lock, CLOCK_MONOTONIC, &until);
    }
    int stop = intents->stop;
    pthread_mutex_unlock(&intents->lock);
    return !stop;
}

void themis_server_intents_stop(themis_server_intents_t *intents)
{
    pthread_mutex_lock(&intents->lock);
    intents->stop = 1;
    pthread_cond_signal(&intents->changed);
    pthread_mutex_unlock(&intents->lock);
}

/* Takes those of a queue that are due, until there are `count`. */
static size_t queue_take(themis_server_intents_t *intents, int queue, uint64_t now,
                         themis_server_intent_entry_t **entries, size_t taken, size_t count)
{
    themis_server_intent_entry_t *entry;

    while (taken < count && (entry = intents->queues[queue]) && entry->due <= now) {
        queue_leave(intents, entry);
        queue_enter(intents, entry, QUEUE_TAKEN);
        entry->tried = now;
        entry->status = THEMIS_OK;
        entries[taken++] = entry;
    }
    return taken;
}

size_t themis_server_intents_take(themis_server_intents_t *intents, themis_server_intent_entry_t **entries,
                                  size_t count)
{
    uint64_t now = themis_util_clock_now();

    pthread_mutex_lock(&intents->lock);
    size_t taken = queue_take(intents, QUEUE_NOW, now, entries, 0, (count + 1) / 2);
    /* neither those that fail nor new ones keep the others from being tried */
    taken = queue_take(intents, QUEUE_FIRST, now, entries, taken, taken + (count - taken + 1) / 2);
    for (int queue = QUEUE_BUSY; queue < QUEUES; queue++)
        taken = queue_take(intents, queue, now, entries, taken, count);
    taken = queue_take(intents, QUEUE_FIRST, now, entries, taken, count);
    taken = queue_take(intents, QUEUE_NOW, now, entries, taken, count);
    pthread_mutex_unlock(&intents->lock);
    return taken;
}

void themis_server_intents_set_certain(themis_server_intents_t *intents, themis_server_intent_entry_t *entry,
                                       int is_certain)
{
    pthread_mutex_lock(&intents->lock);
    entry->is_doubtful = !is_certain;
    pthread_mutex_unlock(&intents->lock);
}

themis_status_t themis_server_intents_find_record(themis_server_intents_t *intents,
                                                  const themis_server_intent_entry_t *entry)
{
    return themis_server_name_db_find(intents->db, entry->key, KEY_BYTES);
}

void themis_server_intents_set_old_gone(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    themis_server_intent_t shorter = entry->intent;

    shorter.replaced_length = 0;
    shorter.old_is_gone = 1;
    size_t length = themis_server_intent_record_bytes(&shorter);
    void *bytes = malloc(length);
    if (bytes)
        themis_server_intent_record_pack(&shorter, bytes);
    pthread_mutex_lock(&intents->lock);
    entry->intent.old_is_gone = 1;
    if (bytes && themis_server_intent_record_unpack(bytes, length, &entry->intent) == THEMIS_OK) {
        void *longer = entry->bytes;
        intents->bytes -= entry->length - length;
        entry->bytes = bytes;
        entry->length = length;
        entry->is_shorter = 1;
        bytes = longer;
    }
    pthread_mutex_unlock(&intents->lock);
    free(bytes);
}

/* Where it is to wait. What only needs time is no failure. */
static int next_queue(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    if (entry->status != THEMIS_BUSY) {
        intents->failing += entry->tries == 0;
        return QUEUE_FAILED + (int)(entry->tries < MAX_DOUBLINGS ? entry->tries++ : MAX_DOUBLINGS);
    }
    entry->waits++;
    return entry->waits <= QUICK_WAITS ? QUEUE_BUSY : QUEUE_FAILED + MAX_DOUBLINGS;
}

/* The change of the database for an intent that the settler gives back. Returns 0 if there is none. */
static int record_change(const themis_server_intent_entry_t *entry, themis_server_name_db_record_t *record)
{
    *record = (themis_server_name_db_record_t){.key = entry->key, .key_length = KEY_BYTES};
    if (entry->status == THEMIS_OK)
        return 1;
    record->value = entry->bytes;
    record->value_length = entry->length;
    return entry->is_shorter;
}

/* Removes the records of up to ERASE_AT_ONCE that are settled; the others, and all if that fails, wait again. */
static void some_give_back(themis_server_intents_t *intents, themis_server_intent_entry_t **entries, size_t count)
{
    themis_server_name_db_record_t changes[ERASE_AT_ONCE];
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (!record_change(entries[i], &changes[used]))
            continue;
        if (used)
            changes[used - 1].next = &changes[used];
        used++;
    }
    themis_status_t status = used ? themis_server_name_db_write_end(intents->db, changes) : THEMIS_OK;
    pthread_mutex_lock(&intents->lock);
    for (size_t i = 0; i < count; i++) {
        if (status == THEMIS_OK)
            entries[i]->is_shorter = 0;
        if (entries[i]->status == THEMIS_OK)
            entries[i]->status = status;
        if (entries[i]->status == THEMIS_OK) {
            entry_remove(intents, entries[i]);
            continue;
        }
        queue_leave(intents, entries[i]);
        queue_enter(intents, entries[i], next_queue(intents, entries[i]));
    }
    pthread_mutex_unlock(&intents->lock);
}

void themis_server_intents_give_back(themis_server_intents_t *intents, themis_server_intent_entry_t **entries,
                                     size_t count)
{
    for (size_t i = 0; i < count; i += ERASE_AT_ONCE)
        some_give_back(intents, entries + i, count - i < ERASE_AT_ONCE ? count - i : ERASE_AT_ONCE);
}

void themis_server_intents_drop(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    pthread_mutex_lock(&intents->lock);
    entry_remove(intents, entry);
    pthread_mutex_unlock(&intents->lock);
}
