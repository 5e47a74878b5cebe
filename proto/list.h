/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists inside of messages: runs of an object, entries of a directory, rows of a job table, steps. Internal to
 * proto/. */
#pragma once
#include "proto/coder.h"

/* One entry; checks what it sees. */
void themis_proto_code_entry(themis_proto_coder_t *coder, themis_proto_text_t *name, themis_proto_type_t *type);

void themis_proto_code_location(themis_proto_coder_t *coder, themis_proto_location_t *location);

/* 1: as a name of an extended attribute is. */
int themis_proto_is_xattr_name(const themis_proto_text_t *name);

/* The lists of a READ or WRITE, of a mapped object, of a directory, of extended attributes, of a table, of servers, of
 * a SETTLE and its reply: all that follows the fixed fields of their bodies. */
void themis_proto_code_runs(themis_proto_coder_t *coder, themis_proto_io_t *io);
void themis_proto_code_mapped_extents(themis_proto_coder_t *coder, themis_proto_mapped_t *mapped);
void themis_proto_code_entries(themis_proto_coder_t *coder, themis_proto_entries_t *entries);
void themis_proto_code_xattrs(themis_proto_coder_t *coder, themis_proto_xattrs_t *xattrs);
void themis_proto_code_rows(themis_proto_coder_t *coder, themis_proto_table_t *table);
void themis_proto_code_listed(themis_proto_coder_t *coder, uint32_t count, const uint8_t **list);
void themis_proto_code_steps(themis_proto_coder_t *coder, themis_proto_settle_t *settle);
void themis_proto_code_statuses(themis_proto_coder_t *coder, themis_proto_settled_t *settled);
