/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/consensus_record.h"

void themis_collective_consensus_record_combine(themis_collective_consensus_record_t *into,
                                                const themis_collective_consensus_record_t *from)
{
    into->status = from->status < into->status ? from->status : into->status;
    into->first = from->first < into->first ? from->first : into->first;
    into->end = from->end > into->end ? from->end : into->end;
    into->bytes += from->bytes;
    into->max_bytes = from->max_bytes > into->max_bytes ? from->max_bytes : into->max_bytes;
    into->pieces += from->pieces;
    into->pattern += from->pattern;
    into->weight += from->weight;
    into->flags |= from->flags;
}
