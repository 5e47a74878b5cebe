/* SPDX-License-Identifier: BSD-3-Clause */
/* Which intents changes of names leave. *left is as of themis_server_intents_begin. */
#pragma once
#include "sched/job_table.h"
#include "server/intents.h"

/* The name `old` goes; `renamed`, unless empty, takes its place, of generation `rename` (else 0). Without a new name
 * its bytes go as well. */
themis_status_t themis_server_name_intents_removal(themis_server_intents_t *intents, const themis_proto_text_t *path,
                                                   const themis_proto_attr_t *old, const themis_proto_text_t *renamed,
                                                   uint64_t rename, themis_server_intent_entry_t **left);
/* The name stays, but the bytes of `old` go. */
themis_status_t themis_server_name_intents_bytes(themis_server_intents_t *intents, const themis_proto_text_t *path,
                                                 const themis_proto_attr_t *old, themis_server_intent_entry_t **left);
/* `who` gives a name to an object that has another one; `made` takes the place of `old` (NULL: there is none). */
themis_status_t themis_server_name_intents_rename(themis_server_intents_t *intents, themis_server_name_db_t *db,
                                                  const themis_sched_job_identity_t *who,
                                                  const themis_proto_create_t *create, const themis_proto_attr_t *old,
                                                  const themis_proto_attr_t *made, themis_server_intent_entry_t **left);

/* The record of an intent (NULL: none), before others. */
const themis_server_name_db_record_t *themis_server_name_intents_record(themis_server_intent_entry_t *left,
                                                                        const themis_server_name_db_record_t *others);

/* Writes what the new name of a RENAME had before, or removes it, whose entry goes as well then; and the intent's
 * record. */
themis_status_t themis_server_name_intents_restore(themis_server_intents_t *intents, themis_server_name_db_t *db,
                                                   const themis_server_intent_entry_t *entry);

/* Does the answer to REMOVE of a renamed name say that the name is there, or can be nowhere, and may not be removed
 * however often one asks? */
int themis_server_name_intents_is_refusal(themis_status_t status);
