/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/identity.h"
#include <stdio.h>
#include <string.h>
#include "util/log.h"

enum { HOST_BYTES = 128 };

/* Ids are shown in terminals, JSON and metrics: other than printable bytes become '_'. At most `max` bytes; returns how
 * many. */
static size_t id_copy(char *id, size_t max, const themis_proto_text_t *text)
{
    size_t length = text->length < max ? text->length : max;

    for (size_t i = 0; i < length; i++)
        id[i] = text->bytes[i] > ' ' && text->bytes[i] < 127 ? text->bytes[i] : '_';
    id[length] = 0;
    return length;
}

/* A process without a job is one of its own. */
static void id_make(char id[THEMIS_SCHED_JOB_ID_BYTES], const themis_proto_hello_t *hello)
{
    if (id_copy(id, THEMIS_SCHED_JOB_ID_BYTES - 1, &hello->job) > 0)
        return;
    size_t length = id_copy(id, HOST_BYTES, &hello->host);
    snprintf(id + length, THEMIS_SCHED_JOB_ID_BYTES - length, ":%u", hello->pid);
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
    id_make(identity->id, hello);
    identity->nodes = claim_limit(hello->nodes, limits->nodes, "nodes", identity->id);
    identity->priority = claim_limit(hello->priority, limits->priority, "priority", identity->id);
    return THEMIS_OK;
}
