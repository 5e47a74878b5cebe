/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/allocate_service.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dfra/dfra.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/owner.h"
#include "util/clock.h"
#include "util/config.h"

typedef themis_tools_allocate_service_t asked_t;

static int id_read(const char *option, const char *text, uint64_t *id)
{
    int64_t number;

    if (themis_util_config_integer(text, 1, INT64_MAX, &number) != THEMIS_OK)
        return themis_tools_misuse("--%s %s: not the number of an allocation", option, text);
    *id = (uint64_t)number;
    return THEMIS_TOOLS_OK;
}

static int is_decision(const char *text)
{
    for (themis_dfra_kind_t kind = THEMIS_DFRA_DEFAULT; kind <= THEMIS_DFRA_DEDICATED; kind++)
        if (strcmp(text, themis_dfra_kind_name(kind)) == 0)
            return 1;
    return 0;
}

/* Lines that a shell can evaluate, whatever a server has answered: the words are comments. */
static int decision_print(const json_t *reply)
{
    const char *decision = themis_tools_json_text(reply, "decision");
    char *placement = themis_tools_allocation_placement(reply);
    size_t count = json_array_size(json_object_get(reply, "servers"));

    if (!placement)
        return themis_tools_error("the allocation service has named servers whose names are none");
    printf("# %s, %zu server%s\n# ", is_decision(decision) ? decision : "unknown decision", count,
           count == 1 ? "" : "s");
    for (const char *at = themis_tools_json_text(reply, "reason"); *at; at++)
        putchar((unsigned char)*at < ' ' || *at == 0x7f ? ' ' : *at);
    printf("\nTHEMIS_PLACEMENT=%s\nTHEMIS_ALLOCATION=%" PRIu64 "\n", placement, themis_tools_allocation_id(reply));
    free(placement);
    return THEMIS_TOOLS_OK;
}

static void time_print(const json_t *allocation, const char *name)
{
    time_t time = (time_t)themis_tools_json_number(allocation, name);
    struct tm local;
    char text[32] = "?";

    if (localtime_r(&time, &local))
        strftime(text, sizeof text, "%F %H:%M", &local);
    printf(" %-16s", text);
}

static void allocation_print(const json_t *a)
{
    char user[THEMIS_TOOLS_OWNER_TEXT], *placement = themis_tools_allocation_placement(a);

    printf("%-16" PRIu64 " %-10.10s %6.0f", themis_tools_allocation_id(a),
           themis_tools_owner_user((uint32_t)themis_tools_json_number(a, "user"), 0, user),
           themis_tools_json_number(a, "nodes"));
    time_print(a, "expires");
    printf(" %-9.9s ", themis_tools_json_text(a, "decision"));
    themis_tools_format_name(themis_tools_json_text(a, "application"), stdout);
    printf(" ");
    themis_tools_format_name(themis_tools_json_text(a, "job"), stdout);
    printf(" %s\n", placement ? placement : "?");
    free(placement);
}

static int list_run(const asked_t *asked)
{
    json_t *list = NULL, *anomalous = NULL;
    int result = themis_tools_allocation_list(asked->servers, &list, &anomalous);

    if (result == THEMIS_TOOLS_OK && asked->json) {
        themis_tools_json_print(
            json_pack("{s:O, s:O}", "allocations", list, "anomalous", anomalous ? anomalous : list));
    } else if (result == THEMIS_TOOLS_OK) {
        printf("%-16s %-10s %6s %-16s %-9s APPLICATION JOB SERVERS\n", "ID", "USER", "NODES", "UNTIL", "DECISION");
        for (size_t i = 0; i < json_array_size(list); i++)
            allocation_print(json_array_get(list, i));
        for (size_t i = 0; i < json_array_size(anomalous); i++) {
            const char *name = json_string_value(json_array_get(anomalous, i));
            printf("slow, and not allocated: ");
            themis_tools_format_name(name ? name : "?", stdout);
            printf("\n");
        }
    }
    json_decref(list);
    json_decref(anomalous);
    return result;
}

static int renew_run(const asked_t *asked, json_t **reply)
{
    uint64_t id = 0, lease = 0;
    int result = id_read("renew", asked->renew, &id);

    if (asked->wish.lease &&
        (themis_util_config_duration(asked->wish.lease, &lease) != THEMIS_OK || lease < THEMIS_NS_PER_S))
        return themis_tools_misuse("--lease %s: not a time of 1s or more, such as 12h", asked->wish.lease);
    if (result != THEMIS_TOOLS_OK)
        return result;
    return themis_tools_allocation_renew(asked->servers, id, lease / THEMIS_NS_PER_S, 0, reply) == THEMIS_OK
               ? THEMIS_TOOLS_OK
               : THEMIS_TOOLS_FAILED;
}

static int release_run(const asked_t *asked, json_t **reply)
{
    uint64_t id = 0;
    int result = id_read("release", asked->release, &id);

    return result == THEMIS_TOOLS_OK ? themis_tools_allocation_release(asked->servers, id, 0, reply) : result;
}

int themis_tools_allocate_service_run(const asked_t *asked)
{
    json_t *reply = NULL;
    int result;

    if (asked->list)
        return list_run(asked);
    if (asked->release)
        result = release_run(asked, &reply);
    else if (asked->release_job)
        result = themis_tools_allocation_release_job(asked->servers, asked->release_job, asked->wish.user, &reply);
    else if (asked->renew)
        result = renew_run(asked, &reply);
    else
        result = themis_tools_allocation_make(asked->servers, &asked->wish, &reply);
    if (result == THEMIS_TOOLS_OK && asked->json)
        themis_tools_json_print(json_incref(reply));
    else if (result == THEMIS_TOOLS_OK && !asked->release && !asked->release_job && !asked->renew)
        result = decision_print(reply);
    json_decref(reply);
    return result;
}
