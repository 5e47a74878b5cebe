/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/munge.h"
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if THEMIS_MUNGE
#include <munge.h>

static themis_status_t munge_failed(munge_ctx_t context, munge_err_t error, char *why, size_t size)
{
    const char *text = context != NULL ? munge_ctx_strerror(context) : NULL;

    snprintf(why, size, "munge: %s", text != NULL ? text : munge_strerror(error));
    return THEMIS_ACCESS;
}

static munge_ctx_t context_make(const char *socket)
{
    munge_ctx_t context = munge_ctx_create();

    if (context != NULL && *socket && munge_ctx_set(context, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
        munge_ctx_destroy(context);
        return NULL;
    }
    return context;
}

themis_status_t themis_net_munge_encode(const char *socket, const void *bytes, size_t length, uid_t reader,
                                        char credential[THEMIS_NET_MUNGE_MAX], char *why, size_t size)
{
    munge_ctx_t context = context_make(socket);
    char *made = NULL;
    themis_status_t status = THEMIS_OK;

    munge_err_t error = context != NULL ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
    if (error == EMUNGE_SUCCESS)
        error = munge_ctx_set(context, MUNGE_OPT_TTL, (int)THEMIS_NET_MUNGE_LIFETIME);
    if (error == EMUNGE_SUCCESS && reader != (uid_t)-1)
        error = munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, reader);
    if (error == EMUNGE_SUCCESS)
        error = munge_encode(&made, context, bytes, (int)length);
    if (error != EMUNGE_SUCCESS) {
        status = munge_failed(context, error, why, size);
    } else if (strlen(made) >= THEMIS_NET_MUNGE_MAX) {
        snprintf(why, size, "munge: a credential of %zu bytes is too long", strlen(made));
        status = THEMIS_RANGE;
    } else {
        strcpy(credential, made);
    }
    free(made);
    munge_ctx_destroy(context);
    return status;
}

/* Of a credential that munged believes; others may be older than this program allows. */
static int is_young(munge_ctx_t context)
{
    time_t encoded = 0, decoded = 0;
    int lifetime = 0;

    return munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &encoded) == EMUNGE_SUCCESS &&
           munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &decoded) == EMUNGE_SUCCESS &&
           munge_ctx_get(context, MUNGE_OPT_TTL, &lifetime) == EMUNGE_SUCCESS &&
           lifetime <= THEMIS_NET_MUNGE_LIFETIME && decoded - encoded <= THEMIS_NET_MUNGE_LIFETIME;
}

themis_status_t themis_net_munge_decode(const char *socket, const char *credential, const void *bytes, size_t length,
                                        uid_t *uid, gid_t *gid, char *why, size_t size)
{
    munge_ctx_t context = context_make(socket);
    void *payload = NULL;
    int payload_length = 0;
    themis_status_t status = THEMIS_OK;
    uid_t who;
    gid_t group;

    munge_err_t error =
        context != NULL ? munge_decode(credential, context, &payload, &payload_length, &who, &group) : EMUNGE_NO_MEMORY;
    if (error != EMUNGE_SUCCESS)
        status = munge_failed(context, error, why, size);
    else if (payload_length < 0 || (size_t)payload_length != length || memcmp(payload, bytes, length) != 0)
        snprintf(why, size, "munge: a credential for another connection");
    else if (!is_young(context))
        snprintf(why, size, "munge: a credential that lasts longer than %d s", THEMIS_NET_MUNGE_LIFETIME);
    else
        *uid = who, *gid = group, *why = '\0';
    if (status == THEMIS_OK && *why != '\0')
        status = THEMIS_ACCESS;
    free(payload);
    munge_ctx_destroy(context);
    return status;
}
#else

static themis_status_t munge_is_missing(char *why, size_t size)
{
    snprintf(why, size, "this program was built without MUNGE: install libmunge-dev, and configure it again");
    return THEMIS_ACCESS;
}

themis_status_t themis_net_munge_encode(const char *socket, const void *bytes, size_t length, uid_t reader,
                                        char credential[THEMIS_NET_MUNGE_MAX], char *why, size_t size)
{
    return munge_is_missing(why, size);
}

themis_status_t themis_net_munge_decode(const char *socket, const char *credential, const void *bytes, size_t length,
                                        uid_t *uid, gid_t *gid, char *why, size_t size)
{
    return munge_is_missing(why, size);
}
#endif
