/* SPDX-License-Identifier: BSD-3-Clause */
/* themis periodic: plans when each of several periodic applications does its I/O, and the verb `plan` of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/options.h"
#include "tools/periodic_file.h"
#include "tools/periodic_follow.h"
#include "tools/periodic_report.h"

typedef struct settings {
    const char *platform, *epsilon, *factor, *first_period, *plot;
    int improve, simulate, json;
    themis_persched_parameters_t parameters;
} settings_t;

static int number_read(const char *name, const char *text, double low, double high, double *value)
{
    char *end;
    double number;

    if (!text)
        return THEMIS_TOOLS_OK;
    number = strtod(text, &end);
    if (end == text || *end || !(number >= low && number <= high))
        return themis_tools_misuse("--%s %s: not a number from %g to %g", name, text, low, high);
    *value = number;
    return THEMIS_TOOLS_OK;
}

static int settings_check(settings_t *s)
{
    size_t length = s->plot ? strlen(s->plot) : 0;
    int result;

    s->parameters = themis_persched_defaults;
    result = number_read("epsilon", s->epsilon, 1e-4, 1, &s->parameters.epsilon);
    if (result == THEMIS_TOOLS_OK)
        result = number_read("kprime", s->factor, 1, 1000, &s->parameters.factor);
    if (result == THEMIS_TOOLS_OK)
        result = number_read("first-period", s->first_period, 1e-6, 1e12, &s->parameters.first_period);
    if (result == THEMIS_TOOLS_OK && s->plot && (length < 5 || strcmp(s->plot + length - 4, ".svg") != 0))
        result = themis_tools_misuse("--plot %s: pictures are SVG, the name must end in .svg", s->plot);
    if (s->epsilon || s->factor)
        s->parameters.effort = 0; /* who asks for precision waits for it */
    return result;
}

/* The heuristics as they are, then as in the paper's evaluation, where a share is given as a whole or not at all. */
static int online_run(const themis_persched_problem_t *problem, uint32_t running, themis_persched_outcome_t *outcome)
{
    for (int i = 0; i < THEMIS_TOOLS_PERIODIC_ONLINE; i++) {
        themis_persched_online_t online = {.heuristic = i % THEMIS_PERSCHED_HEURISTICS,
                                           .gamma = 0.75,
                                           .whole = i >= THEMIS_PERSCHED_HEURISTICS,
                                           .instances = running > 64 ? 20 : 200,
                                           .longest = 1000};
        themis_status_t status = themis_persched_simulate(problem, &online, &outcome[i]);

        if (status != THEMIS_OK)
            return themis_tools_error("%s: %s", themis_persched_heuristic_name(online.heuristic),
                                      themis_status_string(status));
    }
    return THEMIS_TOOLS_OK;
}

static int report_show(const themis_tools_periodic_report_t *report, const settings_t *s)
{
    if (s->json)
        themis_tools_periodic_print_json(report);
    else
        themis_tools_periodic_print(report);
    return s->plot ? themis_tools_periodic_draw(report, s->plot) : THEMIS_TOOLS_OK;
}

static int plan_run(const themis_persched_problem_t *problem, const settings_t *s)
{
    themis_persched_outcome_t online[THEMIS_TOOLS_PERIODIC_ONLINE];
    themis_tools_periodic_report_t report = {.problem = problem};
    themis_persched_pattern_t *plan = NULL, *improved = NULL;
    int result = THEMIS_TOOLS_OK;
    themis_status_t status = themis_persched_bounds(problem, &report.bounds);

    if (status == THEMIS_OK)
        status = themis_persched_plan(problem, &s->parameters, &plan, NULL);
    if (status == THEMIS_OK && s->improve)
        status = themis_persched_improve(problem, &s->parameters, plan, 0, &improved);
    if (status == THEMIS_RANGE)
        result = themis_tools_error("no period has room for all applications; --kprime above %g tries longer ones, "
                                    "unless their times differ too much",
                                    s->parameters.factor);
    else if (status != THEMIS_OK)
        result = themis_tools_error("%s", themis_status_string(status));
    if (result == THEMIS_TOOLS_OK && s->simulate)
        result = online_run(problem, plan->lanes, online);
    if (result == THEMIS_TOOLS_OK) {
        report.plan = plan;
        report.improved = improved;
        report.online = s->simulate ? online : NULL;
        result = report_show(&report, s);
    }
    themis_persched_pattern_free(plan);
    themis_persched_pattern_free(improved);
    return result;
}

