/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's library in the environment of a command. Functions print their errors. */
#pragma once

/* Sets LD_PRELOAD: what is there already stays in front, so that a tool such as Darshan sees the calls first. */
int themis_tools_preload_set(void);

/*
 * Launchers can set variables for their ranks, which replaces ours: to each LD_PRELOAD that the arguments set
 * ("-genv LD_PRELOAD x", "-x LD_PRELOAD=x", "env LD_PRELOAD=x", "--export=ALL,LD_PRELOAD=x") the driver is added.
 * What replaces the array's texts lives as long as the process.
 */
int themis_tools_preload_merge(char **command);
