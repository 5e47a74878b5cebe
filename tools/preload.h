/* SPDX-License-Identifier: BSD-3-Clause */
/* Our libraries in the environment of a command: the MPI-IO driver's, and with `with_posix` that of file calls behind
 * it. Functions print their errors. */
#pragma once

/* Sets LD_PRELOAD: what is there already stays in front, so that a tool such as Darshan sees the calls first. */
int themis_tools_preload_set(int with_posix);

/*
 * Launchers can set variables for their ranks, which replaces ours: to each LD_PRELOAD that the arguments set
 * ("-genv LD_PRELOAD x", "-x LD_PRELOAD=x", "env LD_PRELOAD=x", "--export=ALL,LD_PRELOAD=x") they are added.
 * What replaces the array's texts lives as long as the process.
 */
int themis_tools_preload_merge(int with_posix, char **command);

/* Sets THEMIS_MOUNT to the mount point that the configuration names, unless it is set. */
int themis_tools_mount_point_set(void);
