/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole messages: the header, which is the same for all, and the body after it. The header begins with a magic number,
 * so that other traffic is refused before anything in it is believed.
 */
#include "proto/body.h"
#include "util/status.h"

#define MAGIC UINT32_C(0x534d4854) /* "THMS" */

static void code_header(themis_proto_coder_t *coder, themis_proto_header_t *header, uint32_t *magic)
{
    uint8_t kind = (uint8_t)header->kind;
    uint32_t status = (uint32_t)header->status, reserved = 0;

    themis_proto_code_u32(coder, magic);
    themis_proto_code_u8(coder, &header->version);
    themis_proto_code_u8(coder, &kind);
    themis_proto_code_u16(coder, &header->opcode);
    themis_proto_code_u32(coder, &header->flags);
    themis_proto_code_u32(coder, &header->body);
    themis_proto_code_u64(coder, &header->id);
    themis_proto_code_u32(coder, &status);
    themis_proto_code_u32(coder, &reserved);
    header->kind = (themis_proto_kind_t)kind;
    header->status = (int32_t)status;
    themis_proto_check(coder, header->version != THEMIS_PROTO_VERSION || reserved == 0);
}

static int opcode_is_known(unsigned opcode)
{
    switch (opcode) {
#define CASE(name, number, request, reply) case number:
        THEMIS_PROTO_OPCODES(CASE)
#undef CASE
        return 1;
    default:
        return 0;
    }
}

static int flags_are_sound(const themis_proto_header_t *header)
{
    if (header->flags == 0)
        return 1;
    uint32_t known = THEMIS_PROTO_FLAG_EXISTS | (header->kind == THEMIS_PROTO_REQUEST ? THEMIS_PROTO_FLAG_LISTED : 0);
    return (header->flags & ~known) == 0 && header->opcode >= THEMIS_OP_READ && header->opcode <= THEMIS_OP_SYNC;
}

/* Kind, status and flags as they have to be in this version. */
static int header_is_sound(const themis_proto_header_t *header)
{
    if (!flags_are_sound(header))
        return 0;
    if (header->kind == THEMIS_PROTO_REQUEST)
        return header->status == THEMIS_OK;
    return header->kind == THEMIS_PROTO_REPLY && header->status <= 0 && themis_util_status_is_known(header->status);
}

/* A refusal may answer an opcode that only the peer knows. */
static int opcode_is_allowed(const themis_proto_header_t *header)
{
    return opcode_is_known(header->opcode) || (header->kind == THEMIS_PROTO_REPLY && header->status < 0);
}

themis_status_t themis_proto_encode(const themis_proto_header_t *header, const void *body, void *out, size_t capacity,
                                    size_t *length)
{
    size_t room = capacity < THEMIS_PROTO_MAX_MESSAGE ? capacity : THEMIS_PROTO_MAX_MESSAGE;
    themis_proto_coder_t coder = {.out = out, .length = room, .used = THEMIS_PROTO_HEADER_BYTES};
    themis_proto_header_t full = *header;
    uint32_t magic = MAGIC;

    if (room < THEMIS_PROTO_HEADER_BYTES || !header_is_sound(header) || !opcode_is_allowed(header))
        return THEMIS_RANGE;
    themis_proto_code_body(&coder, header, (void *)(uintptr_t)body); /* read only, as coder.out is set */
    if (coder.bad)
        return THEMIS_RANGE;
    full.version = THEMIS_PROTO_VERSION;
    full.body = (uint32_t)(coder.used - THEMIS_PROTO_HEADER_BYTES);
    *length = coder.used;
    coder.used = 0;
    code_header(&coder, &full, &magic);
    return THEMIS_OK;
}

themis_status_t themis_proto_decode_header(const void *bytes, size_t length, themis_proto_header_t *header)
{
    themis_proto_coder_t coder = {.in = bytes, .length = length};
    themis_proto_header_t read = {.version = 0};
    uint32_t magic = 0;

    code_header(&coder, &read, &magic);
    if (coder.bad || magic != MAGIC || length > THEMIS_PROTO_MAX_MESSAGE)
        return THEMIS_PROTOCOL;
    if (read.version != THEMIS_PROTO_VERSION) {
        *header = read;
        return THEMIS_VERSION;
    }
    if (!header_is_sound(&read) || read.body != length - THEMIS_PROTO_HEADER_BYTES)
        return THEMIS_PROTOCOL;
    *header = read;
    return opcode_is_allowed(&read) ? THEMIS_OK : THEMIS_OPCODE;
}

themis_status_t themis_proto_decode(const void *bytes, size_t length, themis_proto_header_t *header,
                                    themis_proto_body_t *body)
{
    themis_proto_coder_t coder = {.in = bytes, .length = length, .used = THEMIS_PROTO_HEADER_BYTES};
    themis_proto_body_t read;

    themis_status_t status = themis_proto_decode_header(bytes, length, header);
    if (status != THEMIS_OK)
        return status;
    memset(&read, 0, sizeof read);
    themis_proto_code_body(&coder, header, &read);
    if (coder.bad || coder.used != length)
        return THEMIS_PROTOCOL;
    *body = read;
    return THEMIS_OK;
}

int themis_proto_is_done_once(unsigned opcode)
{
    switch (opcode) {
    case THEMIS_OP_CREATE:
    case THEMIS_OP_REMOVE:
    case THEMIS_OP_SETATTR:
    case THEMIS_OP_ENTRY_ADD:
    case THEMIS_OP_ENTRY_REMOVE:
    case THEMIS_OP_SETXATTR:
    case THEMIS_OP_LOCK:
    case THEMIS_OP_UNLOCK:
    case THEMIS_OP_COUNTER:
        return 1;
    default:
        return 0;
    }
}

const char *themis_proto_opcode_name(unsigned opcode)
{
    switch (opcode) {
#define CASE(name, number, request, reply)                                                                             \
    case number:                                                                                                       \
        return #name;
        THEMIS_PROTO_OPCODES(CASE)
#undef CASE
    default:
        return "unknown";
    }
}
