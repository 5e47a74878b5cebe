/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/handshake.h"
#include <nettle/curve25519.h>
#include <nettle/memops.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "net/frame.h"
#include "net/munge.h"

/* Types of messages; each is expected at one place only. */
enum { CLIENT_HELLO = 1, SERVER_HELLO, CREDENTIAL, PROOF };
enum {
    HEADER = 8,
    MAGIC = 0x484d4854, /* "THMH" */
    CLIENT_HELLO_BYTES = 8 + 32 + 32 + 16 + 2 + 6,
    SERVER_HELLO_BYTES = 12 + 4 + 32 + 32 + 16 + 8,
    PROOF_HEAD = 12, /* before what proves it, both in CREDENTIAL and in PROOF */
    PROOF_MAX = THEMIS_NET_MUNGE_MAX
};
_Static_assert(HEADER + PROOF_HEAD + PROOF_MAX <= THEMIS_NET_HANDSHAKE_BYTES, "every message fits");

static const char client_label[] = "themis client", server_label[] = "themis server";
enum { STATEMENT = sizeof client_label + THEMIS_NET_HANDSHAKE_HASH };

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static void put(uint8_t **at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t **at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t) * (*at)++ << (8 * i);
    return value;
}

static void put_bytes(uint8_t **at, const void *bytes, size_t length)
{
    memcpy(*at, bytes, length);
    *at += length;
}

static void get_bytes(const uint8_t **at, void *bytes, size_t length)
{
    memcpy(bytes, *at, length);
    *at += length;
}

/* The message whose body ends at `end`. */
static void message_end(themis_net_handshake_t *handshake, int type, const uint8_t *end)
{
    uint8_t *at = handshake->out;

    handshake->out_length = (size_t)(end - handshake->out);
    put(&at, MAGIC, 4);
    put(&at, (uint64_t)type, 2);
    put(&at, handshake->out_length - HEADER, 2);
    handshake->have = 0;
}

__attribute__((format(printf, 3, 4))) static void handshake_fail(themis_net_handshake_t *handshake,
                                                                 themis_status_t status, const char *format, ...)
{
    va_list list;

    handshake->state = THEMIS_NET_HANDSHAKE_FAILED;
    handshake->status = status;
    va_start(list, format);
    vsnprintf(handshake->why, sizeof handshake->why, format, list);
    va_end(list);
}

/* --- hellos ------------------------------------------------------------------------------------------------------- */

static int key_make(themis_net_handshake_t *handshake, uint8_t nonce[THEMIS_NET_HANDSHAKE_NONCE], uint8_t public[32])
{
    if (getrandom(handshake->private_key, sizeof handshake->private_key, 0) != sizeof handshake->private_key ||
        getrandom(nonce, THEMIS_NET_HANDSHAKE_NONCE, 0) != THEMIS_NET_HANDSHAKE_NONCE)
        return 0;
    curve25519_mul_g(public, handshake->private_key);
    return 1;
}

void themis_net_handshake_accept(themis_net_handshake_t *handshake, const themis_net_auth_t *auth,
                                 const uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY], uint64_t cookie)
{
    memset(handshake, 0, offsetof(themis_net_handshake_t, out));
    handshake->out_length = handshake->have = 0;
    handshake->auth = auth;
    handshake->server = 1;
    handshake->expects = CLIENT_HELLO;
    handshake->cookie = cookie;
    memcpy(handshake->identity, identity, THEMIS_NET_HANDSHAKE_IDENTITY);
    sha256_init(&handshake->hash);
}

/* What a client can do: in a net of servers only with their key. */
static themis_net_auth_kind_t own_kind(const themis_net_auth_t *auth)
{
    return auth->has_servers_key ? THEMIS_NET_AUTH_SERVERS : auth->kind;
}

themis_status_t themis_net_handshake_start(themis_net_handshake_t *handshake, const themis_net_auth_t *auth,
                                           const themis_net_handshake_address_t *address)
{
    static const uint8_t none[THEMIS_NET_HANDSHAKE_IDENTITY];
    uint8_t *at = handshake->out + HEADER, nonce[THEMIS_NET_HANDSHAKE_NONCE], public[32];

    themis_net_handshake_accept(handshake, auth, none, 0);
    handshake->server = 0;
    handshake->expects = SERVER_HELLO;
    handshake->address = *address;
    if (!key_make(handshake, nonce, public))
        return THEMIS_IO;
    put(&at, THEMIS_NET_WIRE, 4);
    put(&at, 1U << own_kind(auth), 4);
    put_bytes(&at, nonce, sizeof nonce);
    put_bytes(&at, public, sizeof public);
    put_bytes(&at, address->ip, sizeof address->ip);
    put(&at, address->port, 2);
    put(&at, 0, 6);
    message_end(handshake, CLIENT_HELLO, at);
    sha256_update(&handshake->hash, handshake->out_length, handshake->out);
    return THEMIS_OK;
}

