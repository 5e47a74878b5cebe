/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten words of attributes, and what a name has beside them; little-endian. Version 1 had neither of the last two words:
 * what was the only name of an object gets the object's id for a generation. */
#include "server/name_record.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORD_WORDS = 10,
    RECORD_BYTES = 8 * RECORD_WORDS,
    RECORD_VERSION = 2,
    OLD_BYTES = RECORD_BYTES - 16,
    OLD_VERSION = 1,
    EXTRA_HEAD = 6 /* bytes of two lengths */
};

static void attr_pack(const themis_proto_attr_t *attr, uint64_t words[RECORD_WORDS])
{
    const uint64_t plain[RECORD_WORDS] = {(uint64_t)RECORD_VERSION << 32 | attr->type,
                                          attr->id,
                                          (uint64_t)attr->mode << 32 | attr->uid,
                                          attr->gid,
                                          attr->created,
                                          attr->modified,
                                          attr->layout.stripe_size,
                                          (uint64_t)attr->layout.count << 32 | attr->layout.first,
                                          attr->generation,
                                          attr->store};

    for (int i = 0; i < RECORD_WORDS; i++)
        words[i] = htole64(plain[i]);
}

/* Bytes of the attributes of a record; 0: it is none. */
static size_t attr_bytes(const void *record, size_t length)
{
    uint64_t first;

    if (length < sizeof first)
        return 0;
    memcpy(&first, record, sizeof first);
    uint64_t version = le64toh(first) >> 32;
    size_t bytes = version == RECORD_VERSION ? RECORD_BYTES : version == OLD_VERSION ? OLD_BYTES : SIZE_MAX;
    return bytes <= length ? bytes : 0;
}

static themis_status_t attr_unpack(const void *bytes, size_t length, themis_proto_attr_t *attr)
{
    uint64_t words[RECORD_WORDS] = {0};
    size_t known = attr_bytes(bytes, length);

    if (known == 0)
        return THEMIS_CORRUPT;
    memcpy(words, bytes, known);
    for (int i = 0; i < RECORD_WORDS; i++)
        words[i] = le64toh(words[i]);
    *attr = (themis_proto_attr_t){
        .type = (themis_proto_type_t)(words[0] & 0xff),
        .id = words[1],
        .mode = (uint32_t)(words[2] >> 32),
        .uid = (uint32_t)words[2],
        .gid = (uint32_t)words[3],
        .created = words[4],
        .modified = words[5],
        .generation = words[8],
        .store = words[9],
        .layout = {.stripe_size = words[6], .count = (uint32_t)(words[7] >> 32), .first = (uint32_t)words[7]}};
    if (known == OLD_BYTES) /* no other name has ever had that id */
        attr->generation = attr->id;
    return THEMIS_OK;
}

/* After the attributes: length of the target u16, number of extended attributes u32, and both as they are in messages.
 * Nothing, if there is neither. */
static size_t extra_pack(const themis_proto_extra_t *extra, char *bytes)
{
    const uint16_t target = htole16((uint16_t)extra->target.length);
    const uint32_t count = htole32(extra->xattrs.count);

    if (extra->target.length + extra->xattrs.length == 0)
        return 0;
    memcpy(bytes, &target, sizeof target);
    memcpy(bytes + sizeof target, &count, sizeof count);
    if (extra->target.length)
        memcpy(bytes + EXTRA_HEAD, extra->target.bytes, extra->target.length);
    if (extra->xattrs.length)
        memcpy(bytes + EXTRA_HEAD + extra->target.length, extra->xattrs.bytes, extra->xattrs.length);
    return EXTRA_HEAD + extra->target.length + extra->xattrs.length;
}

themis_status_t themis_server_name_record_extra(const void *record, size_t length, themis_proto_extra_t *extra)
{
    const char *bytes = record;
    uint16_t target = 0;
    uint32_t count = 0;

    *extra = (themis_proto_extra_t){0};
    if (length == 0)
        return THEMIS_OK;
    size_t known = attr_bytes(record, length);
    if (known == 0 || (length > known && length < known + EXTRA_HEAD))
        return THEMIS_CORRUPT;
    if (length == known)
        return THEMIS_OK;
    bytes += known;
    length -= known + EXTRA_HEAD;
    memcpy(&target, bytes, sizeof target);
    memcpy(&count, bytes + sizeof target, sizeof count);
    bytes += EXTRA_HEAD;
    if (le16toh(target) > length)
        return THEMIS_CORRUPT;
    extra->target = (themis_proto_text_t){bytes, le16toh(target)};
    extra->xattrs = (themis_proto_xattrs_t){le32toh(count), (const uint8_t *)bytes + le16toh(target),
                                            (uint32_t)(length - le16toh(target))};
    return THEMIS_OK;
}

themis_status_t themis_server_name_record_attr(const void *record, size_t length, themis_proto_attr_t *attr)
{
    themis_proto_attr_t found;
    themis_proto_extra_t extra;
    themis_status_t status = attr_unpack(record, length, &found);

    if (status == THEMIS_OK)
        status = themis_server_name_record_extra(record, length, &extra);
    if (status != THEMIS_OK)
        return status;
    found.target = extra.target.length;
    found.xattrs = extra.xattrs.length;
    *attr = found;
    return THEMIS_OK;
}

themis_status_t themis_server_name_record_make(const themis_proto_attr_t *attr, const themis_proto_extra_t *extra,
                                               void **record, size_t *length)
{
    static const themis_proto_extra_t nothing;
    uint64_t words[RECORD_WORDS];

    extra = extra ? extra : &nothing;
    char *made = malloc(RECORD_BYTES + EXTRA_HEAD + extra->target.length + extra->xattrs.length);
    if (!made)
        return THEMIS_NO_MEMORY;
    attr_pack(attr, words);
    memcpy(made, words, sizeof words);
    *length = RECORD_BYTES + extra_pack(extra, made + RECORD_BYTES);
    *record = made;
    return THEMIS_OK;
}
