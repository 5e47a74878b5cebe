/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/auth.h"
#include "config.h"
#include <nettle/hmac.h>
#include <string.h>

void themis_net_auth_hmac(const void *key, size_t key_length, const void *bytes, size_t length,
                          uint8_t hash[THEMIS_NET_AUTH_KEY])
{
    struct hmac_sha256_ctx hmac;

    hmac_sha256_set_key(&hmac, key_length, key);
    hmac_sha256_update(&hmac, length, bytes);
    hmac_sha256_digest(&hmac, THEMIS_NET_AUTH_KEY, hash);
    explicit_bzero(&hmac, sizeof hmac);
}

/* One key for each purpose, whatever its bytes are used for elsewhere. */
static void key_derive(const void *bytes, size_t length, const char *purpose, uint8_t key[THEMIS_NET_AUTH_KEY])
{
    themis_net_auth_hmac(bytes, length, purpose, strlen(purpose), key);
}

void themis_net_auth_set_secret(themis_net_auth_t *auth, const void *bytes, size_t length)
{
    key_derive(bytes, length, "themis net secret", auth->secret);
}

void themis_net_auth_set_servers_key(themis_net_auth_t *auth, const void *bytes, size_t length)
{
    key_derive(bytes, length, "themis net servers", auth->servers_key);
    auth->has_servers_key = 1;
}

void themis_net_auth_wipe(themis_net_auth_t *auth)
{
    explicit_bzero(auth->secret, sizeof auth->secret);
    explicit_bzero(auth->servers_key, sizeof auth->servers_key);
}

int themis_net_auth_has_munge(void)
{
    return THEMIS_MUNGE;
}

static const char *const names[] = {"local", "none", "secret", "munge", "the servers' key"};

themis_status_t themis_net_auth_choose(const char *name, int has_secret, themis_net_auth_kind_t *kind)
{
    *kind = has_secret ? THEMIS_NET_AUTH_SECRET : THEMIS_MUNGE ? THEMIS_NET_AUTH_MUNGE : THEMIS_NET_AUTH_LOCAL;
    if (*name == '\0')
        return THEMIS_OK;
    for (int i = THEMIS_NET_AUTH_LOCAL; i <= THEMIS_NET_AUTH_MUNGE; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (themis_net_auth_kind_t)i;
            return THEMIS_OK;
        }
    return THEMIS_CONFIG;
}

const char *themis_net_auth_name(themis_net_auth_kind_t kind)
{
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}
