/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/auth.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "util/config.h"
#include "util/log.h"

themis_net_auth_kind_t themis_server_auth_kind(const themis_server_config_t *config)
{
    int has_secret =
        *config->secret || themis_util_config_env("THEMIS_SECRET_FILE") || themis_util_config_env("THEMIS_SECRET");
    themis_net_auth_kind_t kind;

    themis_net_auth_choose(config->auth, has_secret, &kind); /* the key has no other values */
    return kind;
}

/* Nobody of another host reaches such an address. */
static int is_loopback(const char *listen)
{
    struct in_addr address;

    if (inet_pton(AF_INET, listen, &address) == 1)
        return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
    return strcmp(listen, "localhost") == 0 || strcmp(listen, "::1") == 0;
}

/* Reports what is wrong with the key of `member`. */
static themis_status_t check_failed(const themis_server_config_t *config, const void *member, const char *text,
                                    char *error, size_t size)
{
    size_t used = themis_server_config_where(config, member, error, size);

    snprintf(error + used, size - used, "%s", text);
    return THEMIS_CONFIG;
}

themis_status_t themis_server_auth_check(const themis_server_config_t *config, char *error, size_t size)
{
    int open = strcmp(config->insecure, "yes") == 0 || is_loopback(config->listen);
    int ucx = strcmp(config->transport, "ucx") == 0;
    themis_net_auth_kind_t kind = themis_server_auth_kind(config);

    if (ucx && *config->auth && kind != THEMIS_NET_AUTH_NONE)
        return check_failed(config, config->auth, "nobody is authenticated with transport = ucx: use tcp, or none",
                            error, size);
    if (ucx && !open)
        return check_failed(config, config->transport,
                            "any host that reaches this server could claim to be any user, since UCX does not "
                            "authenticate: listen at a loopback address, or say insecure = yes",
                            error, size);
    if (!ucx && kind == THEMIS_NET_AUTH_NONE && !open)
        return check_failed(config, config->auth,
                            "any host that reaches this server could claim to be any user: listen at a loopback "
                            "address, or say insecure = yes",
                            error, size);
    if (kind == THEMIS_NET_AUTH_MUNGE && !themis_net_auth_has_munge())
        return check_failed(config, config->auth,
                            "this program was built without MUNGE: install libmunge-dev, and configure it again", error,
                            size);
    return THEMIS_OK;
}

static themis_status_t secret_load(const themis_server_config_t *config, themis_net_auth_t *auth)
{
    themis_util_secret_t secret;
    char why[256], where[2 * THEMIS_SERVER_CONFIG_TEXT];
    themis_status_t status;

    themis_server_config_where(config, *config->secret ? config->secret : config->auth, where, sizeof where);
    if (*config->secret)
        status = themis_util_secret_read(config->secret, THEMIS_NET_AUTH_SECRET_MIN, &secret, why, sizeof why);
    else
        status = themis_util_secret_of_environment(THEMIS_NET_AUTH_SECRET_MIN, &secret, why, sizeof why);
    if (status == THEMIS_OK)
        themis_net_auth_set_secret(auth, secret.bytes, secret.length);
    else if (status == THEMIS_NO_ENTRY)
        themis_error("%sthere is no secret: set secret, or THEMIS_SECRET_FILE", where);
    else
        themis_error("%s%s%s%s", where, config->secret, *config->secret ? ": " : "", why);
    explicit_bzero(&secret, sizeof secret);
    return status == THEMIS_OK ? THEMIS_OK : THEMIS_CONFIG;
}

themis_status_t themis_server_auth_load(const themis_server_config_t *config, const themis_server_capability_key_t *key,
                                        themis_net_options_t *options)
{
    themis_net_auth_t *auth = &options->auth;

    options->network = strcmp(config->transport, "ucx") == 0 ? THEMIS_NET_UCX : THEMIS_NET_TCP;
    auth->kind = themis_server_auth_kind(config);
    memcpy(auth->munge_socket, config->munge_socket, sizeof auth->munge_socket);
    if (config->count > 1 && key->length > 0)
        themis_net_auth_set_servers_key(auth, key->bytes, key->length);
    return auth->kind == THEMIS_NET_AUTH_SECRET ? secret_load(config, auth) : THEMIS_OK;
}
