/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The online heuristics that PerSched is compared with (Gainaru et al., "Scheduling the I/O of HPC applications under
 * congestion", IPDPS 2015), as a simulation of events: whenever an application begins or ends its I/O, those that
 * want I/O are put into the order of the heuristic, and each gets the bandwidth that its nodes can use as long as there
 * is some.
 */
#pragma once
#include "persched/persched.h"

typedef enum themis_persched_heuristic {
    THEMIS_PERSCHED_FIRST_COME,     /* who has waited longest */
    THEMIS_PERSCHED_MIN_DILATION,   /* who has suffered most: the least efficiency relative to that without others */
    THEMIS_PERSCHED_MAX_EFFICIENCY, /* whose I/O allows the most computation: nodes * compute for a byte */
    THEMIS_PERSCHED_MIN_MAX,        /* MinMax-gamma: as MIN_DILATION among those below gamma, then as MAX_EFFICIENCY */
    THEMIS_PERSCHED_HEURISTICS
} themis_persched_heuristic_t;

typedef struct themis_persched_online {
    themis_persched_heuristic_t heuristic;
    double gamma; /* of MIN_MAX: efficiency relative to that without others, in [0, 1] */
    int keep;     /* the paper's Priority variants: I/O that has begun is not interrupted */
    int whole;    /* nobody gets less than its nodes can use: what is left over stays unused */
    uint32_t
        instances;  /* the simulation ends when each has done so many, >= 1, or `longest` times as many the fastest */
    double longest; /* >= 1 */
} themis_persched_online_t;

typedef struct themis_persched_outcome {
    double efficiency, dilation; /* as of a pattern; each application is measured until its last instance ends */
    double end;                  /* seconds simulated */
} themis_persched_outcome_t;

/* A short name, "min-dilation"; static storage. */
const char *themis_persched_heuristic_name(themis_persched_heuristic_t heuristic);

/* All begin to compute at 0. Volumes are real ones: confidence is left aside. INVALID for values outside their ranges.
 */
themis_status_t themis_persched_simulate(const themis_persched_problem_t *problem,
                                         const themis_persched_online_t *online, themis_persched_outcome_t *outcome);
