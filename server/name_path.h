/* SPDX-License-Identifier: BSD-3-Clause */
/* Which paths there can be. */
#pragma once
#include <stddef.h>
#include "proto/proto.h"
#include "themis/status.h"

int themis_server_name_path_is_root(const themis_proto_text_t *path);
/* The directory that the name of a normalised path is in; of `/` that is `/`. It borrows from the path. */
themis_proto_text_t themis_server_name_path_directory(const themis_proto_text_t *path);
/* Of one component. THEMIS_BAD_NAME or THEMIS_NAME_TOO_LONG: there can be none of that name. */
themis_status_t themis_server_name_path_check_name(const char *bytes, size_t length);
/* The same for an absolute path, which has to be normalised. */
themis_status_t themis_server_name_path_check(const themis_proto_text_t *path);
