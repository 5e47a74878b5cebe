/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/identity.h"
#include <stdio.h>
#include <string.h>
#include "util/log.h"

/* Ids are shown in terminals and metrics: other than printable bytes become '_'. */
static void id_copy(char id[THEMIS_SCHED_JOB_ID_BYTES], const themis_proto_text_t *text)
{
    size_t length = text->length < THEMIS_SCHED_JOB_ID_BYTES - 1 ? text->length : THEMIS_SCHED_JOB_ID_BYTES - 1;

    for (size_t i = 0; i < length; i++)
        id[i] = text->bytes[i] > ' ' && text->bytes[i] < 127 ? text->bytes[i] : '_';
    id[length] = 0;
}

static uint32_t claim_limit(uint32_t claim, uint32_t limit, const char *what, const char *id)
{
    if (claim > limit)
        themis_warn("job %s claims %u %s: limited to %u by max_%s", id, claim, what, limit, what);
    return claim > limit ? limit : claim ? claim : 1;
}

themis_status_t themis_server_identity_decide(themis_status_t known, const themis_net_peer_credentials_t *peer,
                                              const themis_proto_hello_t *hello,
                                              const themis_server_identity_limits_t *limits,
                                              themis_sched_job_identity_t *identity)
{
    if (known != THEMIS_OK && known != THEMIS_UNSUPPORTED)
        return THEMIS_REFUSED;
    memset(identity, 0, sizeof *identity);
    identity->uid = known == THEMIS_OK ? peer->uid : hello->uid;
    identity->gid = known == THEMIS_OK ? peer->gid : hello->gid;
    id_copy(identity->id, &hello->job);
    if (!*identity->id)
        snprintf(identity->id, sizeof identity->id, "%.*s:%u", (int)(hello->host.length % THEMIS_PROTO_MAX_TEXT),
                 hello->host.length ? hello->host.bytes : "", hello->pid);
    identity->nodes = claim_limit(hello->nodes, limits->nodes, "nodes", identity->id);
    identity->priority = claim_limit(hello->priority, limits->priority, "priority", identity->id);
    return THEMIS_OK;
}
