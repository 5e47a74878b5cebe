/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intents: what is left to do after a change of a name that its client may not complete. One is written to the database
 * of names in one step with the change, and removed when it is settled: by the client's own requests or, a second later
 * and as often as needed, by this server (settler.h). So whenever client or server end, the change is completed or
 * taken back.
 *
 * REMOVAL: bytes are to be freed at all their servers, and the entry of the name is to go. RENAME: the old name is to
 * be removed and the bytes of a replaced file are to be freed, or, if the old name has ended in another way or may not
 * be removed, the new name becomes what it was.
 *
 * An intent also tells how a name of some generation has ended: the REMOVAL of a name that was renamed is kept until
 * the RENAME at the home of the new name is settled, which therefore needs no more answer. So a name of which nothing
 * is known has ended in another way.
 *
 * They are kept in memory, up to a limit. What a RENAME has replaced is kept only until the old name is gone.
 *
 * Threads: all functions may be called from any thread, the ones with a themis_server_intent_entry_t by the settler
 * only.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "server/intent_record.h"
#include "server/name_db.h"
#include "themis/status.h"
#include "util/clock.h"

typedef struct themis_server_intents themis_server_intents_t;

/* Reads those that an earlier process has left; `db` is borrowed. */
themis_status_t themis_server_intents_create(themis_server_name_db_t *db, themis_server_intents_t **intents);
void themis_server_intents_destroy(themis_server_intents_t *intents); /* NULL is allowed */

/* --- where names change ------------------------------------------------------------------------------------------- */

/* The generations by which an intent is found. */
enum {
    THEMIS_SERVER_INTENT_BY_ENDED,
    THEMIS_SERVER_INTENT_BY_RENAME, /* a RENAME, by the name that it has made */
    THEMIS_SERVER_INTENT_INDEXES
};

typedef struct themis_server_intent_entry {
    uint8_t key[9];
    themis_server_name_db_record_t record; /* of the database, until it is in force; the caller sets `next` */
    void *bytes;                           /* of the record, owned */
    size_t length;
    themis_server_intent_t intent; /* borrows from these */
    int is_doubtful;               /* 1: whether it was written to the database is not known */
    int is_shorter;                /* 1: it was made shorter since it was written */
    int is_synced;                 /* 1: a loss of power does not undo it; for the settler */
    uint32_t tries;                /* that failed */
    uint32_t waits;                /* tries that were too early */
    uint64_t tried, due;           /* ns; 0: never */
    int queue;                     /* where it waits */
    themis_status_t status;        /* for the settler: how its steps have ended so far */
    struct themis_server_intent_entry *next, *prev;
    struct themis_server_intent_entry *chains[THEMIS_SERVER_INTENT_INDEXES];
} themis_server_intent_entry_t;

/* An entry of its own for the intent, whose record is to be written with the change. themis_server_intents_end follows
 * in any case. */
themis_status_t themis_server_intents_begin(themis_server_intents_t *intents, const themis_server_intent_t *intent,
                                            themis_server_intent_entry_t **entry);
/* `status` of the change: the intent is in force, or doubtful, as what has failed may have been written all the same.
 * NULL is allowed. */
void themis_server_intents_end(themis_server_intents_t *intents, themis_server_intent_entry_t *entry,
                               themis_status_t status);

/* THEMIS_QUOTA: there are too many for more. What the settler does is not refused. */
themis_status_t themis_server_intents_room(themis_server_intents_t *intents);
/* How many bytes they may take in memory. */
void themis_server_intents_set_limit(themis_server_intents_t *intents, uint64_t bytes);

/* How has the name of that generation ended? THEMIS_OK: by the rename that has made the name of generation `rename`,
 * THEMIS_NO_ENTRY: in another way, THEMIS_BUSY: that is not known yet, after a write that has failed. */
themis_status_t themis_server_intents_how_ended(themis_server_intents_t *intents, uint64_t generation, uint64_t rename);

/* THEMIS_BUSY: the name of that generation is the new one of a rename that may yet be taken back, and that is settled
 * as soon as possible now. THEMIS_OK: it is not. */
themis_status_t themis_server_intents_hasten(themis_server_intents_t *intents, uint64_t generation);

/* THEMIS_BUSY: the rename that has made the name of generation `rename` is not settled, and may yet ask how its old
 * name has ended, also after this server was started again. */
themis_status_t themis_server_intents_rename_settled(themis_server_intents_t *intents, uint64_t rename);

/* --- for the settler ---------------------------------------------------------------------------------------------- */

/* Waits until there is something to do; returns 0 if that is to end. */
int themis_server_intents_wait(themis_server_intents_t *intents);
/* Ends waiting for good. */
void themis_server_intents_stop(themis_server_intents_t *intents);
/* Up to `count` of those that are due, which nobody else removes until they were given back. */
size_t themis_server_intents_take(themis_server_intents_t *intents, themis_server_intent_entry_t **entries,
                                  size_t count);
/* Is its record in the database? THEMIS_NO_ENTRY: it is not. */
themis_status_t themis_server_intents_find_record(themis_server_intents_t *intents,
                                                  const themis_server_intent_entry_t *entry);
/* Is it known that it is in the database? */
void themis_server_intents_set_certain(themis_server_intents_t *intents, themis_server_intent_entry_t *entry,
                                       int is_certain);
/* A RENAME's old name is gone. */
void themis_server_intents_set_old_gone(themis_server_intents_t *intents, themis_server_intent_entry_t *entry);
/* Gives them back: those of status THEMIS_OK are settled, and gone; the others are tried again later. */
void themis_server_intents_give_back(themis_server_intents_t *intents, themis_server_intent_entry_t **entries,
                                     size_t count);
/* A RENAME that was taken back, which has removed its record from the database. */
void themis_server_intents_drop(themis_server_intents_t *intents, themis_server_intent_entry_t *entry);

/* --- for administrators ------------------------------------------------------------------------------------------- */

/* How many are not settled, and how many of them have failed at least once. */
void themis_server_intents_count(themis_server_intents_t *intents, uint64_t *open, uint64_t *failing);

/*
 * Who reads all names page by page may miss that of an object which gets another one meanwhile. So here are the objects
 * that have got a name by a rename, or again as one was taken back; the latest ones of this process are kept.
 */

/* `object` has got a name by a rename; before its old name goes. */
void themis_server_intents_add_move(themis_server_intents_t *intents, uint64_t object);
/* How often that has happened in this process. */
uint64_t themis_server_intents_moves(themis_server_intents_t *intents);
/* Such objects since there were `since` moves, and those of renames that may be taken back; each may come several
 * times. THEMIS_RANGE: not all are known, or they are more than `capacity`. */
themis_status_t themis_server_intents_moved(themis_server_intents_t *intents, uint64_t since, uint64_t *objects,
                                            size_t capacity, size_t *count);
