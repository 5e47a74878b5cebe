/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for other ranks in a polling loop: the first polls spin, then they yield the processor, then they sleep, at
 * first for some microseconds, in the end for a millisecond. Now and then they let MPI make progress.
 */
#pragma once
#include "collective/group.h"

/* After a poll without success. *polls counts them and starts at 0. */
void themis_collective_backoff_wait(const themis_collective_group_t *group, unsigned *polls);
/* A part of what is waited for has come: sleeps are short again. */
void themis_collective_backoff_shorten(const themis_collective_group_t *group, unsigned *polls);
