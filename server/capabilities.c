/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is hashed begins with its kind, so that a capability is never taken for a seal. Hashes are compared in constant
 * time, those of the cache included: who measures how long a refusal takes learns nothing of the right one.
 */
#include "server/capabilities.h"
#include <endian.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include "util/clock.h"
#include "util/log.h"
#include "util/min.h"

enum { CACHE_ENTRIES = 64, GRANULES = 64, CAPABILITY_WORDS = 4, SEAL_WORDS = 13 };
enum { KIND_CAPABILITY = 1, KIND_SEAL, KIND_KEY };

#define MAX_SKEW (300 * THEMIS_NS_PER_S)
#define WARN_INTERVAL (60 * THEMIS_NS_PER_S)
#define RENAME_LIFETIME (60 * THEMIS_NS_PER_S)

struct themis_server_capabilities {
    struct hmac_sha256_ctx keyed; /* to be copied for each hash */
    int checked;
    uint64_t key_id; /* tells keys apart in the cache */
    _Atomic uint64_t lifetime;
    _Atomic uint64_t warn_again; /* ns */
};

typedef struct cached {
    uint64_t key_id, words[CAPABILITY_WORDS];
    uint8_t mac[THEMIS_PROTO_MAC_BYTES];
} cached_t;

/* --- hashes ------------------------------------------------------------------------------------------------------- */

static void words_hash(const themis_server_capabilities_t *capabilities, const uint64_t *words, size_t count,
                       uint8_t mac[THEMIS_PROTO_MAC_BYTES])
{
    struct hmac_sha256_ctx context = capabilities->keyed;
    uint64_t bytes[SEAL_WORDS];

    for (size_t i = 0; i < count; i++)
        bytes[i] = htole64(words[i]);
    hmac_sha256_update(&context, count * sizeof *bytes, (const uint8_t *)bytes);
    hmac_sha256_digest(&context, THEMIS_PROTO_MAC_BYTES, mac);
}

static void capability_words(uint64_t object, const themis_proto_capability_t *capability,
                             uint64_t words[CAPABILITY_WORDS])
{
    words[0] = KIND_CAPABILITY;
    words[1] = object;
    words[2] = (uint64_t)capability->uid << 32 | capability->rights;
    words[3] = capability->expires;
}

