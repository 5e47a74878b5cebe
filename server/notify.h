/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells a service manager how this server is, by the protocol of systemd. */
#pragma once

/*
 * Sends the text, lines such as "READY=1", to the socket that the environment names in NOTIFY_SOCKET; nothing is done
 * without it. Does not block. A manager that cannot be told is warned of in the log. Thread-safe.
 */
__attribute__((format(printf, 1, 2))) void themis_server_notify(const char *format, ...);
