/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits a list at stripe boundaries into one call for each server (more only where a message would be too long). */
#pragma once
#include "client/request.h"

/* Adds the calls to the request, ready to be started. THEMIS_NO_MEMORY. */
themis_status_t themis_client_split(themis_request_t *request, const themis_list_t *list);
