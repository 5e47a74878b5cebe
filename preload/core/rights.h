/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process may do, as the servers decide. */
#pragma once
#include <sys/stat.h>

/* 1: a user, with this group and the supplementary ones of the process, may do all of `mode`: R_OK, W_OK, X_OK. */
int themis_preload_may_access(const struct stat *stat, int mode, uid_t uid, gid_t gid);
