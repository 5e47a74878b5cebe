/* SPDX-License-Identifier: BSD-3-Clause */
/* What ends with the servers of one command. */
#pragma once

/* Tells on standard error how many files of how many bytes servers hold whose stores end with them; `note` ends the
 * line. `failed`: the command did; if nothing has used the servers then, it says what may be the cause. Ends early when
 * cancelled() is not 0. */
void themis_tools_discard_tell(const char *list, const char *note, int failed, int (*cancelled)(void));