static void server_hello_make(themis_net_handshake_t *handshake, themis_status_t status)
{
    uint8_t *at = handshake->out + HEADER, nonce[THEMIS_NET_HANDSHAKE_NONCE], public[32];

    if (!key_make(handshake, nonce, public)) {
        handshake_fail(handshake, THEMIS_IO, "no random numbers");
        return;
    }
    put(&at, THEMIS_NET_WIRE, 4);
    put(&at, handshake->kind, 4);
    put(&at, (uint32_t)status, 4);
    put(&at, 0, 4);
    put_bytes(&at, nonce, sizeof nonce);
    put_bytes(&at, public, sizeof public);
    put_bytes(&at, handshake->identity, sizeof handshake->identity);
    put(&at, handshake->cookie, 8);
    message_end(handshake, SERVER_HELLO, at);
    handshake->expects = CREDENTIAL;
    sha256_update(&handshake->hash, handshake->out_length, handshake->out);
    sha256_digest(&handshake->hash, sizeof handshake->transcript, handshake->transcript);
}

/* Of what the client can do, what this server demands. */
static int kind_choose(themis_net_handshake_t *handshake, uint32_t kinds)
{
    const themis_net_auth_t *auth = handshake->auth;

    handshake->kind = auth->kind;
    if (auth->has_servers_key && kinds & 1U << THEMIS_NET_AUTH_SERVERS)
        handshake->kind = THEMIS_NET_AUTH_SERVERS;
    return handshake->kind != THEMIS_NET_AUTH_LOCAL && kinds & 1U << handshake->kind;
}

static void client_hello_read(themis_net_handshake_t *handshake)
{
    const uint8_t *at = handshake->in + HEADER;
    uint32_t version = (uint32_t)get(&at, 4), kinds = (uint32_t)get(&at, 4);
    themis_status_t status = THEMIS_OK;

    sha256_update(&handshake->hash, handshake->have, handshake->in);
    at += THEMIS_NET_HANDSHAKE_NONCE;
    get_bytes(&at, handshake->peer_key, sizeof handshake->peer_key);
    get_bytes(&at, handshake->address.ip, sizeof handshake->address.ip);
    handshake->address.port = (uint16_t)get(&at, 2);
    if (version != THEMIS_NET_WIRE)
        status = THEMIS_VERSION;
    else if (!kind_choose(handshake, kinds))
        status = THEMIS_ACCESS; /* a process of this host does not care */
    handshake->status = status; /* where it is not THEMIS_OK, no credential is taken */
    server_hello_make(handshake, status);
    if (status == THEMIS_VERSION)
        handshake_fail(handshake, status, "version %u of the transport, not %d", version, THEMIS_NET_WIRE);
}

