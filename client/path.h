/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths as text: normalised, split into directory and name, joined. Pure computation. */
#pragma once
#include "themis/themis.h"

enum { THEMIS_CLIENT_NAME_BYTES = 255 + 1 };

/*
 * Resolves empty, "." and ".." components ("/.." is "/") and a trailing slash. THEMIS_BAD_NAME: not absolute;
 * THEMIS_NAME_TOO_LONG: a component above 255 bytes or a result above 4,096.
 */
themis_status_t themis_client_path_normalise(const char *path, char normal[THEMIS_PATH_BYTES]);

/* Splits a normalised path: "/a/b" gives "/a" and "b", which points into `path`. THEMIS_INVALID for "/". */
themis_status_t themis_client_path_split(const char *path, char directory[THEMIS_PATH_BYTES], const char **name);

/* directory/name of two normalised parts. THEMIS_NAME_TOO_LONG. */
themis_status_t themis_client_path_join(const char *directory, const char *name, char path[THEMIS_PATH_BYTES]);

/* 1 if `path` is `directory` or lies below it; both normalised. */
int themis_client_path_is_below(const char *path, const char *directory);
