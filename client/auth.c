/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/auth.h"
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include "client/error.h"
#include "util/config.h"
#include "util/secret.h"

#define MEMBER(member)                                                                                                 \
#member, offsetof(themis_client_auth_texts_t, member), sizeof((themis_client_auth_texts_t *)0)->member

static const struct {
    const char *key;
    size_t offset, size;
} keys[] = {{MEMBER(auth)}, {MEMBER(transport)}, {MEMBER(server_user)}, {MEMBER(secret)}, {MEMBER(munge_socket)}};

themis_status_t themis_client_auth_take(themis_client_auth_texts_t *texts, const char *key, const char *value)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char *text = (char *)texts + keys[i].offset;
        if (strcmp(keys[i].key, key) != 0)
            continue;
        if (*text)
            return THEMIS_CONFIG;
        if (strlen(value) >= keys[i].size)
            return THEMIS_RANGE;
        strcpy(text, value);
        return THEMIS_OK;
    }
    return THEMIS_NO_ENTRY;
}

/* The variable's value, or else the file's. */
static const char *setting(const char *variable, const char *text)
{
    const char *value = themis_util_config_env(variable);

    return value ? value : text;
}

/* *found: 1 if there is a secret. The environment's comes first, as that of a job's own servers does. */
static themis_status_t secret_load(const themis_client_auth_texts_t *texts, themis_net_auth_t *auth, int *found)
{
    themis_util_secret_t secret = {0};
    char why[256];
    themis_status_t status = themis_util_secret_of_environment(THEMIS_NET_AUTH_SECRET_MIN, &secret, why, sizeof why);

    if (status == THEMIS_NO_ENTRY && *texts->secret)
        status = themis_util_secret_read(texts->secret, THEMIS_NET_AUTH_SECRET_MIN, &secret, why, sizeof why);
    *found = status == THEMIS_OK;
    if (status == THEMIS_OK)
        themis_net_auth_set_secret(auth, secret.bytes, secret.length);
    explicit_bzero(&secret, sizeof secret);
    if (status == THEMIS_OK || status == THEMIS_NO_ENTRY)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_CONFIG, "the secret of the servers cannot be read: %s", why);
}

/* What is asked for has to be possible; without a word the best that there is. */
static themis_status_t kind_find(const char *text, int secret, themis_net_auth_kind_t *kind)
{
    if (themis_net_auth_choose(text, secret, kind) != THEMIS_OK)
        return themis_client_fail(THEMIS_CONFIG, "auth = %s is not local, none, secret or munge", text);
    if (*kind == THEMIS_NET_AUTH_MUNGE && !themis_net_auth_has_munge())
        return themis_client_fail(THEMIS_CONFIG, "auth = munge: this program was built without MUNGE: install "
                                                 "libmunge-dev, and configure it again");
    if (*kind == THEMIS_NET_AUTH_SECRET && !secret)
        return themis_client_fail(THEMIS_CONFIG,
                                  "auth = secret: there is no secret: set secret, or THEMIS_SECRET_FILE");
    return THEMIS_OK;
}

static themis_status_t server_user_find(const char *text, themis_net_auth_t *auth)
{
    struct passwd entry, *found = NULL;
    char buffer[1024];
    int64_t number;

    if (!*text)
        return THEMIS_OK;
    auth->has_server_user = 1;
    if (themis_util_config_integer(text, 0, UINT32_MAX - 1, &number) == THEMIS_OK) {
        auth->server_user = (uint32_t)number;
        return THEMIS_OK;
    }
    if (getpwnam_r(text, &entry, buffer, sizeof buffer, &found) != 0 || !found)
        return themis_client_fail(THEMIS_CONFIG, "server_user = %s: there is no such user", text);
    auth->server_user = entry.pw_uid;
    return THEMIS_OK;
}

themis_status_t themis_client_auth_load(const themis_client_auth_texts_t *texts, themis_net_network_t *network,
                                        themis_net_auth_t *auth)
{
    const char *transport = setting("THEMIS_TRANSPORT", texts->transport);
    const char *socket = setting("THEMIS_MUNGE_SOCKET", texts->munge_socket);
    int secret;

    *network = strcmp(transport, "ucx") == 0 ? THEMIS_NET_UCX : THEMIS_NET_TCP;
    if (*transport && *network == THEMIS_NET_TCP && strcmp(transport, "tcp") != 0)
        return themis_client_fail(THEMIS_CONFIG, "transport = %s is not tcp or ucx", transport);
    if (strlen(socket) >= sizeof auth->munge_socket)
        return themis_client_fail(THEMIS_CONFIG, "munge_socket = %s: the path is too long", socket);
    strcpy(auth->munge_socket, socket);
    themis_status_t status = secret_load(texts, auth, &secret);
    if (status == THEMIS_OK)
        status = kind_find(setting("THEMIS_AUTH", texts->auth), secret, &auth->kind);
    return status == THEMIS_OK ? server_user_find(setting("THEMIS_SERVER_USER", texts->server_user), auth) : status;
}
