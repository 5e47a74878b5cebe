/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/binding.h"

void themis_client_binding_set(themis_client_binding_t *binding, const themis_client_peer_t *peer)
{
    if (binding->store && binding->store != peer->store)
        return;
    binding->boot = peer->boot;
    binding->store = peer->store;
}

themis_status_t themis_client_binding_check(themis_client_binding_t *binding, const themis_client_peer_t *peer,
                                            themis_proto_opcode_t opcode, const char **cause)
{
    if (binding->store == 0 || binding->boot == 0)
        themis_client_binding_set(binding, peer);
    if (binding->store != peer->store)
        return THEMIS_LOST;
    if (opcode != THEMIS_OP_SYNC || binding->boot == peer->boot)
        return THEMIS_OK;
    *cause = "its machine was restarted before data were synced; they may be gone";
    return THEMIS_LOST;
}

uint32_t themis_client_binding_flags(const themis_client_binding_t *binding, themis_proto_opcode_t opcode)
{
    if (opcode < THEMIS_OP_READ || opcode > THEMIS_OP_SYNC)
        return 0;
    return (binding->exists ? THEMIS_PROTO_FLAG_EXISTS : 0) |
           (binding->listed == THEMIS_CLIENT_LISTED ? THEMIS_PROTO_FLAG_LISTED : 0);
}

void themis_client_binding_update(themis_client_binding_t *binding, const themis_proto_header_t *reply)
{
    int changes =
        reply->opcode == THEMIS_OP_WRITE || reply->opcode == THEMIS_OP_TRUNCATE || reply->opcode == THEMIS_OP_ALLOCATE;

    if (reply->status == THEMIS_NOT_LISTED && binding->listed != THEMIS_CLIENT_LISTED)
        binding->listed = THEMIS_CLIENT_LISTED_ASKED;
    if (reply->status < 0)
        return;
    if (changes && reply->flags & THEMIS_PROTO_FLAG_EXISTS)
        binding->exists = binding->dirty = binding->changed = 1;
    else if (reply->opcode == THEMIS_OP_SYNC)
        binding->dirty = 0;
}
