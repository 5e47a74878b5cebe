/* SPDX-License-Identifier: BSD-3-Clause */
/* What users have on all servers, from their answers (server/quota_requests.h). */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define THEMIS_TOOLS_QUOTA_NONE UINT64_MAX /* no limit */

typedef struct themis_tools_quota_user {
    uint32_t uid;
    uint64_t bytes, files;
    uint64_t byte_limit, file_limit;
} themis_tools_quota_user_t;

/* Empty when all zeros. */
typedef struct themis_tools_quota_sum {
    themis_tools_quota_user_t *users; /* [count], by user id; owned */
    size_t count;
    char version[64];  /* of the limits; "": no server has answered */
    int differ;        /* 1: not all servers have that version */
    int failed;        /* 1: memory was short */
    uint32_t counting; /* servers that do not know yet all that they have */
    int has_default;
    uint64_t default_bytes, default_files;
} themis_tools_quota_sum_t;

void themis_tools_quota_sum_add(themis_tools_quota_sum_t *sum, const json_t *answer);
/* A user of whom no server knows has nothing. */
void themis_tools_quota_sum_nothing(themis_tools_quota_sum_t *sum, uint32_t uid);
json_t *themis_tools_quota_sum_json(const themis_tools_quota_sum_t *sum);
