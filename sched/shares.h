/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the scheduler: the shares of all entries, kept in step with the policy, with who is active, and with the
 * weights of the lambda exchange. */
#ifndef THEMIS_SCHED_SHARES_H
#define THEMIS_SCHED_SHARES_H
#include "sched/draw.h"

/* ns without requests after which an entry is left out of the policy's tree. */
#define THEMIS_SCHED_QUIET UINT64_C(1000000000)

/* Room for `jobs` entries in the arrays that shares need. */
themis_status_t themis_sched_shares_reserve(themis_sched_t *sched, uint32_t jobs);
void themis_sched_shares_release(themis_sched_t *sched);
/* Puts an entry into the policy's order, takes it out, or sorts all anew. */
void themis_sched_shares_insert(themis_sched_t *sched, themis_sched_entry_t *entry);
void themis_sched_shares_remove(themis_sched_t *sched, themis_sched_entry_t *entry);
void themis_sched_shares_sort(themis_sched_t *sched);
/* An entry that was left out has a request again. */
void themis_sched_shares_count(themis_sched_t *sched, themis_sched_entry_t *entry);
/* Leaves quiet entries out and computes the shares anew, if anything has changed and it is time for it. */
void themis_sched_shares_refresh(themis_sched_t *sched, uint64_t now);
#endif
