/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/tcp/record.h"
#include <nettle/memops.h>
#include <string.h>

void themis_net_record_key_set(themis_net_record_key_t *key, const uint8_t bytes[32])
{
    static const uint8_t first[8];

    umac64_set_key(&key->mac, bytes);
    umac64_set_nonce(&key->mac, sizeof first, first); /* each digest adds one */
}

static void record_tag(themis_net_record_key_t *key, const uint8_t *record, size_t length,
                       uint8_t tag[THEMIS_NET_RECORD_TAG])
{
    umac64_update(&key->mac, THEMIS_NET_RECORD_HEAD + length, record);
    umac64_digest(&key->mac, THEMIS_NET_RECORD_TAG, tag);
}

size_t themis_net_record_seal(themis_net_record_key_t *key, uint8_t *record, size_t length)
{
    memset(record, 0, THEMIS_NET_RECORD_HEAD);
    for (int i = 0; i < 4; i++)
        record[i] = (uint8_t)(length >> (8 * i));
    record_tag(key, record, length, record + THEMIS_NET_RECORD_HEAD + length);
    return THEMIS_NET_RECORD_HEAD + length + THEMIS_NET_RECORD_TAG;
}

int themis_net_record_open(themis_net_record_key_t *key, const uint8_t *record, size_t have, size_t *length)
{
    uint8_t tag[THEMIS_NET_RECORD_TAG];
    uint64_t head = 0;

    if (have < THEMIS_NET_RECORD_HEAD)
        return 0;
    for (int i = 0; i < THEMIS_NET_RECORD_HEAD; i++)
        head |= (uint64_t)record[i] << (8 * i);
    if (head == 0 || head > THEMIS_NET_RECORD_BYTES)
        return -1;
    if (have < THEMIS_NET_RECORD_HEAD + head + THEMIS_NET_RECORD_TAG)
        return 0;
    record_tag(key, record, head, tag);
    if (!memeql_sec(tag, record + THEMIS_NET_RECORD_HEAD + head, sizeof tag))
        return -1;
    *length = head;
    return 1;
}
