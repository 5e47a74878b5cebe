/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only reader of the environment and of configuration files; all other code has values passed to it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

/* The value of an environment variable, or NULL when unset or empty. Borrowed from the environment. */
const char *themis_util_config_env(const char *name);

/* Sets an environment variable for this process and its children, unless it is set already. */
void themis_util_config_env_default(const char *name, const char *value);

/* Calls each(arg, "NAME=value") for the variables of the environment whose name begins so, until it does not return 0;
 * returns what it returned last. */
int themis_util_config_env_each(const char *prefix, int (*each)(void *arg, const char *variable), void *arg);

/* Called for each `key = value` of a file, with the line's number. A status other than THEMIS_OK stops the reading. */
typedef themis_status_t (*themis_util_config_entry_fn)(void *arg, const char *section, const char *key,
                                                       const char *value, int line);

/*
 * Reads an INI file and passes every entry to `entry`, in the order of the file. On failure `error` (`size` bytes)
 * names file, line and key. THEMIS_NO_ENTRY: no such file. THEMIS_PARSE: a line is neither a section nor an entry of
 * one. Otherwise what opening the file gave or `entry` returned.
 */
themis_status_t themis_util_config_read(const char *path, themis_util_config_entry_fn entry, void *arg, char *error,
                                        size_t size);

/*
 * Numbers. Bytes with units: "4096", "64k", "1MiB", "2g" (powers of two). Durations, in ns: "500ms", "10s", "1m",
 * "30d"; a number without unit is seconds. Integers: from `low` to `high`. THEMIS_PARSE or THEMIS_RANGE leaves the
 * result alone.
 */
themis_status_t themis_util_config_bytes(const char *text, uint64_t *bytes);
themis_status_t themis_util_config_duration(const char *text, uint64_t *ns);
themis_status_t themis_util_config_integer(const char *text, int64_t low, int64_t high, int64_t *value);
