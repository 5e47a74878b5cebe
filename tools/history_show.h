/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of jobs on standard output, and as a picture. */
#pragma once
#include "tools/history_read.h"

/* A line for each. */
void themis_tools_history_list(const themis_tools_history_t *history);
/* All that is known of one. */
int themis_tools_history_details(const themis_history_entry_t *entry);
/* An array of objects; with their series if `series` is 1. Prints errors and returns THEMIS_TOOLS_FAILED. */
int themis_tools_history_json(const themis_tools_history_t *history, int series);
/* RFC 4180, with a line of names. The same. */
int themis_tools_history_csv(const themis_tools_history_t *history);

/* The bandwidth over time, as SVG; `path` NULL: to standard output. Prints errors and returns THEMIS_TOOLS_FAILED. */
int themis_tools_history_draw(const themis_history_entry_t *entry, const char *path);
