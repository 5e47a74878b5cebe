/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this process may use: that of the machine, or less in a cgroup (a batch job, a container, a unit). */
#pragma once
#include <stdint.h>

/*
 * Bytes; UINT64_MAX if not known. *cgroup is 1 if a cgroup sets the limit, 0 if it is the machine's memory. `root`, ""
 * but for tests, is put before /proc and /sys. Reads cgroups of version 1 and 2, with those above this process's.
 */
uint64_t themis_util_memory_limit(const char *root, int *cgroup);
