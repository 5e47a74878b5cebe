/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer: what a stranger sends to a server's port, what a stranger's server answers a client, and records. The
 * first byte says which, and how the bytes are cut.
 */
#include <stdlib.h>
#include <string.h>
#include "net/handshake.h"
#include "net/tcp/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* No hash of such a message can be right: that the handshake is complete means that something was not checked. */
static void feed(themis_net_handshake_t *handshake, const uint8_t *bytes, size_t size, size_t step)
{
    for (size_t at = 0; at < size;) {
        size_t wanted = themis_net_handshake_wanted(handshake);
        if (handshake->have + wanted > sizeof handshake->in || handshake->out_length > sizeof handshake->out)
            abort();
        if (handshake->state == THEMIS_NET_HANDSHAKE_PROVES) {
            themis_net_handshake_prove(handshake);
            continue;
        }
        if (handshake->state == THEMIS_NET_HANDSHAKE_CHECKS)
            themis_net_handshake_check(handshake);
        if (handshake->state == THEMIS_NET_HANDSHAKE_DONE)
            abort();
        if (handshake->state != THEMIS_NET_HANDSHAKE_READS || wanted == 0)
            return;
        size_t count = wanted < step ? wanted : step;
        count = count < size - at ? count : size - at;
        memcpy(handshake->in + handshake->have, bytes + at, count);
        themis_net_handshake_take(handshake, count);
        at += count;
    }
}

static void feed_records(const uint8_t *bytes, size_t size)
{
    static const uint8_t key[32] = "a key that no input knows";
    themis_net_record_key_t in;
    size_t length;

    uint8_t *copy = malloc(size); /* whose end the sanitizer knows */
    memcpy(copy, bytes, size);
    themis_net_record_key_set(&in, key);
    if (themis_net_record_open(&in, copy, size, &length) > 0)
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static themis_net_handshake_t handshake;
    static const uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY];
    static const themis_net_handshake_address_t address;
    themis_net_auth_t auth = {.kind = THEMIS_NET_AUTH_SECRET};

    if (size < 2)
        return 0;
    if (bytes[0] % 4 == 0)
        themis_net_auth_set_servers_key(&auth, "key", 3);
    if (bytes[0] % 3 == 2) {
        feed_records(bytes + 1, size - 1);
        return 0;
    }
    if (bytes[0] % 3 == 0)
        themis_net_handshake_accept(&handshake, &auth, identity, 1);
    else if (themis_net_handshake_start(&handshake, &auth, &address) != THEMIS_OK)
        return 0;
    handshake.out_length = 0;
    feed(&handshake, bytes + 1, size - 1, bytes[0] / 3 + 1);
    return 0;
}
