/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of file-domain methods. */
#ifndef THEMIS_AGGREGATION_METHODS_H
#define THEMIS_AGGREGATION_METHODS_H

#include "themis/aggregation.h"

/* The operations of a method below THEMIS_AGGREGATION_METHODS; static storage. */
const themis_aggregation_domain_ops_t *themis_aggregation_method_ops(themis_aggregation_method_t method);
#endif
