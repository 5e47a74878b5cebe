/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A position in a message, and how single values are read or written there. Each layout is described once, by a
 * function that works in both directions: it passes the address of each field to the functions below, which store to
 * it when reading and only read it when writing. The first value that does not fit or breaks a limit sets `bad`, and
 * from then on nothing is touched. Internal to proto/.
 */
#pragma once
#include <endian.h>
#include <string.h>
#include "proto/proto.h"

typedef struct themis_proto_coder {
    uint8_t *out;      /* NULL when reading */
    const uint8_t *in; /* NULL when writing */
    size_t length;     /* bytes that may be read or written */
    size_t used;
    int bad;
} themis_proto_coder_t;

/* Sets `bad` unless `good`. */
static inline void themis_proto_check(themis_proto_coder_t *coder, int good)
{
    if (!good)
        coder->bad = 1;
}

/* Advances by `count` bytes; returns where they begin, or NULL if they do not fit. */
static inline void *themis_proto_take(themis_proto_coder_t *coder, size_t count)
{
    if (coder->bad || count > coder->length - coder->used) {
        coder->bad = 1;
        return NULL;
    }
    /* the address is written to only when coder->out is set */
    uint8_t *at = (coder->out != NULL ? coder->out : (uint8_t *)(uintptr_t)coder->in) + coder->used;
    coder->used += count;
    return at;
}

#define THEMIS_PROTO_CODE_NUMBER(bits)                                                                                 \
    static inline void themis_proto_code_u##bits(themis_proto_coder_t *coder, uint##bits##_t *value)                   \
    {                                                                                                                  \
        uint##bits##_t wire;                                                                                           \
        void *at = themis_proto_take(coder, sizeof wire);                                                              \
        if (at == NULL)                                                                                                \
            return;                                                                                                    \
        if (coder->out != NULL) {                                                                                      \
            wire = htole##bits(*value);                                                                                \
            memcpy(at, &wire, sizeof wire);                                                                            \
        } else {                                                                                                       \
            memcpy(&wire, at, sizeof wire);                                                                            \
            *value = le##bits##toh(wire);                                                                              \
        }                                                                                                              \
    }
#define htole8(x) (x)
#define le8toh(x) (x)
THEMIS_PROTO_CODE_NUMBER(8)
THEMIS_PROTO_CODE_NUMBER(16)
THEMIS_PROTO_CODE_NUMBER(32)
THEMIS_PROTO_CODE_NUMBER(64)

/* Fixed bytes, copied. */
static inline void themis_proto_code_bytes(themis_proto_coder_t *coder, uint8_t *bytes, size_t count)
{
    void *at = themis_proto_take(coder, count);

    if (at == NULL)
        return;
    if (coder->out != NULL)
        memcpy(at, bytes, count);
    else
        memcpy(bytes, at, count);
}

/* Bytes whose count is known; borrowed from the message when reading. */
static inline void themis_proto_code_borrowed(themis_proto_coder_t *coder, const void **bytes, size_t count)
{
    void *at = themis_proto_take(coder, count);

    if (at == NULL)
        return;
    if (coder->out == NULL)
        *bytes = at;
    else if (count > 0 && *bytes != NULL)
        memcpy(at, *bytes, count);
}

/* A text after its length in 16 bits, `min` to `max` bytes. */
void themis_proto_code_text(themis_proto_coder_t *coder, themis_proto_text_t *text, size_t min, size_t max);

void themis_proto_code_type(themis_proto_coder_t *coder, themis_proto_type_t *type);
/* 1 for a valid name of a directory entry. */
int themis_proto_is_name(const themis_proto_text_t *name);
/* 1 if no byte is a control character: such a text can be shown on a terminal. */
int themis_proto_is_printable(const themis_proto_text_t *text);
/* An absolute path without empty, "." or ".." components; the server checks the length of components. */
void themis_proto_code_path(themis_proto_coder_t *coder, themis_proto_text_t *path, int may_be_empty);
