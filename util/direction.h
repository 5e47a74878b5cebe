/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way bytes go between memory and a file: one type for all layers. */
#pragma once

typedef enum themis_direction { THEMIS_READ = 0, THEMIS_WRITE = 1 } themis_direction_t;