/* "plan ..." */
static int plan_command(int argc, char **argv)
{
    settings_t s = {0};
    themis_tools_periodic_file_t file = {0};
    const themis_tools_option_t options[] = {{0, "platform", NULL, &s.platform},
                                             {0, "epsilon", NULL, &s.epsilon},
                                             {0, "kprime", NULL, &s.factor},
                                             {0, "first-period", NULL, &s.first_period},
                                             {0, "improve", &s.improve, NULL},
                                             {0, "simulate", &s.simulate, NULL},
                                             {0, "plot", NULL, &s.plot},
                                             {0, "json", &s.json, NULL},
                                             {0}};
    int at = themis_tools_options(argc, argv, options), result;

    if (at < 1 || at >= argc || themis_tools_options(argc - at, argv + at, options) != argc - at)
        return themis_tools_usage();
    result = settings_check(&s);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_periodic_read(&file, argv[at], s.platform);
    if (result == THEMIS_TOOLS_OK)
        result = plan_run(&file.problem, &s);
    themis_tools_periodic_release(&file);
    return result;
}

static int run_periodic(int argc, char **argv)
{
    int follows = argc > 1 && strcmp(argv[1], "follow") == 0, plans = argc > 1 && strcmp(argv[1], "plan") == 0;

    if ((follows || plans) && argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        themis_tools_command_help(&themis_tools_periodic, stdout);
        return THEMIS_TOOLS_OK;
    }
    if (follows)
        return themis_tools_periodic_follow(argc - 1, argv + 1);
    return argc < 3 || !plans ? themis_tools_usage() : plan_command(argc - 1, argv + 1);
}

const themis_tools_command_t themis_tools_periodic = {
    "periodic", "plan [OPTION]... APPLICATIONS [OPTION]... | follow [OPTION]...",
    "Plans when each of several periodic applications does its I/O, so that they do not disturb each other.",
    "  plan                       the plan of applications that are known\n"
    "  APPLICATIONS               a file with [platform] and [application NAME] (see doc/periodic.md)\n"
    "  --platform N,B,b           nodes, bandwidth of the servers, bandwidth of a node; instead of [platform]\n"
    "  --improve                  looks for a pattern that is better than PerSched's; takes some seconds\n"
    "  --simulate                 compares with online scheduling\n"
    "  --epsilon E, --kprime K    periods are tried in steps of 1 + E (0.01), up to K (10) times the first one\n"
    "  --first-period SECONDS     the first one (the longest application's computation and I/O)\n"
    "  --plot FILE.svg            a picture of the pattern\n"
    "  --json                     as JSON, with all instances; of follow a line for each look\n"
    "\n"
    "  follow                     a service: plans the jobs that run, by the history of the servers, while that pays\n"
    "  -s, --servers LIST         these servers instead of those configured\n"
    "  --directory DIR            where servers keep records (see themis history); may be given several times\n"
    "  --interval TIME            between two looks (1m)\n"
    "  --bandwidth B              of all servers, bytes per second (the sum of their store_bandwidth)\n"
    "  --node-bandwidth b         of a node (what jobs were seen to have)\n"
    "  --margin PART              by which SysEff has to become better for a plan to be set (0.05)\n"
    "  --confidence PART          that a job is periodic, from which on it is planned (0.5)\n"
    "  --tolerance SECONDS        by which jobs may be early or late (a fiftieth of the plan's period)\n"
    "  --once                     one look; a plan that is set stays in force\n"
    "  --dry-run                  says what would be done\n",
    run_periodic};
