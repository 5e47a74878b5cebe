/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dynamic forwarding resource allocation (Ji et al., "Automatic, Application-Aware I/O Forwarding Resource Allocation",
 * FAST 2019): which servers a job gets when it starts, from what earlier runs of its application did. Everything here
 * is computation on arguments; nothing is global, and equal arguments give equal results. Volumes are in bytes, rates
 * in bytes/s or requests/s, times in seconds. Servers are numbered in the order of the site; the first `defaults` of
 * them serve fixed blocks of nodes, the others are spare.
 *
 *   themis_dfra_decide      the decision for one job
 *   themis_dfra_explain     its reason as text
 *   themis_dfra_eligible    the paper's three tests for more servers
 *   themis_dfra_classes     what in an application's I/O disturbs others
 *   themis_dfra_find_slow   servers that are slower than their peers
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

/* Limits of what is accepted. */
enum { THEMIS_DFRA_MOST_SERVERS = 1 << 16, THEMIS_DFRA_MOST_JOBS = 1 << 20 };

/* How processes share files. */
typedef enum themis_dfra_sharing {
    THEMIS_DFRA_N_N, /* each process its own file */
    THEMIS_DFRA_N_1, /* all processes one file */
    THEMIS_DFRA_1_1, /* one process one file */
    THEMIS_DFRA_N_M, /* groups of processes a file each */
    THEMIS_DFRA_SHARINGS
} themis_dfra_sharing_t;

/* "N-N", "N-1", "1-1" or "N-M"; NULL for other values. */
const char *themis_dfra_sharing_name(themis_dfra_sharing_t sharing);

/* What is known of an application from a run with as many nodes. All numbers are finite and >= 0. */
typedef struct themis_dfra_application {
    double volume;           /* read and written in the run, bytes */
    double duration;         /* of the run, seconds */
    double operations;       /* requests and metadata operations of the run */
    double peak_bandwidth;   /* of all nodes together, bytes/s */
    double peak_iops;        /* of all nodes together, requests/s */
    double metadata_waiting; /* mean number of metadata operations waiting in a server */
    uint32_t nodes;          /* of the run */
    uint32_t io_nodes;       /* that did I/O; at most nodes */
    uint32_t records;        /* of such runs */
    themis_dfra_sharing_t sharing;
} themis_dfra_application_t;

typedef struct themis_dfra_site {
    uint32_t servers;          /* >= 1 */
    uint32_t defaults;         /* the first ones, which serve nodes by their number; 1 to servers */
    uint32_t nodes_per_server; /* >= 1: node n has the default server n / nodes_per_server modulo defaults */
    uint32_t threads;          /* that serve requests, of a server; >= 1 */
    double server_bandwidth;   /* Bf > 0: the peak of a server */
    double node_bandwidth;     /* Bc, in (0, Bf]: the peak of a node */
    double min_volume;         /* Vmin >= 0 */
    double min_nodes;          /* Nmin >= 0; 0: F = Bf / Bc */
    double max_metadata;       /* Wmetadata >= 0; 0: twice `threads` */
    double high_bandwidth;     /* of a job, from which on it is high; 0: half of Bf */
    double high_iops;          /* the same for requests/s, > 0 */
    double quiet_time;         /* seconds >= 0 that a job must have been watched to be called quiet */
    double quiet_part;         /* in [0, 1]: of what its history promised; below it the job is quiet */
    uint32_t min_records;      /* >= 1: an application with fewer is new */
} themis_dfra_site_t;

/* The paper's values where it gives them, for a site whose servers and bandwidths are still to be filled in. */
extern const themis_dfra_site_t themis_dfra_defaults;

/* What a running job has done so far, as its servers saw it. All numbers are finite and >= 0. */
typedef struct themis_dfra_observation {
    double duration;       /* seconds that it was watched; 0: not watched, and the rest does not count */
    double volume;         /* bytes in that time */
    double operations;     /* requests and metadata operations in that time */
    double peak_bandwidth; /* as in themis_dfra_application_t, of this run */
    double peak_iops;
    double metadata_waiting; /* the largest mean */
    int shared_file;         /* N-1 was seen */
} themis_dfra_observation_t;

/* A job that runs. */
typedef struct themis_dfra_running {
    const themis_dfra_application_t *known; /* NULL: new */
    themis_dfra_observation_t now;
    const uint32_t *server; /* [servers] that it uses */
    uint32_t servers;
    int alone; /* these servers are its own */
} themis_dfra_running_t;

/* The servers at the time of the decision. A server is idle if no job uses it and it is not anomalous. */
typedef struct themis_dfra_pool {
    const uint8_t *anomalous;             /* [site->servers], or NULL: none */
    const themis_dfra_running_t *running; /* [jobs] */
    uint32_t jobs;
} themis_dfra_pool_t;

/* Nodes by their numbers at the site, both inclusive. */
typedef struct themis_dfra_range {
    uint32_t first, last;
} themis_dfra_range_t;

/* A job that is to start. */
typedef struct themis_dfra_job {
    const themis_dfra_application_t *known; /* NULL: new */
    const themis_dfra_range_t *range;       /* [ranges], no node twice */
    uint32_t ranges;
} themis_dfra_job_t;

/* What in an application's I/O disturbs others: bits. */
enum {
    THEMIS_DFRA_SHARED_FILE = 1,
    THEMIS_DFRA_METADATA_HEAVY = 2,
    THEMIS_DFRA_HIGH_BANDWIDTH = 4,
    THEMIS_DFRA_HIGH_IOPS = 8
};

