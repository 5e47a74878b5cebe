/* SPDX-License-Identifier: BSD-3-Clause */
/* Words, little-endian, and after them path, other name and replaced record. */
#include "server/intent_record.h"
#include <endian.h>
#include <string.h>

enum { VERSION = 1, WORDS = 12, HEAD = 8 * WORDS };

size_t themis_server_intent_record_bytes(const themis_server_intent_t *intent)
{
    return HEAD + intent->path.length + intent->other.length + intent->replaced_length;
}

static char *bytes_append(char *at, const void *bytes, size_t length)
{
    if (length)
        memcpy(at, bytes, length);
    return at + length;
}

void themis_server_intent_record_pack(const themis_server_intent_t *intent, void *bytes)
{
    const uint64_t words[WORDS] = {(uint64_t)VERSION << 32 | intent->kind,
                                   (uint64_t)intent->path.length << 32 | intent->other.length,
                                   intent->ended,
                                   intent->destroyed,
                                   intent->layout.stripe_size,
                                   (uint64_t)intent->layout.count << 32 | intent->layout.first,
                                   intent->object,
                                   intent->old_generation,
                                   intent->rename,
                                   (uint64_t)intent->uid << 32 | intent->gid,
                                   intent->replaced_length,
                                   intent->old_is_gone != 0};
    char *at = bytes;

    for (int i = 0; i < WORDS; i++) {
        uint64_t word = htole64(words[i]);
        at = bytes_append(at, &word, sizeof word);
    }
    at = bytes_append(at, intent->path.bytes, intent->path.length);
    at = bytes_append(at, intent->other.bytes, intent->other.length);
    bytes_append(at, intent->replaced, intent->replaced_length);
}

themis_status_t themis_server_intent_record_unpack(const void *bytes, size_t length, themis_server_intent_t *intent)
{
    uint64_t words[WORDS];
    const char *at = (const char *)bytes + HEAD;

    if (length < sizeof words)
        return THEMIS_CORRUPT;
    memcpy(words, bytes, sizeof words);
    for (int i = 0; i < WORDS; i++)
        words[i] = le64toh(words[i]);
    uint32_t path = (uint32_t)(words[1] >> 32), other = (uint32_t)words[1], kind = (uint32_t)words[0];
    if (words[0] >> 32 != VERSION || kind < THEMIS_SERVER_INTENT_REMOVAL || kind > THEMIS_SERVER_INTENT_RENAME ||
        path == 0 || path > THEMIS_PROTO_MAX_PATH || other > THEMIS_PROTO_MAX_PATH || words[10] > length ||
        length != HEAD + path + other + words[10])
        return THEMIS_CORRUPT;
    *intent = (themis_server_intent_t){
        .kind = (themis_server_intent_kind_t)kind,
        .path = {at, path},
        .other = {at + path, other},
        .ended = words[2],
        .destroyed = words[3],
        .layout = {.stripe_size = words[4], .count = (uint32_t)(words[5] >> 32), .first = (uint32_t)words[5]},
        .object = words[6],
        .old_generation = words[7],
        .rename = words[8],
        .uid = (uint32_t)(words[9] >> 32),
        .gid = (uint32_t)words[9],
        .replaced = at + path + other,
        .replaced_length = words[10],
        .old_is_gone = words[11] != 0};
    return THEMIS_OK;
}
