/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of aggregators, given or by a model of the call. */
#include "themis/aggregation.h"

/* Predicted time of a call with `count` aggregators, in bytes that one port moves in that time. */
static double predicted_time(uint64_t count, const themis_aggregation_count_input_t *in)
{
    const double request = 16384; /* what a round trip costs, at some GB/s and some microseconds */
    double bytes = (double)in->bytes, per = bytes / (double)count;
    double ports = (double)(count < in->nodes ? count : in->nodes);
    double buffer = in->buffer_size ? (double)in->buffer_size : per;
    double rounds = per > buffer ? per / buffer : 1;
    double stripes = (per < buffer ? per : buffer) / (double)(in->stripe_size ? in->stripe_size : 1);
    double reached = stripes < 1 ? 1 : stripes > in->servers ? in->servers : stripes;
    double to_servers = (double)count < in->servers ? (double)count * reached : in->servers;

    to_servers = to_servers < in->servers ? to_servers : in->servers;
    return bytes / ports + bytes / to_servers +
           request * rounds * reached * (1 + (double)count / (double)(in->servers ? in->servers : 1)) +
           request * (double)in->nodes / ports;
}

uint32_t themis_aggregation_aggregator_count(int64_t wanted, const themis_aggregation_count_input_t *in)
{
    uint64_t limit = in->max > 0 && in->max < in->candidates ? in->max : in->candidates, best = 1;

    if (wanted == THEMIS_AGGREGATION_PER_SERVER)
        wanted = in->servers;
    if (wanted > 0)
        best = (uint64_t)wanted;
    for (uint64_t count = 2; wanted <= 0 && count <= limit; count++)
        if (predicted_time(count, in) < predicted_time(best, in))
            best = count;
    best = best < limit ? best : limit;
    return best > 0 ? (uint32_t)best : 1;
}
