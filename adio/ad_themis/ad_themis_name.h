/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files: servers and path. */
#pragma once
#include "ad_themis.h"

/* Splits "//host:port,host:port/path" or "/path" or "path" (the name without its prefix). *servers
 * (empty: none named) and *path, absolute, are owned by the caller (free). Without servers the mount point is cut off:
 * "/themis/a" is "/a". */
themis_status_t ADIOI_THEMIS_Name_split(const char *name, char **servers, char **path);

/* Puts the servers and the absolute path into fd->filename of an open file: ROMIO deletes by name, and derives from it
 * the name of the shared pointer's hidden file. A list too long for that is abbreviated; all processes of a job
 * abbreviate it alike, and those that have a session with these servers can expand it. */
void ADIOI_THEMIS_Name_complete(ADIO_File fd, const char *server_list);

/* Room for a suffix: ROMIO hangs if a name with its suffix exceeds PATH_MAX. */
enum { AD_THEMIS_NAME_ROOM = 64 };
