/* SPDX-License-Identifier: BSD-3-Clause */
/* themis allocate: which servers a job is to use, from what earlier runs of its application did. */
#include <stdio.h>
#include <stdlib.h>
#include "dfra/decision_json.h"
#include "tools/allocate_service.h"
#include "tools/allocate_state.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/options.h"

enum { MOST_RANGES = 1024 };

typedef struct settings {
    const char *site, *history, *state, *application, *user, *nodes;
    int json;
    themis_dfra_range_t range[MOST_RANGES];
    uint32_t ranges;
    uint32_t count; /* of nodes */
    themis_dfra_named_site_t site_file;
    themis_tools_allocate_history_t history_file;
    themis_tools_allocate_state_t state_file;
    themis_dfra_application_t known;
} settings_t;

static int nodes_read(settings_t *s)
{
    if (themis_dfra_nodes_parse(s->nodes, s->range, MOST_RANGES, &s->ranges, &s->count) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    return themis_tools_misuse("--nodes %s: not numbers of nodes in ascending order, such as 0-255,600", s->nodes);
}

static int site_read(settings_t *s)
{
    char error[512];

    return themis_dfra_site_read(&s->site_file, s->site, error, sizeof error) == THEMIS_OK
               ? THEMIS_TOOLS_OK
               : themis_tools_misuse("%s", error);
}

static void decision_print(const settings_t *s, const themis_dfra_decision_t *d, const char *text)
{
    printf("%s, %u server%s\n%s\nTHEMIS_SERVERS=", themis_dfra_kind_name(d->kind), d->servers,
           d->servers == 1 ? "" : "s", text);
    for (uint32_t i = 0; i < d->servers; i++)
        printf("%s%s", i ? "," : "", s->site_file.name[d->server[i]]);
    putchar('\n');
}

static int decision_print_json(const settings_t *s, const themis_dfra_decision_t *d, const char *text)
{
    json_t *json = themis_dfra_decision_json(&s->site_file, d, text, s->known.records);

    if (!json)
        return themis_tools_error("the decision cannot be written as JSON");
    themis_tools_json_print(json);
    return THEMIS_TOOLS_OK;
}

static int decide(const settings_t *s)
{
    const themis_dfra_application_t *known = s->known.records > 0 ? &s->known : NULL;
    themis_dfra_job_t job = {known, s->range, s->ranges};
    themis_dfra_decision_t decision;
    char text[1024];
    int result = THEMIS_TOOLS_OK;

    if (themis_dfra_decide(&s->site_file.site, &s->state_file.pool, &job, &decision, text, sizeof text) != THEMIS_OK)
        return themis_tools_error("%s", text);
    themis_dfra_explain(&s->site_file.site, known, &decision, text, sizeof text);
    if (s->json)
        result = decision_print_json(s, &decision, text);
    else
        decision_print(s, &decision, text);
    themis_dfra_release(&decision);
    return result;
}

static int settings_run(settings_t *s)
{
    int result = nodes_read(s);

    if (result == THEMIS_TOOLS_OK)
        result = site_read(s);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_allocate_history_open(&s->history_file, s->history);
    if (result == THEMIS_TOOLS_OK && s->state)
        result = themis_tools_allocate_state_read(&s->state_file, &s->site_file, &s->history_file, s->state);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_allocate_history_find(&s->history_file, s->application, s->user, s->count, &s->known);
    return result == THEMIS_TOOLS_OK ? decide(s) : result;
}

static int site_run(settings_t *s)
{
    int result = settings_run(s);

    themis_tools_allocate_state_release(&s->state_file);
    themis_tools_allocate_history_close(&s->history_file);
    themis_dfra_site_release(&s->site_file);
    return result;
}

/* Is it one of what the command does, and nothing of another? */
static int is_sound(const settings_t *s, const themis_tools_allocate_service_t *service)
{
    int decides = s->application && *s->application;
    int others = s->state || s->history;
    int wish = service->wish.job || s->nodes || s->application || service->wish.once;
    int ends = service->list + !!service->release + !!service->release_job + !!service->renew;

    if (s->site)
        return s->history && decides && s->nodes && !service->servers && !ends && !service->wish.lease &&
               !service->wish.job && !service->wish.once;
    if (others || ends + !!s->application != 1 || (s->user && !s->application && !service->release_job))
        return 0;
    if (service->wish.lease && !s->application && !service->renew)
        return 0;
    return s->application ? decides : !wish;
}

static int run_allocate(int argc, char **argv)
{
    settings_t s = {0};
    themis_tools_allocate_service_t service = {0};
    const themis_tools_option_t options[] = {{0, "site", NULL, &s.site},
                                             {0, "history", NULL, &s.history},
                                             {0, "state", NULL, &s.state},
                                             {0, "application", NULL, &s.application},
                                             {0, "user", NULL, &s.user},
                                             {0, "nodes", NULL, &s.nodes},
                                             {0, "json", &s.json, NULL},
                                             {'s', "servers", NULL, &service.servers},
                                             {0, "lease", NULL, &service.wish.lease},
                                             {0, "job", NULL, &service.wish.job},
                                             {0, "release", NULL, &service.release},
                                             {0, "release-job", NULL, &service.release_job},
                                             {0, "renew", NULL, &service.renew},
                                             {0, "list", &service.list, NULL},
                                             {0, "once", &service.wish.once, NULL},
                                             {0}};

    if (themis_tools_options(argc, argv, options) != argc || !is_sound(&s, &service))
        return themis_tools_usage();
    if (s.site)
        return site_run(&s);
    service.wish.application = s.application;
    service.wish.nodes = s.nodes;
    service.wish.user = s.user;
    service.json = s.json;
    return themis_tools_allocate_service_run(&service);
}

const themis_tools_command_t themis_tools_allocate = {
    "allocate",
    "--application NAME [--nodes LIST] [--lease TIME] [--job NAME] [--once] [--user NAME] | --release ID | "
    "--release-job NAME [--user NAME] | --renew ID [--lease TIME] | --list  [--json] [-s HOST:PORT,...]\n"
    "       themis allocate --site FILE --history FILE --application NAME --nodes LIST [--user NAME] [--state FILE] "
    "[--json]",
    "Decides which servers a job is to use, from what earlier runs of its application did.",
    "Without --site the allocation service of the servers decides, and keeps the servers for the job until they are "
    "released,\n"
    "or the lease is over.\n"
    "  --application NAME         the job's application\n"
    "  --nodes LIST               the job's nodes, by their numbers, such as 0-255,600, or by hosts whose names end "
    "with these;\n"
    "                             without it those of the batch system's job\n"
    "  --user NAME                counts only this user's runs; of the service: whose job it is, for administrators\n"
    "  --lease TIME               ends the allocation after that, such as 12h\n"
    "  --job NAME                 the job's name on the servers, if it is not that of this environment\n"
    "  --once                     gives a job the allocation that it has already, if it has one\n"
    "  --release ID               ends an allocation\n"
    "  --release-job NAME         ends all of a job\n"
    "  --renew ID                 begins its lease again\n"
    "  --list                     the allocations in force, and servers that are too slow to be allocated\n"
    "  -s LIST                    these servers instead of those configured\n"
    "  --json                     as JSON\n"
    "Without servers, from files:\n"
    "  --site FILE                servers, bandwidths and thresholds (see doc/dfra.md)\n"
    "  --history FILE             one JSON object a line for each job that has run, or the directory of servers\n"
    "  --state FILE               jobs that run now and anomalous servers, as JSON\n",
    run_allocate};
