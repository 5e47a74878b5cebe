/* SPDX-License-Identifier: BSD-3-Clause */
/* What the database of names has of a path: its attributes, the target of a symbolic link and extended attributes, as
 * the bytes of one record. */
#pragma once
#include <stddef.h>
#include "proto/proto.h"
#include "themis/status.h"

/* A record, which is to be freed. `extra` NULL: nothing but attributes. */
themis_status_t themis_server_name_record_make(const themis_proto_attr_t *attr, const themis_proto_extra_t *extra,
                                               void **record, size_t *length);
/* The attributes of a record, with the lengths of what is beside them; THEMIS_CORRUPT if it is none. */
themis_status_t themis_server_name_record_attr(const void *record, size_t length, themis_proto_attr_t *attr);
/* What is beside them, which borrows the record. A record of no bytes has nothing. */
themis_status_t themis_server_name_record_extra(const void *record, size_t length, themis_proto_extra_t *extra);
