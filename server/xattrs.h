/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of extended attributes: pure computation. */
#pragma once
#include "proto/proto.h"

/*
 * What is to be of `old` after `set`, into `buffer` of THEMIS_PROTO_MAX_XATTRS bytes, which *xattrs borrows; new ones
 * come last. THEMIS_UNSUPPORTED: not a name of "user."; THEMIS_EXISTS, THEMIS_NO_DATA: as the flags say;
 * THEMIS_NO_SPACE: all together would be longer.
 */
themis_status_t themis_server_xattrs_change(const themis_proto_xattrs_t *old, const themis_proto_setxattr_t *set,
                                            void *buffer, themis_proto_xattrs_t *xattrs);
/* THEMIS_UNSUPPORTED: one of them has not a name of "user.". */
themis_status_t themis_server_xattrs_check(const themis_proto_xattrs_t *xattrs);
