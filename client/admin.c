/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions and orders to one server. */
#include <string.h>
#include "client/call.h"
#include "client/error.h"

static themis_status_t check_index(const themis_t *session, uint32_t index)
{
    if (index < session->settings.server_count)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_INVALID, "there is no server number %u, only %u", index + 1,
                              session->settings.server_count);
}

/* A text there and a text back. */
static themis_status_t exchange(themis_t *session, uint32_t index, themis_proto_opcode_t opcode, const char *question,
                                char **text)
{
    themis_proto_text_body_t request = {{question, (uint32_t)strlen(question)}};
    themis_client_call_t *call;
    themis_proto_body_t body;
    themis_status_t status = check_index(session, index);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_do(session, index, opcode, &request, NULL, &call, &body);
    if (status != THEMIS_OK)
        return status;
    char *copy = strndup(body.text.text.bytes, body.text.text.length);
    themis_client_call_put(call);
    if (!copy)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for the answer of a server");
    *text = copy;
    return THEMIS_OK;
}

themis_status_t themis_query(themis_t *session, uint32_t index, const char *what, char **text)
{
    return exchange(session, index, THEMIS_OP_STATUS, what, text);
}

themis_status_t themis_policy_set(themis_t *session, uint32_t index, const char *policy, char **text)
{
    return exchange(session, index, THEMIS_OP_POLICY, policy, text);
}

themis_status_t themis_shutdown(themis_t *session, uint32_t index)
{
    themis_proto_none_t none = {0};
    themis_client_call_t *call;
    themis_proto_body_t body;
    uint32_t remaining = 1;
    themis_status_t status = check_index(session, index);

    if (status != THEMIS_OK || (status = themis_client_call_get(session, index, &call)) != THEMIS_OK)
        return status;
    call->once = 1;
    status = themis_client_call_start(call, THEMIS_OP_SHUTDOWN, &none, &remaining);
    if (status == THEMIS_OK) {
        themis_client_wait(session, &remaining);
        status = themis_client_call_result(call, NULL, &body);
    }
    themis_client_call_put(call);
    /* a server may be gone before its answer is out */
    return status == THEMIS_DISCONNECTED || status == THEMIS_SHUTTING_DOWN ? THEMIS_OK : status;
}
