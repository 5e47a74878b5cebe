/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/saved_replies.h"
#include <stdlib.h>
#include <string.h>

static void saved_reply_clear(themis_server_saved_reply_t *reply)
{
    free(reply->bytes);
    memset(reply, 0, sizeof *reply);
}

themis_server_saved_reply_t *themis_server_saved_replies_find(themis_server_saved_replies_t *replies, uint64_t id)
{
    for (int i = 0; i < THEMIS_SERVER_SAVED_REPLIES; i++)
        if (replies->list[i].used && replies->list[i].id == id)
            return &replies->list[i];
    return NULL;
}

int themis_server_saved_replies_begin(themis_server_saved_replies_t *replies, uint64_t id)
{
    for (int i = 0; i < THEMIS_SERVER_SAVED_REPLIES; i++) {
        uint32_t at = replies->next++ % THEMIS_SERVER_SAVED_REPLIES;
        themis_server_saved_reply_t *reply = &replies->list[at];
        if (reply->used && !reply->done)
            continue;
        saved_reply_clear(reply);
        reply->used = 1;
        reply->id = id;
        return (int)at + 1;
    }
    return 0;
}

void themis_server_saved_replies_end(themis_server_saved_replies_t *replies, uint64_t id, const void *bytes,
                                     size_t length)
{
    themis_server_saved_reply_t *reply = themis_server_saved_replies_find(replies, id);
    void *copy = reply && bytes ? malloc(length) : NULL;

    if (copy) {
        memcpy(copy, bytes, length);
        reply->bytes = copy;
        reply->length = length;
        reply->done = 1;
    } else if (reply) {
        saved_reply_clear(reply);
    }
}

/* Is `id` that of the newest reply? */
static int is_newest(const themis_server_saved_replies_t *replies, uint64_t id)
{
    for (int i = 0; i < THEMIS_SERVER_SAVED_REPLIES; i++)
        if (replies->list[i].used && replies->list[i].id > id)
            return 0;
    return 1;
}

void themis_server_saved_replies_restore(themis_server_saved_replies_t *replies, int place, uint64_t id,
                                         const void *bytes, size_t length)
{
    themis_server_saved_reply_t *reply = &replies->list[place - 1];

    saved_reply_clear(reply);
    reply->used = 1;
    reply->id = id;
    if (is_newest(replies, id))
        replies->next = (uint32_t)place;
    themis_server_saved_replies_end(replies, id, bytes, length);
}

void themis_server_saved_replies_clear(themis_server_saved_replies_t *replies)
{
    for (int i = 0; i < THEMIS_SERVER_SAVED_REPLIES; i++)
        saved_reply_clear(&replies->list[i]);
}
