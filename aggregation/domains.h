/* SPDX-License-Identifier: BSD-3-Clause */
/* Cutting a range by a given method. */
#pragma once

#include "themis/aggregation.h"

/* Like themis_aggregation_domains_init for a method other than AUTO and valid arguments. */
void themis_aggregation_domains_cut(themis_aggregation_method_t method, const themis_aggregation_layout_t *layout,
                                    uint64_t first, uint64_t last, uint32_t aggregators,
                                    themis_aggregation_domains_t *domains);
