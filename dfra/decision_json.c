/* SPDX-License-Identifier: BSD-3-Clause */
#include "dfra/decision_json.h"

json_t *themis_dfra_decision_json(const themis_dfra_named_site_t *site, const themis_dfra_decision_t *d,
                                  const char *reason, uint32_t records)
{
    static const char *const tests[] = {"eligible", "new", "volume", "nodes", "metadata"};
    char classes[96], others[96];
    json_t *servers = json_array();

    for (uint32_t i = 0; i < d->servers; i++)
        json_array_append_new(servers, json_string(site->name[d->server[i]]));
    themis_dfra_classes_text(d->classes, classes, sizeof classes);
    themis_dfra_classes_text(d->other_classes, others, sizeof others);
    json_t *json = json_pack("{s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s}", "decision",
                             themis_dfra_kind_name(d->kind), "servers", servers, "reason", reason, "eligibility",
                             tests[d->eligibility], "records", (json_int_t)records, "nodes", (json_int_t)d->nodes,
                             "default_servers", (json_int_t)d->defaults, "wanted_servers", (json_int_t)d->wanted,
                             "idle_servers", (json_int_t)d->idle, "replaced_servers", (json_int_t)d->replaced,
                             "neighbours", (json_int_t)d->neighbours, "classes", classes, "disturbing_classes", others);
    if (json && d->disturbing != UINT32_MAX)
        json_object_set_new(json, "disturbing_job", json_integer((json_int_t)d->disturbing + 1));
    return json;
}
