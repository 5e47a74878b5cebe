/* SPDX-License-Identifier: BSD-3-Clause */
/* The evaluation of the PerSched paper: its platform, its applications, its ten sets, and the results that it reports
 * for them. */
#pragma once
#include "persched/persched.h"

enum { PAPER_SETS = 10, PAPER_APPLICATIONS = 4 };

/* Table 1; processors divided by 64 and computing times multiplied by 64, as the paper does for its cluster. */
static const themis_persched_application_t paper_application[PAPER_APPLICATIONS] = {
    {"Turbulence1", 70 * 64, 128.2e9, 512, 1, 1},
    {"Turbulence2", 1.2 * 64, 235.8e9, 64, 1, 1},
    {"AstroPhysics", 240 * 64, 423.4e9, 128, 1, 1},
    {"PlasmaPhysics", 7554 * 64, 34304e9, 512, 1, 1},
};

typedef struct paper_set {
    uint32_t number[PAPER_APPLICATIONS];       /* table 2 */
    double first_period;                       /* s; the first one that the authors try */
    double efficiency, dilation;               /* PerSched, table 4 */
    double bound, fair_dilation;               /* upper bound of SysEff; PerSched's dilation when it minimises that */
    double online_efficiency, online_dilation; /* best of all online heuristics, for each measure */
} paper_set_t;

static const paper_set_t paper_set[PAPER_SETS] = {
    {{0, 10, 0, 0}, 900, .0973471, 1.89597, .17249, 1.77636, .0825, 2.091},
    {{0, 8, 1, 0}, 16000, .289837, 1.42833, .33378, 1.42241, .271, 1.658},
    {{0, 6, 2, 0}, 16000, .4798, 1.08724, .49506, 1.07942, .442, 1.291},
    {{0, 4, 3, 0}, 16000, .647361, 1.01402, .65635, 1.01402, .640, 1.029},
    {{0, 2, 0, 1}, 495000, .815203, 1.02352, .81601, 1.0104, .810, 1.039},
    {{0, 2, 4, 0}, 16000, .8142, 1.00541, .81763, 1.0067, .761, 1.035},
    {{1, 2, 0, 0}, 4544, .823546, 1.00726, .82694, 1.00723, .818, 1.012},
    {{0, 0, 1, 1}, 495000, .976078, 1.00547, .97730, 1.00459, .976, 1.005},
    {{0, 0, 5, 0}, 16000, .978893, 1.00003, .97892, 1.00141, .978, 1.004},
    {{1, 0, 1, 0}, 16000, .986171, 1.00919, .98822, 1.00864, .985, 1.015},
};

/* The problem of a set, counted from 0; its applications are stored in `application` [PAPER_APPLICATIONS]. */
static inline themis_persched_problem_t paper_problem(int set, themis_persched_application_t *application)
{
    themis_persched_problem_t problem = {{640, 3e9, 0.01e9}, application, 0};

    for (int i = 0; i < PAPER_APPLICATIONS; i++)
        if (paper_set[set].number[i] > 0) {
            application[problem.applications] = paper_application[i];
            application[problem.applications++].number = paper_set[set].number[i];
        }
    return problem;
}

static inline themis_persched_parameters_t paper_parameters(int set)
{
    return (themis_persched_parameters_t){.epsilon = 0.01, .factor = 10, .first_period = paper_set[set].first_period};
}
