/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/capability_key.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "util/directory.h"
#include "util/log.h"
#include "util/status.h"

enum { PATH_BYTES = THEMIS_SERVER_CONFIG_TEXT + 16, WHY_BYTES = 256 };

themis_status_t themis_server_capability_key_read(const char *path, themis_server_capability_key_t *key, char *why,
                                                  size_t size)
{
    return themis_util_secret_read(path, THEMIS_SERVER_CAPABILITY_KEY_MIN, key, why, size);
}

/* --- a key of a server that is alone ------------------------------------------------------------------------------ */

static themis_status_t key_draw(themis_server_capability_key_t *key)
{
    key->length = THEMIS_SERVER_CAPABILITY_KEY_MIN;
    if (getrandom(key->bytes, key->length, 0) == (ssize_t)key->length)
        return THEMIS_OK;
    themis_error("the key of capabilities cannot be drawn: %s", strerror(errno));
    return THEMIS_IO;
}

/* The file appears with its content. */
static themis_status_t key_keep(const char *directory, const char *path, const themis_server_capability_key_t *key)
{
    char fresh[PATH_BYTES + 8];

    snprintf(fresh, sizeof fresh, "%s.new", path);
    unlink(fresh); /* of a server that ended meanwhile */
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int kept = fd >= 0 && write(fd, key->bytes, key->length) == (ssize_t)key->length && fsync(fd) == 0 &&
               rename(fresh, path) == 0 && themis_util_directory_sync(AT_FDCWD, directory) == 0;
    int error = errno;

    if (fd >= 0)
        close(fd);
    if (kept)
        return THEMIS_OK;
    themis_error("state = %s: the key of capabilities cannot be kept: %s", directory, strerror(error));
    return themis_util_status_from_errno(error);
}

static themis_status_t state_load(const char *directory, themis_server_capability_key_t *key)
{
    char path[PATH_BYTES], why[WHY_BYTES];

    snprintf(path, sizeof path, "%s/KEY", directory);
    if (access(path, F_OK) == 0) {
        themis_status_t status = themis_server_capability_key_read(path, key, why, sizeof why);
        if (status != THEMIS_OK)
            themis_error("state = %s: KEY: %s", directory, why);
        return status;
    }
    themis_status_t status = key_draw(key);
    return status == THEMIS_OK ? key_keep(directory, path, key) : status;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_capability_key_load(const themis_server_config_t *config,
                                                  themis_server_capability_key_t *key)
{
    themis_status_t status = THEMIS_OK;
    char why[WHY_BYTES], where[2 * THEMIS_SERVER_CONFIG_TEXT];

    key->length = 0;
    if (config->key_fd >= 0) {
        status = themis_util_secret_take(config->key_fd, THEMIS_SERVER_CAPABILITY_KEY_MIN, key, why, sizeof why);
        close(config->key_fd);
        if (status != THEMIS_OK)
            themis_error("--key-fd %d: %s", config->key_fd, why);
        return status;
    }
    if (strcmp(config->key, "none") == 0) {
        themis_warn("key = none: clients' rights to bytes are not checked");
        return THEMIS_OK;
    }
    if (!*config->key)
        return *config->state ? state_load(config->state, key) : key_draw(key);
    status = themis_server_capability_key_read(config->key, key, why, sizeof why);
    if (status != THEMIS_OK) {
        themis_server_config_where(config, config->key, where, sizeof where);
        themis_error("%s%s: %s", where, config->key, why);
    }
    return status;
}
