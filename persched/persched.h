/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Periodic I/O schedules for applications that compute, do I/O, and repeat (Aupy, Gainaru, Le Fevre, "Periodic I/O
 * scheduling for super-computers", 2017). A pattern says when each application does its I/O and with what bandwidth; it
 * repeats after its period. Everything here is computation on values in seconds, bytes and bytes/s; nothing is global,
 * and equal arguments give equal results.
 *
 *   themis_persched_plan       the paper's algorithm: search for a period, then its correction
 *   themis_persched_improve    a pattern that is at least as good in both measures
 *   themis_persched_simulate   what online heuristics make of the same applications (online.h)
 *   themis_persched_check      whether a pattern keeps all rules, told without what the planner knows
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

/* One kind of application; `number` of them run, each on nodes of its own. */
typedef struct themis_persched_application {
    const char *name;  /* for reports; borrowed, may be NULL */
    double compute;    /* seconds of computation in an instance, > 0 */
    double volume;     /* bytes of I/O after it, > 0 */
    double nodes;      /* of one application, > 0 */
    uint32_t number;   /* >= 1 */
    double confidence; /* how sure compute and volume are, in (0, 1]; windows are made for volume * (2 - confidence) */
    double bandwidth;  /* that it can use, bytes/s; 0: what its nodes can */
} themis_persched_application_t;

typedef struct themis_persched_platform {
    double nodes;          /* N > 0 */
    double bandwidth;      /* B > 0, of the servers, bytes/s */
    double node_bandwidth; /* b > 0, of one node, bytes/s */
} themis_persched_platform_t;

/* What is to be planned: borrowed by all functions, and by patterns until they are freed. */
typedef struct themis_persched_problem {
    themis_persched_platform_t platform;
    const themis_persched_application_t *application; /* [applications] */
    uint32_t applications;
} themis_persched_problem_t;

typedef struct themis_persched_parameters {
    double epsilon;      /* periods are tried in steps of a factor 1 + epsilon; in [1e-4, 1] */
    double factor;       /* K': the longest period tried is factor times the first one; in [1, 1000] */
    double first_period; /* seconds; 0: the longest compute + I/O of an application */
    uint64_t effort;     /* the search ends after so many steps, with fewer periods tried; 0: no limit */
} themis_persched_parameters_t;

/* epsilon 0.01, factor 10, the first period by the applications, an effort that ends within a second. */
extern const themis_persched_parameters_t themis_persched_defaults;

/* Bandwidth of one application, constant from begin to end. */
typedef struct themis_persched_window {
    double begin, end; /* seconds; not before the instance's compute_end, and in order */
    double bandwidth;  /* bytes/s, > 0, of all its nodes together */
} themis_persched_window_t;

typedef struct themis_persched_instance {
    double compute_begin, compute_end;      /* seconds, 0 <= compute_begin < period; later times may pass the period */
    const themis_persched_window_t *window; /* [windows], of the pattern */
    uint32_t windows;
} themis_persched_instance_t;

/* One of the running applications: a line in the pattern. */
typedef struct themis_persched_lane {
    uint32_t application;                       /* index in the problem */
    uint32_t copy;                              /* from 0, below the application's number */
    const themis_persched_instance_t *instance; /* [instances], in the order of time, from any of them on */
    uint32_t instances;
} themis_persched_lane_t;

/* All times are modulo the period. */
typedef struct themis_persched_pattern {
    double period;                      /* seconds */
    const themis_persched_lane_t *lane; /* [lanes], application by application */
    uint32_t lanes;
    double efficiency; /* SysEff, in [0, 1] */
    double dilation;   /* of the application that suffers most, >= 1 */
    int complete;      /* 0: the search ended early, by `effort` */
} themis_persched_pattern_t;

/* What no schedule can surpass. */
typedef struct themis_persched_bounds {
    double efficiency;          /* the paper's upper bound of SysEff: no application waits */
    double capacity_efficiency; /* the same, where all I/O must fit into B; never more */
    double capacity_dilation;   /* no schedule has a smaller dilation, since all I/O must fit into B */
} themis_persched_bounds_t;

/*
 * INVALID unless all values are in their ranges, there are at most 2^20 running applications, none has more nodes than
 * the platform and together they have no more; *culprit (may be NULL) is then the application, or UINT32_MAX for the
 * platform or the sum. The other functions expect a problem that passed, and say INVALID otherwise.
 */
themis_status_t themis_persched_problem_check(const themis_persched_problem_t *problem, uint32_t *culprit);

/* Bandwidth of an application that is alone: min(nodes * b, B), or min(bandwidth, B) if its own is given. */
double themis_persched_rate(const themis_persched_platform_t *platform, const themis_persched_application_t *a);

/* Seconds that an application's I/O takes when it is alone: its volume at this rate. */
double themis_persched_io_time(const themis_persched_platform_t *platform, const themis_persched_application_t *a);

themis_status_t themis_persched_bounds(const themis_persched_problem_t *problem, themis_persched_bounds_t *bounds);

/*
 * PerSched. *plan is the pattern of the largest SysEff; *fair (may be NULL) the one of the smallest dilation among the
 * periods tried, without correction of its period. Both are owned by the caller. RANGE: no period that was tried has
 * room for all applications, or it has room for more than 2^20 instances, or an
 * application's I/O is shorter than 1e-9 of it.
 */
themis_status_t themis_persched_plan(const themis_persched_problem_t *problem,
                                     const themis_persched_parameters_t *parameters, themis_persched_pattern_t **plan,
                                     themis_persched_pattern_t **fair);

/*
 * The greedy pattern of one period: the inner part of PerSched. RANGE: it has no room for all applications. CANCELED:
 * it has room for more than 2^20 instances.
 */
themis_status_t themis_persched_fill(const themis_persched_problem_t *problem, double period,
                                     themis_persched_pattern_t **pattern);

/*
 * A pattern whose SysEff is not smaller and whose dilation is not larger than those of `plan`, the better one in SysEff
 * that a limited search finds; where it finds none, a copy. With GLPK the times of a pattern are optimised
 * exactly by a linear program, in patterns of at most `size` variables (0: 6000; more takes long); without it, or in
 * larger ones, by filling shorter periods. *improved is owned by the caller.
 */
themis_status_t themis_persched_improve(const themis_persched_problem_t *problem,
                                        const themis_persched_parameters_t *parameters,
                                        const themis_persched_pattern_t *plan, uint32_t size,
                                        themis_persched_pattern_t **improved);

/* NULL is allowed. */
void themis_persched_pattern_free(themis_persched_pattern_t *pattern);

/*
 * Checks a pattern against the model with nothing but the problem: bandwidth never exceeds B in sum, nor that of
 * an application alone, each instance computes for `compute` seconds and moves its volume after that and before the
 * next one begins, SysEff and dilation are as stated. Differences below 1e-6 of a value are accepted. Otherwise
 * CORRUPT, and `error` (`size` bytes) says what is wrong and where.
 */
themis_status_t themis_persched_check(const themis_persched_problem_t *problem,
                                      const themis_persched_pattern_t *pattern, char *error, size_t size);
