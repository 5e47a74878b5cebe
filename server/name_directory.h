/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of a database of names: made, claimed for one server, and locked while it is in use. */
#pragma once
#include <stdint.h>
#include "store/identity.h"
#include "themis/status.h"

/* As of themis_server_name_db_open. *fd: closing it ends the use. */
themis_status_t themis_server_name_directory_take(const char *directory, int fresh, uint32_t index,
                                                  const themis_store_identity_t *identity, int *fd);
