/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between errno and themis_status_t: the one place for each direction. */
#ifndef THEMIS_UTIL_STATUS_H
#define THEMIS_UTIL_STATUS_H
#include "themis/status.h"

/* The status for an errno value; 0 gives THEMIS_OK, an unknown one THEMIS_IO. */
themis_status_t themis_util_status_from_errno(int error);

/* The errno value nearest to a status; THEMIS_OK gives 0. */
int themis_util_status_to_errno(themis_status_t status);

/* 1 if the number is one of the codes of themis_status_t; for numbers that came over the wire. */
int themis_util_status_is_known(int number);
#endif
