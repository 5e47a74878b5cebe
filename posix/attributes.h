/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of a file as stat(2) has them. */
#pragma once
#include <sys/stat.h>
#include "posix/tree.h"

/* Servers keep one time, that of the last modification; it is shown as all three. Directories have one link, as nobody
 * counts those below. */
void themis_posix_attributes(const themis_posix_node_t *node, const themis_stat_t *from, struct stat *stat);

/* S_IFREG, S_IFDIR or S_IFLNK. */
mode_t themis_posix_type_mode(themis_type_t type);
