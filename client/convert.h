/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of the public API and of C as those of the messages, and back. */
#pragma once
#include <string.h>
#include "proto/proto.h"
#include "themis/themis.h"

/* `text` is borrowed. */
static inline themis_proto_text_t themis_client_convert_text(const char *text)
{
    return (themis_proto_text_t){text, (uint32_t)strlen(text)};
}

static inline themis_layout_t themis_client_convert_layout(const themis_proto_layout_t *layout)
{
    return (themis_layout_t){layout->stripe_size, layout->count, layout->first};
}
