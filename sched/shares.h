/* SPDX-License-Identifier: BSD-3-Clause */
/* The shares of all entries, which follow the policy, the set of active jobs and the weights of the lambda exchange.
 * Internal to sched/. */
#pragma once
#include "sched/state.h"

/* Room for `jobs` entries in the arrays that shares need. */
themis_status_t themis_sched_shares_reserve(themis_sched_t *sched, uint32_t jobs);
void themis_sched_shares_release(themis_sched_t *sched);
/* Puts an entry, which is counted in sched->count already, into the policy's order; or takes it out; or sorts all. */
void themis_sched_shares_insert(themis_sched_t *sched, themis_sched_entry_t *entry);
void themis_sched_shares_remove(themis_sched_t *sched, const themis_sched_entry_t *entry);
void themis_sched_shares_sort(themis_sched_t *sched);
/* Puts an entry that has a request again into the policy's tree. */
void themis_sched_shares_activate(themis_sched_t *sched, themis_sched_entry_t *entry);
/* Takes idle entries out of the tree, and computes the shares if anything has changed and it is time for it. */
void themis_sched_shares_refresh(themis_sched_t *sched, uint64_t now);
