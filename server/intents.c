/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: 'I' number (8 bytes, big-endian, so that they are in order) -> intent_record.h.
 *
 * `open` and `kept` are lists in the order in which intents were made or tried last; those of `kept` are settled.
 * Tables find them by generations of names.
 */
#define _GNU_SOURCE
#include "server/intents.h"
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>
#include "util/clock.h"
#include "util/log.h"

enum { KEY_BYTES = 9, CHAINS = 1 << 12, ERASE_AT_ONCE = 1024, MAX_DOUBLINGS = 5 };
#define FIRST_TRY THEMIS_NS_PER_S

struct themis_server_intents {
    themis_server_name_db_t *db;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    int stop;
    uint64_t sleeps_until; /* ns; the settler */
    uint64_t next_number;
    themis_server_intent_entry_t *open, *kept;
    themis_server_intent_entry_t *chains[THEMIS_SERVER_INTENT_INDEXES][CHAINS];
};

/* --- the lists; with the lock ------------------------------------------------------------------------------------- */

/* 0: it is not in that index. */
static uint64_t generation_of(const themis_server_intent_entry_t *entry, int index)
{
    return index == THEMIS_SERVER_INTENT_BY_ENDED ? entry->intent.ended : entry->intent.new_generation;
}

static themis_server_intent_entry_t **chain_of(themis_server_intents_t *intents, int index, uint64_t generation)
{
    return &intents->chains[index][(generation * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

/* The next one of that generation (not 0), from `at` on, or NULL. */
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

static void entry_add(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    DL_APPEND(intents->open, entry);
    indexes_add(intents, entry);
    if (entry->due < intents->sleeps_until)
        pthread_cond_signal(&intents->changed);
}

static void entry_free(themis_server_intent_entry_t *entry)
{
    free(entry);
}

/* Takes it out of the tables and its list, and frees it. */
static void entry_remove(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    indexes_remove(intents, entry);
    if (entry->state == THEMIS_SERVER_INTENT_SETTLED)
        DL_DELETE(intents->kept, entry);
    else
        DL_DELETE(intents->open, entry);
    entry_free(entry);
}

/* --- making ------------------------------------------------------------------------------------------------------- */

/* An entry with room for `length` bytes of a record behind it. */
static themis_server_intent_entry_t *entry_make(uint64_t number, size_t length)
{
    themis_server_intent_entry_t *entry = calloc(1, sizeof *entry + length);
    uint64_t word = htobe64(number);

    if (!entry)
        return NULL;
    entry->key[0] = THEMIS_SERVER_NAME_DB_INTENT;
    memcpy(entry->key + 1, &word, sizeof word);
    entry->record = (themis_server_name_db_record_t){
        .key = entry->key, .key_length = KEY_BYTES, .value = entry + 1, .value_length = length};
    entry->made = themis_util_clock_now();
    entry->due = entry->made + FIRST_TRY;
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
    if (!(entry = entry_make(be64toh(word), record->value_length)))
        return THEMIS_NO_MEMORY;
    memcpy(entry + 1, record->value, record->value_length);
    themis_status_t status =
        themis_server_intent_record_unpack(entry->record.value, record->value_length, &entry->intent);
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
    while (intents->open)
        entry_remove(intents, intents->open);
    while (intents->kept)
        entry_remove(intents, intents->kept);
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
    themis_server_intent_record_pack(intent, made + 1);
    themis_status_t status = themis_server_intent_record_unpack(made->record.value, length, &made->intent);
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
    if (status != THEMIS_OK) {
        entry_free(entry);
        return;
    }
    pthread_mutex_lock(&intents->lock);
    entry_add(intents, entry);
    pthread_mutex_unlock(&intents->lock);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

static int is_same(const themis_proto_text_t *one, const themis_proto_text_t *other)
{
    return one->length == other->length && (one->length == 0 || memcmp(one->bytes, other->bytes, one->length) == 0);
}

themis_status_t themis_server_intents_how_ended(themis_server_intents_t *intents, uint64_t generation,
                                                const themis_proto_text_t *renamed)
{
    const int index = THEMIS_SERVER_INTENT_BY_ENDED;
    themis_status_t status = THEMIS_STALE;

    pthread_mutex_lock(&intents->lock);
    const themis_server_intent_entry_t *found =
        generation ? chain_find(*chain_of(intents, index, generation), index, generation) : NULL;
    if (found)
        status = found->intent.kind == THEMIS_SERVER_INTENT_REMOVAL && is_same(&found->intent.other, renamed)
                     ? THEMIS_OK
                     : THEMIS_NO_ENTRY;
    pthread_mutex_unlock(&intents->lock);
    return status;
}

themis_status_t themis_server_intents_hasten(themis_server_intents_t *intents, uint64_t generation, uint64_t object)
{
    const int index = THEMIS_SERVER_INTENT_BY_NEW;
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&intents->lock);
    themis_server_intent_entry_t *found =
        generation ? chain_find(*chain_of(intents, index, generation), index, generation) : NULL;
    if (found && found->state == THEMIS_SERVER_INTENT_OPEN && (object == 0 || found->intent.object == object)) {
        if (found->tries == 0)
            found->due = 0;
        pthread_cond_signal(&intents->changed);
        status = THEMIS_BUSY;
    }
    pthread_mutex_unlock(&intents->lock);
    return status;
}

void themis_server_intents_count(themis_server_intents_t *intents, uint64_t *open, uint64_t *failing)
{
    const themis_server_intent_entry_t *at;

    *open = *failing = 0;
    pthread_mutex_lock(&intents->lock);
    DL_FOREACH(intents->open, at)
    {
        ++*open;
        *failing += at->tries > 0;
    }
    pthread_mutex_unlock(&intents->lock);
}

/* --- settling ----------------------------------------------------------------------------------------------------- */

/* When the first one is due, ns; UINT64_MAX: never. */
static uint64_t next_due(const themis_server_intents_t *intents)
{
    const themis_server_intent_entry_t *at;
    uint64_t due = intents->kept ? intents->kept->made + THEMIS_SERVER_INTENTS_KEEP : UINT64_MAX;

    DL_FOREACH(intents->open, at)
    due = at->due < due ? at->due : due;
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

/* Removes the records of settled intents that nobody asks for any more. */
static void kept_erase(themis_server_intents_t *intents)
{
    uint64_t now = themis_util_clock_now();
    themis_server_name_db_record_t gone[ERASE_AT_ONCE];
    themis_server_intent_entry_t *at = intents->kept;
    size_t count = 0;

    for (; at && count < ERASE_AT_ONCE && now >= at->made + THEMIS_SERVER_INTENTS_KEEP; at = at->next) {
        gone[count] = (themis_server_name_db_record_t){.key = at->key, .key_length = KEY_BYTES};
        if (count)
            gone[count - 1].next = &gone[count];
        count++;
    }
    if (count == 0)
        return;
    pthread_mutex_unlock(&intents->lock);
    themis_status_t status = themis_server_name_db_write(intents->db, gone);
    pthread_mutex_lock(&intents->lock);
    for (; count > 0; count--) {
        if (status == THEMIS_OK) {
            entry_remove(intents, intents->kept);
            continue;
        }
        at = intents->kept; /* it is tried again later */
        DL_DELETE(intents->kept, at);
        at->made = now;
        DL_APPEND(intents->kept, at);
    }
}

size_t themis_server_intents_take(themis_server_intents_t *intents, themis_server_intent_entry_t **entries,
                                  size_t count)
{
    uint64_t now = themis_util_clock_now();
    themis_server_intent_entry_t *at;
    size_t taken = 0;

    pthread_mutex_lock(&intents->lock);
    kept_erase(intents);
    DL_FOREACH(intents->open, at)
    {
        if (taken == count)
            break;
        if (at->due > now)
            continue;
        at->status = THEMIS_OK;
        entries[taken++] = at;
    }
    pthread_mutex_unlock(&intents->lock);
    return taken;
}

void themis_server_intents_set_old_gone(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    pthread_mutex_lock(&intents->lock);
    entry->state = THEMIS_SERVER_INTENT_OLD_GONE;
    pthread_mutex_unlock(&intents->lock);
}

/* In how many ns: what only needs time is no failure. */
static uint64_t try_again(themis_server_intent_entry_t *entry)
{
    if (entry->status == THEMIS_BUSY)
        return 2 * FIRST_TRY;
    return FIRST_TRY << (entry->tries < MAX_DOUBLINGS ? entry->tries++ : MAX_DOUBLINGS);
}

void themis_server_intents_give_back(themis_server_intents_t *intents, themis_server_intent_entry_t **entries,
                                     size_t count)
{
    uint64_t now = themis_util_clock_now();

    pthread_mutex_lock(&intents->lock);
    for (size_t i = 0; i < count; i++) {
        themis_server_intent_entry_t *entry = entries[i];
        DL_DELETE(intents->open, entry);
        if (entry->status == THEMIS_OK) {
            entry->state = THEMIS_SERVER_INTENT_SETTLED;
            if (entry->intent.ended) {
                DL_APPEND(intents->kept, entry);
            } else { /* nobody asks for it */
                entry->made = 0;
                DL_PREPEND(intents->kept, entry);
            }
            continue;
        }
        entry->due = now + try_again(entry);
        DL_APPEND(intents->open, entry);
    }
    pthread_mutex_unlock(&intents->lock);
}

void themis_server_intents_drop(themis_server_intents_t *intents, themis_server_intent_entry_t *entry)
{
    pthread_mutex_lock(&intents->lock);
    entry_remove(intents, entry);
    pthread_mutex_unlock(&intents->lock);
}
