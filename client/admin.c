/* SPDX-License-Identifier: BSD-3-Clause */
/* Administration of one server. */
#include "client/convert.h"
#include "client/error.h"
#include "client/session.h"

static themis_status_t check_index(const themis_t *session, uint32_t index)
{
    if (index < session->peers.count)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_INVALID, "there is no server number %u, only %u", index + 1, session->peers.count);
}

/* A text as request, and one as reply. */
static themis_status_t ask_text(themis_t *session, uint32_t index, themis_proto_opcode_t opcode, const char *question,
                                char **text)
{
    themis_proto_text_body_t request = {themis_client_convert_text(question)};
    themis_client_call_t *call;
    themis_proto_body_t reply;
    themis_status_t status = check_index(session, index);

    if (status != THEMIS_OK || (status = themis_client_call_get(&session->calls, index, &call)) != THEMIS_OK)
        return status;
    status = themis_client_call_do(call, opcode, &request, NULL, &reply);
    char *copy = status == THEMIS_OK ? strndup(reply.text.text.bytes, reply.text.text.length) : NULL;
    themis_client_call_put(call);
    if (status != THEMIS_OK)
        return status;
    if (!copy)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for the reply of a server");
    *text = copy;
    return THEMIS_OK;
}

themis_status_t themis_query(themis_t *session, uint32_t index, const char *what, char **text)
{
    return ask_text(session, index, THEMIS_OP_STATUS, what, text);
}

themis_status_t themis_policy_set(themis_t *session, uint32_t index, const char *policy, char **text)
{
    return ask_text(session, index, THEMIS_OP_POLICY, policy, text);
}

themis_status_t themis_plan_set(themis_t *session, uint32_t index, const char *plan, char **text)
{
    return ask_text(session, index, THEMIS_OP_PLAN, plan, text);
}

themis_status_t themis_allocation_ask(themis_t *session, uint32_t index, const char *question, char **text)
{
    return ask_text(session, index, THEMIS_OP_JOB_SERVERS, question, text);
}

themis_status_t themis_check(themis_t *session, uint32_t index, const char *question, char **text)
{
    return ask_text(session, index, THEMIS_OP_CHECK, question, text);
}

themis_status_t themis_shutdown(themis_t *session, uint32_t index)
{
    themis_proto_none_t none = {0};
    themis_proto_body_t reply;
    themis_status_t status = check_index(session, index);

    if (status == THEMIS_OK)
        status = themis_client_call_ask(&session->calls, index, THEMIS_OP_SHUTDOWN, &none, NULL, &reply);
    /* the server may end before its reply is out */
    return status == THEMIS_DISCONNECTED || status == THEMIS_SHUTTING_DOWN ? THEMIS_OK : status;
}
