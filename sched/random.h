/* SPDX-License-Identifier: BSD-3-Clause */
/* The random numbers of the scheduler: splitmix64 (Steele, Lea, Flood, OOPSLA 2014), so that a seed gives one sequence.
 */
#pragma once
#include <stdint.h>

/* Uniform over all 64 bits. */
static inline uint64_t themis_sched_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in [0,1). */
static inline double themis_sched_uniform(uint64_t *state)
{
    return (double)(themis_sched_random(state) >> 11) * 0x1p-53;
}
