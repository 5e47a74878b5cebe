/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of what a decision rests on. INVALID: a value is out of its range, and `error` (`size` bytes) names it. */
#pragma once
#include "dfra/dfra.h"

/* No volume or rate is larger: products of two are still finite. */
#define THEMIS_DFRA_MOST 1e30

typedef struct themis_dfra_value {
    const char *name;
    double value, low, high; /* allowed: finite, low <= value <= high */
} themis_dfra_value_t;

themis_status_t themis_dfra_values_check(const themis_dfra_value_t *value, size_t count, char *error, size_t size);
themis_status_t themis_dfra_pool_check(const themis_dfra_site_t *site, const themis_dfra_pool_t *pool, char *error,
                                       size_t size);
themis_status_t themis_dfra_job_check(const themis_dfra_job_t *job, char *error, size_t size);