static void server_hello_read(themis_net_handshake_t *handshake)
{
    const uint8_t *at = handshake->in + HEADER;
    uint32_t version = (uint32_t)get(&at, 4);

    handshake->kind = (themis_net_auth_kind_t)get(&at, 4);
    handshake->status = (themis_status_t)(int32_t)get(&at, 4);
    at += 4 + THEMIS_NET_HANDSHAKE_NONCE;
    get_bytes(&at, handshake->peer_key, sizeof handshake->peer_key);
    get_bytes(&at, handshake->identity, sizeof handshake->identity);
    handshake->cookie = get(&at, 8);
    sha256_update(&handshake->hash, handshake->have, handshake->in);
    sha256_digest(&handshake->hash, sizeof handshake->transcript, handshake->transcript);
    if (version != THEMIS_NET_WIRE)
        handshake_fail(handshake, THEMIS_VERSION, "the server speaks version %u of the transport, not %d", version,
                       THEMIS_NET_WIRE);
    else
        handshake->state = THEMIS_NET_HANDSHAKE_PROVES;
    handshake->expects = PROOF;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static size_t body_length(const themis_net_handshake_t *handshake)
{
    const uint8_t *at = handshake->in + 6;

    return (size_t)get(&at, 2);
}

/* A stranger's first eight bytes decide whether there will be more. */
static int is_expected(const themis_net_handshake_t *handshake)
{
    const uint8_t *at = handshake->in;
    int type = handshake->expects;

    if (get(&at, 4) != MAGIC || (int)get(&at, 2) != type)
        return 0;
    if (type == CREDENTIAL && handshake->status != THEMIS_OK)
        return 0; /* it has been told that it is refused */
    size_t body = body_length(handshake);
    if (type == CLIENT_HELLO)
        return body == CLIENT_HELLO_BYTES;
    if (type == SERVER_HELLO)
        return body == SERVER_HELLO_BYTES;
    return body >= PROOF_HEAD && body <= PROOF_HEAD + PROOF_MAX;
}

size_t themis_net_handshake_wanted(const themis_net_handshake_t *handshake)
{
    size_t whole = handshake->have < HEADER ? HEADER : HEADER + body_length(handshake);

    return handshake->state == THEMIS_NET_HANDSHAKE_READS ? whole - handshake->have : 0;
}

void themis_net_handshake_take(themis_net_handshake_t *handshake, size_t length)
{
    handshake->have += length;
    if (handshake->have == HEADER && length > 0 && !is_expected(handshake)) {
        handshake_fail(handshake, THEMIS_PROTOCOL, "what came is not of Themis");
        return;
    }
    if (handshake->have < HEADER || themis_net_handshake_wanted(handshake) > 0)
        return;
    switch (handshake->expects) {
    case CLIENT_HELLO:
        client_hello_read(handshake);
        break;
    case SERVER_HELLO:
        server_hello_read(handshake);
        break;
    default:
        handshake->state = THEMIS_NET_HANDSHAKE_CHECKS;
    }
}

/* --- proofs ------------------------------------------------------------------------------------------------------- */

/* What a proof of one side is about: who it speaks for, and this connection. */
static void statement_make(const themis_net_handshake_t *handshake, int of_server, uint8_t statement[STATEMENT])
{
    memcpy(statement, of_server ? server_label : client_label, sizeof client_label);
    memcpy(statement + sizeof client_label, handshake->transcript, sizeof handshake->transcript);
}

static const uint8_t *key_of(const themis_net_handshake_t *handshake)
{
    return handshake->kind == THEMIS_NET_AUTH_SERVERS ? handshake->auth->servers_key : handshake->auth->secret;
}

static void statement_hash(const themis_net_handshake_t *handshake, const uint8_t statement[STATEMENT],
                           uint8_t hash[THEMIS_NET_HANDSHAKE_HASH])
{
    themis_net_auth_hmac(key_of(handshake), THEMIS_NET_AUTH_KEY, statement, STATEMENT, hash);
}

/* This side's proof, to `at`; sets *length. */
static themis_status_t proof_make(themis_net_handshake_t *handshake, uint8_t *at, size_t *length)
{
    uint8_t statement[STATEMENT];
    uid_t reader = handshake->server ? handshake->peer.uid : (uid_t)-1;

    statement_make(handshake, handshake->server, statement);
    *length = 0;
    if (handshake->kind == THEMIS_NET_AUTH_NONE)
        return THEMIS_OK;
    if (handshake->kind != THEMIS_NET_AUTH_MUNGE) {
        statement_hash(handshake, statement, at);
        *length = THEMIS_NET_HANDSHAKE_HASH;
        return THEMIS_OK;
    }
    themis_status_t status = themis_net_munge_encode(handshake->auth->munge_socket, statement, sizeof statement, reader,
                                                     (char *)at, handshake->why, sizeof handshake->why);
    *length = status == THEMIS_OK ? strlen((char *)at) + 1 : 0;
    return status;
}

/* A server belongs to root, to the client's own user, or to the one that the client's configuration names. */
static int is_server_user(const themis_net_handshake_t *handshake, uid_t uid)
{
    const themis_net_auth_t *auth = handshake->auth;

    return uid == 0 || uid == geteuid() || (auth->has_server_user && uid == auth->server_user);
}

static themis_status_t munge_check(themis_net_handshake_t *handshake, const uint8_t *statement, const uint8_t *proof,
                                   size_t length)
{
    themis_net_peer_credentials_t *peer = &handshake->peer;

    if (length == 0 || proof[length - 1] != '\0') {
        snprintf(handshake->why, sizeof handshake->why, "not a credential");
        return THEMIS_ACCESS;
    }
    themis_status_t status =
        themis_net_munge_decode(handshake->auth->munge_socket, (const char *)proof, statement, STATEMENT, &peer->uid,
                                &peer->gid, handshake->why, sizeof handshake->why);
    if (status == THEMIS_OK && !handshake->server && !is_server_user(handshake, peer->uid)) {
        snprintf(handshake->why, sizeof handshake->why,
                 "the server belongs to user %u: only one of root, one's own or server_user is believed",
                 (unsigned)peer->uid);
        return THEMIS_ACCESS;
    }
    return status;
}

/* Sets `peer` if the other side has proved what it is. */
static themis_status_t proof_check(themis_net_handshake_t *handshake, const uint8_t *proof, size_t length)
{
    uint8_t statement[STATEMENT], hash[THEMIS_NET_HANDSHAKE_HASH];

    statement_make(handshake, !handshake->server, statement);
    if (handshake->kind == THEMIS_NET_AUTH_NONE)
        return THEMIS_OK;
    if (handshake->kind == THEMIS_NET_AUTH_MUNGE)
        return munge_check(handshake, statement, proof, length);
    if (handshake->kind != THEMIS_NET_AUTH_SECRET && handshake->kind != THEMIS_NET_AUTH_SERVERS)
        return THEMIS_ACCESS; /* there is no key */
    statement_hash(handshake, statement, hash);
    if (length != sizeof hash || !memeql_sec(proof, hash, sizeof hash)) {
        snprintf(handshake->why, sizeof handshake->why, "another %s",
                 handshake->kind == THEMIS_NET_AUTH_SECRET ? "secret" : "key of the servers");
        return THEMIS_ACCESS;
    }
    handshake->peer.uid = geteuid();
    handshake->peer.gid = getegid();
    handshake->peer.server = handshake->kind == THEMIS_NET_AUTH_SERVERS;
    return THEMIS_OK;
}

/* A message with this side's proof; a status other than THEMIS_OK goes without one. */
static void proof_send(themis_net_handshake_t *handshake, int type, themis_status_t status)
{
    uint8_t *at = handshake->out + HEADER;
    size_t length = 0;

    if (status == THEMIS_OK)
        status = proof_make(handshake, at + PROOF_HEAD, &length);
    put(&at, (uint32_t)status, 4);
    put(&at, handshake->kind, 4);
    put(&at, length, 4);
    message_end(handshake, type, at + length);
    if (status != THEMIS_OK) {
        handshake->state = THEMIS_NET_HANDSHAKE_FAILED;
        handshake->status = status;
    }
}

void themis_net_handshake_prove(themis_net_handshake_t *handshake)
{
    themis_net_auth_kind_t own = own_kind(handshake->auth);

    if (handshake->status != THEMIS_OK || handshake->kind != own || own == THEMIS_NET_AUTH_LOCAL) {
        handshake_fail(handshake, THEMIS_ACCESS, "the server's auth is %s, and that of this process %s",
                       themis_net_auth_name(handshake->kind), themis_net_auth_name(own));
        return;
    }
    handshake->state = THEMIS_NET_HANDSHAKE_READS;
    proof_send(handshake, CREDENTIAL, THEMIS_OK);
}

void themis_net_handshake_check(themis_net_handshake_t *handshake)
{
    const uint8_t *at = handshake->in + HEADER;
    themis_status_t status = (themis_status_t)(int32_t)get(&at, 4);
    themis_net_auth_kind_t kind = (themis_net_auth_kind_t)get(&at, 4);
    uint64_t length = get(&at, 4);

    if (kind != handshake->kind || length != handshake->have - HEADER - PROOF_HEAD)
        handshake_fail(handshake, THEMIS_PROTOCOL, "a proof of another shape");
    else if (status != THEMIS_OK)
        handshake_fail(handshake, THEMIS_ACCESS, "%s", "the peer does not believe this process; its log says why");
    if (handshake->state == THEMIS_NET_HANDSHAKE_FAILED)
        return;
    status = proof_check(handshake, at, (size_t)length);
    handshake->state = status == THEMIS_OK ? THEMIS_NET_HANDSHAKE_DONE : THEMIS_NET_HANDSHAKE_FAILED;
    handshake->status = status;
    if (handshake->server)
        proof_send(handshake, PROOF, status);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void key_expand(const uint8_t secret[32], const char *label, uint8_t key[32])
{
    themis_net_auth_hmac(secret, 32, label, strlen(label), key);
}

/* HKDF (RFC 5869) with the transcript as salt: the secret of both keys first, then one key for each direction. */
themis_status_t themis_net_handshake_derive(const themis_net_handshake_t *handshake, themis_net_handshake_keys_t *keys)
{
    static const uint8_t zeros[32];
    uint8_t shared[32], secret[32];

    curve25519_mul(shared, handshake->private_key, handshake->peer_key);
    if (memeql_sec(shared, zeros, sizeof shared))
        return THEMIS_PROTOCOL;
    themis_net_auth_hmac(handshake->transcript, sizeof handshake->transcript, shared, sizeof shared, secret);
    key_expand(secret, "themis to server\x01", keys->to_server);
    key_expand(secret, "themis to client\x01", keys->to_client);
    explicit_bzero(shared, sizeof shared);
    explicit_bzero(secret, sizeof secret);
    return THEMIS_OK;
}

void themis_net_handshake_wipe(themis_net_handshake_t *handshake)
{
    explicit_bzero(handshake->private_key, sizeof handshake->private_key);
    explicit_bzero(&handshake->hash, sizeof handshake->hash);
}
