/* SPDX-License-Identifier: BSD-3-Clause */
/* themis_status_t and errno, and the texts of themis_status_string. */
#pragma once
#include "themis/status.h"

/* The status for an errno value; 0 gives THEMIS_OK, an unknown one THEMIS_IO. */
themis_status_t themis_util_status_from_errno(int error);

/* 1 if it says that a server cannot be reached, now or at all: UNREACHABLE, NO_SERVER, DISCONNECTED or TIMED_OUT. */
int themis_util_status_is_away(themis_status_t status);

/* 1 if the number is a code of themis_status_t; for numbers that were received. */
int themis_util_status_is_known(int number);
