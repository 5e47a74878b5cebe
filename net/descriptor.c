/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/descriptor.h"
#include <endian.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(sizeof(themis_net_descriptor_t) == THEMIS_NET_DESCRIPTOR_BYTES, "descriptor has no gaps");

static uint64_t checksum(const unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES])
{
    return XXH3_64bits(bytes, offsetof(themis_net_descriptor_t, check));
}

void themis_net_descriptor_write(const themis_net_descriptor_t *descriptor,
                                 unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES])
{
    themis_net_descriptor_t wire = {.token = htole64(descriptor->token),
                                    .total = htole64(descriptor->total),
                                    .address = htole64(descriptor->address),
                                    .count = htole32(descriptor->count),
                                    .flags = htole32(descriptor->flags)};

    memcpy(bytes, &wire, sizeof wire);
    wire.check = htole64(checksum(bytes));
    memcpy(bytes, &wire, sizeof wire);
}

themis_status_t themis_net_descriptor_read(const unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES],
                                           themis_net_descriptor_t *descriptor)
{
    themis_net_descriptor_t wire;

    memcpy(&wire, bytes, sizeof wire);
    if (le64toh(wire.check) != checksum(bytes) || le64toh(wire.total) > INT64_MAX ||
        le32toh(wire.count) > THEMIS_NET_MAX_SEGMENTS)
        return THEMIS_PROTOCOL;
    *descriptor = (themis_net_descriptor_t){.token = le64toh(wire.token),
                                            .total = le64toh(wire.total),
                                            .address = le64toh(wire.address),
                                            .count = le32toh(wire.count),
                                            .flags = le32toh(wire.flags)};
    return THEMIS_OK;
}
