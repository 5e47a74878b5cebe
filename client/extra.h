/* SPDX-License-Identifier: BSD-3-Clause */
/* What a name has beside its attributes: the target of a symbolic link, extended attributes. Paths are normalised. */
#pragma once
#include "client/session.h"
#include "proto/proto.h"

typedef struct themis_client_extra {
    themis_proto_extra_t extra; /* borrowed from `memory` */
    void *memory;               /* owned */
} themis_client_extra_t;

/* `rights`: THEMIS_PROTO_RIGHT_READ for extended attributes as well, 0 for the target only. */
themis_status_t themis_client_extra_get(themis_t *session, const char *path, uint32_t rights,
                                        themis_client_extra_t *extra);
/* All that the name of these attributes has, without a message where that is nothing. */
themis_status_t themis_client_extra_of(themis_t *session, const char *path, const themis_proto_attr_t *attr,
                                       themis_client_extra_t *extra);
void themis_client_extra_free(themis_client_extra_t *extra);
