/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/quota_sum.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/json.h"
#include "tools/owner.h"

/* The user's row, which is made if there is none; NULL: memory is short. */
static themis_tools_quota_user_t *user_get(themis_tools_quota_sum_t *sum, uint32_t uid)
{
    size_t place = 0;

    while (place < sum->count && sum->users[place].uid < uid)
        place++;
    if (place < sum->count && sum->users[place].uid == uid)
        return &sum->users[place];
    themis_tools_quota_user_t *grown = realloc(sum->users, (sum->count + 1) * sizeof *grown);
    if (!grown) {
        sum->failed = 1;
        return NULL;
    }
    sum->users = grown;
    memmove(grown + place + 1, grown + place, (sum->count - place) * sizeof *grown);
    grown[place] = (themis_tools_quota_user_t){
        .uid = uid, .byte_limit = THEMIS_TOOLS_QUOTA_NONE, .file_limit = THEMIS_TOOLS_QUOTA_NONE};
    sum->count++;
    return &grown[place];
}

static uint64_t limit_of(const json_t *object, const char *name)
{
    const json_t *limit = json_object_get(object, name);

    return json_is_integer(limit) ? (uint64_t)json_integer_value(limit) : THEMIS_TOOLS_QUOTA_NONE;
}

static uint64_t number_of(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static void default_take(themis_tools_quota_sum_t *sum, const json_t *limits)
{
    if (!json_is_object(limits))
        return;
    sum->has_default = 1;
    sum->default_bytes = limit_of(limits, "limit_bytes");
    sum->default_files = limit_of(limits, "limit_files");
}

void themis_tools_quota_sum_add(themis_tools_quota_sum_t *sum, const json_t *answer)
{
    const char *version = themis_tools_json_text(answer, "version");
    const json_t *row;
    size_t i;

    if (*sum->version && strcmp(sum->version, version) != 0)
        sum->differ = 1;
    snprintf(sum->version, sizeof sum->version, "%s", version);
    default_take(sum, json_object_get(answer, "default"));
    sum->counting += json_is_true(json_object_get(answer, "counting"));
    json_array_foreach(json_object_get(answer, "users"), i, row)
    {
        themis_tools_quota_user_t *user = user_get(sum, (uint32_t)number_of(row, "uid"));
        if (!user)
            return;
        user->bytes += number_of(row, "bytes");
        user->files += number_of(row, "files");
        user->byte_limit = limit_of(row, "limit_bytes");
        user->file_limit = limit_of(row, "limit_files");
    }
}

void themis_tools_quota_sum_nothing(themis_tools_quota_sum_t *sum, uint32_t uid)
{
    themis_tools_quota_user_t *user = user_get(sum, uid);

    if (!user || !sum->has_default || uid == 0)
        return;
    user->byte_limit = sum->default_bytes;
    user->file_limit = sum->default_files;
}

static json_t *limit_json(uint64_t limit)
{
    return limit == THEMIS_TOOLS_QUOTA_NONE ? json_null() : json_integer((json_int_t)limit);
}

json_t *themis_tools_quota_sum_json(const themis_tools_quota_sum_t *sum)
{
    json_t *users = json_array();
    char name[THEMIS_TOOLS_OWNER_TEXT];

    for (size_t i = 0; i < sum->count; i++) {
        const themis_tools_quota_user_t *user = &sum->users[i];
        const char *who = user->uid == UINT32_MAX ? "" : themis_tools_owner_user(user->uid, 0, name);
        json_array_append_new(users, json_pack("{s:I, s:o, s:I, s:o, s:I, s:o}", "uid", (json_int_t)user->uid, "user",
                                               themis_tools_json_name(who), "bytes", (json_int_t)user->bytes,
                                               "limit_bytes", limit_json(user->byte_limit), "files",
                                               (json_int_t)user->files, "limit_files", limit_json(user->file_limit)));
    }
    return json_pack("{s:o, s:o, s:b, s:b}", "users", users, "default",
                     sum->has_default ? json_pack("{s:o, s:o}", "limit_bytes", limit_json(sum->default_bytes),
                                                  "limit_files", limit_json(sum->default_files))
                                      : json_null(),
                     "agreed", !sum->differ, "complete", sum->counting == 0);
}
