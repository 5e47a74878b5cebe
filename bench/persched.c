/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The evaluation of the PerSched paper as JSON rows: its table 4, ours beside the published figures; with
 * "convergence", figure 7 (the factor K') and the same for epsilon, relative to the largest K' and the smallest
 * epsilon, averaged over the sets; with "scale", the time to plan many applications.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "persched/online.h"
#include "test/persched/paper.h"

/* Processor time: that of the clock depends on what else runs. */
static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* The best of the heuristics in each measure, as the paper prints it. */
static void online_best(const themis_persched_problem_t *problem, int whole, double *efficiency, double *dilation)
{
    *efficiency = 0, *dilation = INFINITY;
    for (int i = 0; i < 2 * THEMIS_PERSCHED_HEURISTICS; i++) {
        themis_persched_online_t online = {i / 2, 0.5, i % 2, whole, whole ? 14 : 500, 1e4};
        themis_persched_outcome_t outcome;

        if (themis_persched_simulate(problem, &online, &outcome) != THEMIS_OK)
            continue;
        *efficiency = fmax(*efficiency, outcome.efficiency);
        *dilation = fmin(*dilation, outcome.dilation);
    }
}

static int table_row(int set)
{
    themis_persched_application_t a[PAPER_APPLICATIONS];
    themis_persched_problem_t problem = paper_problem(set, a);
    themis_persched_parameters_t parameters = paper_parameters(set);
    const paper_set_t *p = &paper_set[set];
    themis_persched_pattern_t *plan, *fair, *better;
    themis_persched_bounds_t bounds;
    double online[4], begin = seconds(), planned, improved;

    if (themis_persched_bounds(&problem, &bounds) != THEMIS_OK ||
        themis_persched_plan(&problem, &parameters, &plan, &fair) != THEMIS_OK)
        return 1;
    planned = seconds();
    parameters.effort = themis_persched_defaults.effort;
    if (themis_persched_improve(&problem, &parameters, plan, 0, &better) != THEMIS_OK)
        return 1;
    improved = seconds();
    online_best(&problem, 1, &online[0], &online[1]);
    online_best(&problem, 0, &online[2], &online[3]);
    printf(
        "%s{\"set\":%d,\"bound\":%.5f,\"paper_bound\":%.5f,\"capacity_bound\":%.5f,\"syseff\":%.6f,"
        "\"paper_syseff\":%.6f,\"improved_syseff\":%.6f,\"capacity_dilation\":%.5f,\"dilation\":%.5f,"
        "\"paper_dilation\":%.5f,\"improved_dilation\":%.5f,\"min_dilation\":%.5f,\"paper_min_dilation\":%.5f,"
        "\"online_syseff\":%.4f,\"paper_online_syseff\":%.4f,\"online_dilation\":%.3f,\"paper_online_dilation\":%.3f,"
        "\"sharing_online_syseff\":%.4f,\"sharing_online_dilation\":%.3f,\"plan_cpu_s\":%.3f,\"improve_cpu_s\":%.3f}",
        set ? ",\n" : "", set + 1, bounds.efficiency, p->bound, bounds.capacity_efficiency, plan->efficiency,
        p->efficiency, better->efficiency, bounds.capacity_dilation, plan->dilation, p->dilation, better->dilation,
        fair->dilation, p->fair_dilation, online[0], p->online_efficiency, online[1], p->online_dilation, online[2],
        online[3], planned - begin, improved - planned);
    themis_persched_pattern_free(plan);
    themis_persched_pattern_free(fair);
    themis_persched_pattern_free(better);
    return 0;
}

static int table(void)
{
    int failed = 0;

    for (int set = 0; set < PAPER_SETS && !failed; set++)
        failed = table_row(set);
    return failed;
}

/* Measures of all sets for one choice of the parameters. */
static int measures(double epsilon, double factor, double efficiency[PAPER_SETS], double dilation[PAPER_SETS])
{
    for (int set = 0; set < PAPER_SETS; set++) {
        themis_persched_application_t a[PAPER_APPLICATIONS];
        themis_persched_problem_t problem = paper_problem(set, a);
        themis_persched_parameters_t parameters = paper_parameters(set);
        themis_persched_pattern_t *plan;

        parameters.epsilon = epsilon;
        parameters.factor = factor;
        if (themis_persched_plan(&problem, &parameters, &plan, NULL) != THEMIS_OK)
            return 1;
        efficiency[set] = plan->efficiency;
        dilation[set] = plan->dilation;
        themis_persched_pattern_free(plan);
    }
    return 0;
}

typedef struct setting {
    double epsilon, factor;
} setting_t;

/* Rows relative to the last setting. */
static int convergence_rows(const setting_t *setting, int count, const char *separator)
{
    double efficiency[PAPER_SETS], dilation[PAPER_SETS], best[PAPER_SETS], fair[PAPER_SETS];

    if (measures(setting[count - 1].epsilon, setting[count - 1].factor, best, fair))
        return 1;
    for (int i = 0; i < count; i++) {
        double mean[2] = {0};

        if (measures(setting[i].epsilon, setting[i].factor, efficiency, dilation))
            return 1;
        for (int set = 0; set < PAPER_SETS; set++) {
            mean[0] += efficiency[set] / best[set] / PAPER_SETS;
            mean[1] += dilation[set] / fair[set] / PAPER_SETS;
        }
        printf("%s{\"kprime\":%g,\"epsilon\":%g,\"syseff_relative\":%.5f,\"dilation_relative\":%.5f}",
               i ? ",\n" : separator, setting[i].factor, setting[i].epsilon, mean[0], mean[1]);
    }
    return 0;
}

static int convergence(void)
{
    static const setting_t factor[] = {{.01, 1}, {.01, 2}, {.01, 3}, {.01, 5}, {.01, 10}, {.01, 20}, {.01, 40}};
    static const setting_t epsilon[] = {{.1, 10}, {.05, 10}, {.02, 10}, {.01, 10}, {.005, 10}, {.002, 10}};

    return convergence_rows(factor, 7, "") || convergence_rows(epsilon, 6, ",\n");
}

/* Random applications, deterministic; computing times differ by a factor of 1,000. */
static int scale_row(uint32_t count, double load, const char *separator)
{
    themis_persched_application_t *a = calloc(count, sizeof *a);
    themis_persched_problem_t problem = {{0, 0, 1e8}, a, count};
    themis_persched_pattern_t *plan;
    double bandwidth = 0, begin;

    if (!a)
        return 1;
    srand48(1);
    for (uint32_t i = 0; i < count; i++) {
        a[i] = (themis_persched_application_t){
            NULL, 10 * exp(7 * drand48()), 1e9 * exp(6 * drand48()), 1 + floor(64 * drand48()), 1, 1};
        problem.platform.nodes += a[i].nodes;
        bandwidth += a[i].volume / (a[i].compute + a[i].volume / (a[i].nodes * 1e8));
    }
    problem.platform.bandwidth = bandwidth / load;
    begin = seconds();
    if (themis_persched_plan(&problem, &themis_persched_defaults, &plan, NULL) != THEMIS_OK)
        return 1;
    printf(
        "%s{\"applications\":%u,\"load\":%g,\"plan_cpu_s\":%.3f,\"syseff\":%.4f,\"dilation\":%.3f,\"period_s\":%.0f}",
        separator, count, load, seconds() - begin, plan->efficiency, plan->dilation, plan->period);
    themis_persched_pattern_free(plan);
    free(a);
    return 0;
}

static int scale(void)
{
    static const double load[] = {0.3, 1, 3};
    int failed = 0;

    for (int i = 0; i < 9 && !failed; i++)
        failed = scale_row(i / 3 == 0 ? 10 : i / 3 == 1 ? 100 : 1000, load[i % 3], i ? ",\n" : "");
    return failed;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "table";
    int failed;

    printf("[");
    failed = strcmp(what, "convergence") == 0 ? convergence() : strcmp(what, "scale") == 0 ? scale() : table();
    printf("]\n");
    return failed;
}
