/* SPDX-License-Identifier: BSD-3-Clause */
/* The only source of time; tests set it with themis_util_clock_set_manual. All values are nanoseconds. Thread-safe. */
#pragma once
#include <stdint.h>

#define THEMIS_NS_PER_US UINT64_C(1000)
#define THEMIS_NS_PER_MS UINT64_C(1000000)
#define THEMIS_NS_PER_S UINT64_C(1000000000)

/* Monotonic time since an unspecified moment. */
uint64_t themis_util_clock_now(void);

/* CPU time of the calling thread. */
uint64_t themis_util_clock_thread(void);

/* Nanoseconds since 1970, for times that are stored or shown. */
uint64_t themis_util_clock_wall(void);

/* The same, up to some milliseconds late, for a few ns of time. */
uint64_t themis_util_clock_wall_coarse(void);

/* From now on themis_util_clock_now returns `now`, and changes only by themis_util_clock_advance. For tests. */
void themis_util_clock_set_manual(uint64_t now);
void themis_util_clock_advance(uint64_t delta);
/* Back to the machine's clock. */
void themis_util_clock_set_real(void);
