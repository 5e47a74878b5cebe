/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGINT, SIGTERM and SIGHUP for commands that have something to clean up. */
#pragma once
#include <stdint.h>

/* From now on the first of these signals is only noted; the second ends the process. */
void themis_tools_interrupt_watch(void);
/* All of these signals are only noted: for what must be cleaned up, and soon is. */
void themis_tools_interrupt_watch_all(void);
/* The signal that was noted last, or 0. */
int themis_tools_interrupted(void);
/* Sleeps until `due` (themis_util_clock_now), or until a signal is noted; after themis_tools_interrupt_watch_all. */
void themis_tools_interrupt_pause(uint64_t due);
