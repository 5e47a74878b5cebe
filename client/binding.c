/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/binding.h"

void themis_client_binding_set(themis_client_binding_t *binding, const themis_client_peer_t *peer)
{
    binding->boot = peer->boot;
    binding->store = peer->store;
}

themis_status_t themis_client_binding_check(themis_client_binding_t *binding, const themis_client_peer_t *peer,
                                            themis_proto_opcode_t opcode, const char **cause)
{
    if (binding->store == 0)
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
    return binding->exists && opcode >= THEMIS_OP_READ && opcode <= THEMIS_OP_SYNC ? THEMIS_PROTO_FLAG_EXISTS : 0;
}

void themis_client_binding_update(themis_client_binding_t *binding, const themis_proto_header_t *reply)
{
    if (reply->status < 0)
        return;
    if (reply->opcode == THEMIS_OP_WRITE || reply->opcode == THEMIS_OP_TRUNCATE || reply->opcode == THEMIS_OP_ALLOCATE)
        binding->exists = binding->dirty = binding->changed = 1;
    else if (reply->opcode == THEMIS_OP_SYNC)
        binding->dirty = 0;
}
