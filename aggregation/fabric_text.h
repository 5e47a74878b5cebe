/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics in the text form of ibnetdiscover and ibsim. */
#pragma once

#include "themis/topology.h"

/* PARSE: not such a file; the message has the line. */
themis_status_t themis_aggregation_fabric_text_load(const char *path, themis_aggregation_fabric_t **fabric);
