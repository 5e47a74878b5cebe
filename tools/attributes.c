/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/attributes.h"
#include <stdio.h>
#include <time.h>
#include "tools/json.h"

const char *themis_tools_attributes_type(themis_type_t type)
{
    if (type == THEMIS_TYPE_SYMLINK)
        return "symbolic link";
    return type == THEMIS_TYPE_DIRECTORY ? "directory" : "file";
}

const char *themis_tools_attributes_time(uint64_t ns, char *text)
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || strftime(text, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(text, 32, "?");
    return text;
}

json_t *themis_tools_attributes_json(const char *name, const themis_stat_t *stat)
{
    json_t *object = json_pack(
        "{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name", themis_tools_json_name(name), "type",
        themis_tools_attributes_type(stat->type), "mode", (json_int_t)stat->mode, "uid", (json_int_t)stat->uid, "gid",
        (json_int_t)stat->gid, "size_bytes", (json_int_t)stat->size, "allocated_bytes", (json_int_t)stat->allocated,
        "created_ns", (json_int_t)stat->created, "modified_ns", (json_int_t)stat->modified, "id", (json_int_t)stat->id);

    if (object && stat->type == THEMIS_TYPE_FILE)
        json_object_set_new(object, "layout",
                            json_pack("{s:I, s:I, s:I}", "stripe_size_bytes", (json_int_t)stat->layout.stripe_size,
                                      "count", (json_int_t)stat->layout.count, "first",
                                      (json_int_t)stat->layout.first));
    if (object && stat->type == THEMIS_TYPE_FILE)
        json_object_set_new(object, "lost_servers", json_integer((json_int_t)stat->lost));
    return object;
}