static void seal_make(const themis_server_capabilities_t *capabilities, const themis_proto_attr_t *attr,
                      uint8_t seal[THEMIS_PROTO_MAC_BYTES])
{
    const themis_proto_capability_t *capability = &attr->capability;
    const uint64_t words[SEAL_WORDS] = {KIND_SEAL,
                                        attr->id,
                                        (uint64_t)capability->uid << 32 | capability->rights,
                                        capability->expires,
                                        (uint64_t)attr->type << 32 | attr->mode,
                                        (uint64_t)attr->uid << 32 | attr->gid,
                                        attr->created,
                                        attr->modified,
                                        attr->layout.stripe_size,
                                        attr->layout.count,
                                        attr->layout.first,
                                        attr->generation,
                                        attr->store};

    words_hash(capabilities, words, SEAL_WORDS, seal);
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_capabilities_create(const void *key, size_t length, uint64_t lifetime,
                                                  themis_server_capabilities_t **capabilities)
{
    themis_server_capabilities_t *made = calloc(1, sizeof *made);
    const uint64_t word = KIND_KEY;
    uint8_t id[THEMIS_PROTO_MAC_BYTES];

    if (!made)
        return THEMIS_NO_MEMORY;
    made->checked = length > 0;
    made->lifetime = lifetime;
    hmac_sha256_set_key(&made->keyed, length, key);
    words_hash(made, &word, 1, id);
    memcpy(&made->key_id, id, sizeof made->key_id);
    made->key_id |= 1; /* not that of an empty entry */
    *capabilities = made;
    return THEMIS_OK;
}

void themis_server_capabilities_destroy(themis_server_capabilities_t *capabilities)
{
    if (capabilities)
        explicit_bzero(capabilities, sizeof *capabilities);
    free(capabilities);
}

void themis_server_capabilities_set_lifetime(themis_server_capabilities_t *capabilities, uint64_t lifetime)
{
    capabilities->lifetime = lifetime;
}

int themis_server_capabilities_are_checked(const themis_server_capabilities_t *capabilities)
{
    return capabilities->checked;
}

/* --- signing ------------------------------------------------------------------------------------------------------ */

void themis_server_capabilities_sign(const themis_server_capabilities_t *capabilities, uint32_t uid,
                                     themis_proto_attr_t *attr)
{
    themis_proto_capability_t *capability = &attr->capability;
    uint32_t rights = attr->id ? capability->rights : 0;
    uint64_t words[CAPABILITY_WORDS], lifetime = capabilities->lifetime;

    *capability = (themis_proto_capability_t){.rights = rights, .uid = uid};
    memset(attr->seal, 0, sizeof attr->seal);
    if (!rights)
        return;
    /* but a client needs DESTROY until it has destroyed the bytes at all servers */
    if (rights & THEMIS_PROTO_RIGHT_RENAME && !(rights & THEMIS_PROTO_RIGHT_DESTROY))
        lifetime = themis_util_min(lifetime, RENAME_LIFETIME);
    /* rounded, so that the ranks of a job have the same one, which is found in the cache */
    uint64_t granule = lifetime / GRANULES + 1;
    capability->expires = (themis_util_clock_wall() + lifetime) / granule * granule;
    if (!capabilities->checked)
        return;
    capability_words(attr->id, capability, words);
    words_hash(capabilities, words, CAPABILITY_WORDS, capability->mac);
    if (rights & THEMIS_PROTO_RIGHT_RENAME)
        seal_make(capabilities, attr, attr->seal);
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

/* However long it lasts: a server with a longer lifetime, as while the servers are reloaded, may have given it. */
static int is_expired(const themis_server_capabilities_t *capabilities, const themis_proto_capability_t *capability)
{
    uint64_t lifetime = capabilities->lifetime, skew = themis_util_min(lifetime / 16, MAX_SKEW);

    return capability->expires + skew < themis_util_clock_wall_coarse();
}

/* A program may have forged it; but it is also what servers with different keys see of each other. */
static void warn_of_forgery(themis_server_capabilities_t *capabilities, uint64_t object, uint32_t uid)
{
    uint64_t now = themis_util_clock_now(), due = capabilities->warn_again;

    if (now >= due && atomic_compare_exchange_strong(&capabilities->warn_again, &due, now + WARN_INTERVAL))
        themis_warn("user %" PRIu32 " shows a capability for object %" PRIx64
                    " that was not signed with this server's key; do all servers have the same one?",
                    uid, object);
}

/* Is that the hash of a capability of these words? Only those of genuine ones are kept. */
static int mac_is_genuine(themis_server_capabilities_t *capabilities, const uint64_t words[CAPABILITY_WORDS],
                          const uint8_t mac[THEMIS_PROTO_MAC_BYTES])
{
    static _Thread_local cached_t cache[CACHE_ENTRIES];
    uint64_t hash = (words[1] ^ words[2] << 20 ^ words[3]) * UINT64_C(0x9e3779b97f4a7c15);
    cached_t *entry = &cache[(hash >> 32) % CACHE_ENTRIES];
    uint8_t right[THEMIS_PROTO_MAC_BYTES];

    if (entry->key_id == capabilities->key_id && memcmp(entry->words, words, sizeof entry->words) == 0)
        return memeql_sec(entry->mac, mac, sizeof entry->mac);
    words_hash(capabilities, words, CAPABILITY_WORDS, right);
    if (!memeql_sec(right, mac, sizeof right))
        return 0;
    entry->key_id = capabilities->key_id;
    memcpy(entry->words, words, sizeof entry->words);
    memcpy(entry->mac, right, sizeof right);
    return 1;
}

themis_status_t themis_server_capabilities_check(themis_server_capabilities_t *capabilities, uint64_t object,
                                                 const themis_proto_capability_t *capability, uint32_t uid,
                                                 uint32_t rights)
{
    uint64_t words[CAPABILITY_WORDS];

    if (!capabilities->checked)
        return THEMIS_OK;
    if (capability->uid != uid || (capability->rights & rights) != rights)
        return THEMIS_ACCESS;
    capability_words(object, capability, words);
    if (!mac_is_genuine(capabilities, words, capability->mac)) {
        warn_of_forgery(capabilities, object, uid);
        return THEMIS_ACCESS;
    }
    return is_expired(capabilities, capability) ? THEMIS_EXPIRED : THEMIS_OK;
}

themis_status_t themis_server_capabilities_check_seal(themis_server_capabilities_t *capabilities,
                                                      const themis_proto_attr_t *attr, uint32_t uid)
{
    uint8_t seal[THEMIS_PROTO_MAC_BYTES];

    themis_status_t status =
        themis_server_capabilities_check(capabilities, attr->id, &attr->capability, uid, THEMIS_PROTO_RIGHT_RENAME);
    if (status != THEMIS_OK || !capabilities->checked)
        return status;
    seal_make(capabilities, attr, seal);
    return memeql_sec(seal, attr->seal, sizeof seal) ? THEMIS_OK : THEMIS_ACCESS;
}
