/* SPDX-License-Identifier: BSD-3-Clause */
/* themis plan: plans collective I/O for a job that need not run. */
#include "tools/command.h"
#include "tools/options.h"
#include "tools/plan_report.h"

static int run_plan(int argc, char **argv)
{
    themis_tools_plan_options_t o = {0};
    const themis_tools_option_t options[] = {{'n', "ranks", NULL, &o.ranks},
                                             {'p', "pattern", NULL, &o.pattern},
                                             {'f', "fabric", NULL, &o.fabric},
                                             {0, "edge", NULL, &o.edge},
                                             {0, "element", NULL, &o.element},
                                             {0, "per-node", NULL, &o.per_node},
                                             {'a', "aggregators", NULL, &o.aggregators},
                                             {0, "aggregators-per-node", NULL, &o.aggregators_per_node},
                                             {'m', "method", NULL, &o.method},
                                             {0, "stripe", NULL, &o.stripe},
                                             {'s', "servers", NULL, &o.servers},
                                             {0, "nodes", NULL, &o.nodes},
                                             {0, "svg", NULL, &o.svg},
                                             {0, "json", &o.json, NULL},
                                             {0}};
    themis_tools_plan_job_t job = {
        .options = &o, .per_node = 12, .edge = 2000, .element = 8, .limit = 1, .stripe = 1 << 20, .servers = 4};
    int result;

    if (themis_tools_options(argc, argv, options) != argc || !o.ranks)
        return themis_tools_usage();
    result = themis_tools_plan_job_make(&job);
    if (result == THEMIS_TOOLS_OK && o.svg)
        result = themis_tools_plan_draw(&job, o.svg);
    if (result == THEMIS_TOOLS_OK && o.json)
        themis_tools_plan_print_json(&job);
    else if (result == THEMIS_TOOLS_OK)
        themis_tools_plan_print(&job);
    themis_tools_plan_job_free(&job);
    return result;
}

const themis_tools_command_t themis_tools_plan = {
    "plan", "-n RANKS [-p cube|btio|FILE] [-f FABRIC] [OPTION]...",
    "Shows which processes would aggregate a collective call, and what that costs on the network.",
    "  -n RANKS                   processes of the job\n"
    "  -p cube | btio | FILE      what they access: a 3-D array in cubes or as BTIO does, or lines RANK OFFSET LENGTH\n"
    "                             [ROWS STRIDE]; --edge N elements along an edge (2000) of --element N bytes (8)\n"
    "  -f FABRIC                  as for 'themis topo'; without a fabric all hosts are taken to be 2 hops apart\n"
    "  --nodes packed | scattered[:SEED] | HOST,...   the job's hosts (packed); --per-node N processes on each (12)\n"
    "  -a N | per-server | auto   aggregators (all that may); --aggregators-per-node N may on each node (1)\n"
    "  -m METHOD                  file domains: even (default), aligned, stripe-size, static-cyclic, group-cyclic,\n"
    "                             transpose, auto; --stripe SIZE (1MiB)\n"
    "  -s N | HOST,...            I/O servers (4); with hosts, the way to them counts too\n"
    "  --svg FILE                 a picture of the fabric with the load of each link, before and after\n"
    "  --json                     as JSON\n",
    run_plan};
