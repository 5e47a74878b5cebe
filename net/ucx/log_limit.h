/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds what UCX writes to the log. Its listener reports each connection that it cannot accept, without a pause: with
 * no file descriptor left that is 30 MB of log a second.
 */
#pragma once

/* From now on, in this process, 20 errors and warnings of UCX in 10 seconds are logged, and how many more there were.
 * What ends the process, and levels below warnings, which UCX writes only where it is told to, are logged in full. */
void themis_net_log_limit(void);
