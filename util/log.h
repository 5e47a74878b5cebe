/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log messages on standard error, one line each: "themis: warning: text". Thread-safe. The function that first detects
 * an error logs it; its callers pass the status upward.
 */
#pragma once

typedef enum themis_util_log_level {
    THEMIS_LOG_ERROR,
    THEMIS_LOG_WARN,
    THEMIS_LOG_INFO,
    THEMIS_LOG_DEBUG
} themis_util_log_level_t;

/* The most detailed level that is printed; THEMIS_LOG_WARN by default. */
void themis_util_log_set_level(themis_util_log_level_t level);

/* Reads "error", "warn", "info" or "debug"; returns 0, or -1 for anything else. */
int themis_util_log_level_parse(const char *text, themis_util_log_level_t *level);

/* The name at the start of each message, "themis" by default; truncated to 31 bytes. To be set before threads start. */
void themis_util_log_set_name(const char *name);

/* 1: each line starts with date and time (for servers). */
void themis_util_log_set_timestamps(int on);

/* 1: each line starts with its level as journald reads it ("<4>"), which has dates of its own. */
void themis_util_log_set_journal(int on);

/* Errors are also written to this descriptor, which has to stay open; -1: no longer. */
void themis_util_log_copy_errors(int fd);

__attribute__((format(printf, 2, 3))) void themis_util_log(themis_util_log_level_t level, const char *format, ...);

#define themis_error(...) themis_util_log(THEMIS_LOG_ERROR, __VA_ARGS__)
#define themis_warn(...) themis_util_log(THEMIS_LOG_WARN, __VA_ARGS__)
#define themis_info(...) themis_util_log(THEMIS_LOG_INFO, __VA_ARGS__)
#define themis_debug(...) themis_util_log(THEMIS_LOG_DEBUG, __VA_ARGS__)
