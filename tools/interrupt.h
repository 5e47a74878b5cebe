/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGINT, SIGTERM and SIGHUP for commands that have something to clean up. */
#pragma once

/* From now on the first of these signals is only noted; the second ends the process. */
void themis_tools_interrupt_watch(void);
/* The signal that was noted, or 0. */
int themis_tools_interrupted(void);
