/* SPDX-License-Identifier: BSD-3-Clause */
/* libfuse's low-level interface, in the version that this directory is written for. */
#ifndef THEMIS_MOUNT_FUSE_H
#define THEMIS_MOUNT_FUSE_H
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#endif