/* Whether an application would profit from more servers: the first test that it fails. */
typedef enum themis_dfra_eligibility {
    THEMIS_DFRA_ELIGIBLE,
    THEMIS_DFRA_NEW,           /* too few records */
    THEMIS_DFRA_LITTLE_VOLUME, /* not above Vmin */
    THEMIS_DFRA_FEW_NODES,     /* fewer than Nmin do I/O */
    THEMIS_DFRA_METADATA_BOUND /* metadata operations waiting not below Wmetadata */
} themis_dfra_eligibility_t;

typedef enum themis_dfra_kind { THEMIS_DFRA_DEFAULT, THEMIS_DFRA_SCALED, THEMIS_DFRA_DEDICATED } themis_dfra_kind_t;

/* "default", "scaled" or "dedicated"; NULL for other values. */
const char *themis_dfra_kind_name(themis_dfra_kind_t kind);

typedef struct themis_dfra_decision {
    themis_dfra_kind_t kind;
    themis_dfra_eligibility_t eligibility;
    uint32_t *server; /* [servers] that the job is to use; owned */
    uint32_t servers;
    uint32_t nodes;      /* of the job */
    uint32_t defaults;   /* default servers of its nodes: D */
    uint32_t wanted;     /* S, if it is eligible; otherwise 0 */
    uint32_t idle;       /* I */
    uint32_t replaced;   /* default servers that are not available, for which others stand in or which are left out */
    uint32_t neighbours; /* jobs on the default servers */
    uint32_t disturbing; /* index in pool->running of the first with which it would interfere; UINT32_MAX: none */
    unsigned classes;    /* of the job */
    unsigned other_classes; /* of the disturbing one */
} themis_dfra_decision_t;

/* INVALID, and `error` (`size` bytes) says which value is wrong, unless all are in their ranges. */
themis_status_t themis_dfra_site_check(const themis_dfra_site_t *site, char *error, size_t size);
themis_status_t themis_dfra_application_check(const themis_dfra_application_t *known, char *error, size_t size);

/* F = Bf / Bc: how many nodes that do I/O a server bears. */
double themis_dfra_factor(const themis_dfra_site_t *site);

/* NULL is a new application. Arguments have passed their checks. */
themis_dfra_eligibility_t themis_dfra_eligible(const themis_dfra_site_t *site, const themis_dfra_application_t *known);

/* S: nodes that do I/O / F, rounded up, at least 1. */
uint32_t themis_dfra_wanted(const themis_dfra_site_t *site, const themis_dfra_application_t *known);

/* A running job has done so little of what its history promised that its I/O must be turned off in this run. */
int themis_dfra_is_quiet(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                         const themis_dfra_observation_t *now);

/*
 * The classes of an application by its history; `now` (NULL: it does not run) corrects them. The history
 * of a quiet job does not count; one that does more than its history says counts as what it does.
 */
unsigned themis_dfra_classes(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                             const themis_dfra_observation_t *now);

/*
 * Decides which servers a job gets:
 *  - eligible, S > D and at least D servers idle: min(S, I) of the idle ones for itself (scaled);
 *  - otherwise, if it is likely to interfere with a job on its default servers that is not quiet, and D are idle: D of
 * these (dedicated);
 *  - otherwise its default servers. A default server that is anomalous or another job's own is replaced by an idle one,
 * or without any left out; the last one is replaced by any server that is neither. Idle spare servers are taken,
 * neighbours where there are enough of them, before idle default ones. *decision is the caller's, to release. INVALID:
 * an argument is out of range, and `error` says which. RANGE: every server is anomalous or another job's own.
 */
themis_status_t themis_dfra_decide(const themis_dfra_site_t *site, const themis_dfra_pool_t *pool,
                                   const themis_dfra_job_t *job, themis_dfra_decision_t *decision, char *error,
                                   size_t size);
void themis_dfra_release(themis_dfra_decision_t *decision);

/* The reason of a decision, sentences with the numbers. `known` is that of the job. */
void themis_dfra_explain(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                         const themis_dfra_decision_t *decision, char *text, size_t size);

/* "N-1 file, high bandwidth" and the like; "none". */
void themis_dfra_classes_text(unsigned classes, char *text, size_t size);

/* What one server moved while there was enough to do for it. */
typedef struct themis_dfra_rates {
    const double *rate; /* [samples], bytes/s, finite and >= 0; borrowed */
    uint32_t samples;
} themis_dfra_rates_t;

enum { THEMIS_DFRA_MIN_SAMPLES = 3, THEMIS_DFRA_MIN_PEERS = 5 };

/*
 * Finds the servers that are slower than their peers. The level of a server is the upper decile of its samples. One is
 * slow if its modified z-score among all levels (median and median absolute deviation; Iglewicz and Hoaglin, 1993) is
 * below -3.5 and its level below 3/4 of the median; one that was slow remains so until its level is 85 % of it. Servers
 * with fewer than THEMIS_DFRA_MIN_SAMPLES keep their state and do not count as peers; with fewer than
 * THEMIS_DFRA_MIN_PEERS all keep it. `slow` [servers] has the state before and after. INVALID: a rate is negative or
 * not finite; nothing is changed.
 */
themis_status_t themis_dfra_find_slow(const themis_dfra_rates_t *rates, uint32_t servers, uint8_t *slow);
