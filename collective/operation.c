/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/operation.h"

int themis_collective_operation_agree(themis_collective_operation_t *op,
                                      const themis_collective_consensus_record_t *record)
{
    if (!op->in_consensus) {
        themis_collective_consensus_start(op->coll->group, record, &op->consensus);
        op->in_consensus = 1;
    }
    if (themis_collective_consensus_test(&op->consensus) != THEMIS_OK)
        return 0;
    op->in_consensus = 0;
    op->status = (themis_status_t)op->consensus.record.status;
    return 1;
}
