/* SPDX-License-Identifier: BSD-3-Clause */
/* The sessions of this process. */
#pragma once
#include "ad_themis.h"

/* A session of this process, made if need be; equal options (priority aside) share one. It lives until MPI_Finalize. A
 * job that turns out to have more nodes is made larger. */
themis_status_t ADIOI_THEMIS_Session_get(const themis_options_t *options, themis_t **session);

/* 1 at the first call for a session, then 0: that its policy was not granted is reported once. */
int ADIOI_THEMIS_Session_warn_once(const themis_t *session);

/* A copy (free) of the first session's list of servers for which matches(list, arg) is not 0; NULL: there is none, or
 * no memory. */
char *ADIOI_THEMIS_Session_find_servers(int (*matches)(const char *servers, const void *arg), const void *arg);
