/* SPDX-License-Identifier: BSD-3-Clause */
/* One job in the history: its series and its record. Internal to history.c, whose thread calls all of these. */
#pragma once
#include "history/record.h"
#include "sched/job_table.h"
#include "server/history_sharing.h"

/* A job's counters at one moment. */
typedef struct themis_server_history_counters {
    uint64_t read, written;
    uint64_t requests, metadata;
    uint64_t wait_ns, metadata_wait_ns;
    uint64_t sizes[THEMIS_HISTORY_SIZES];
    uint64_t time;  /* ns; of this look */
    uint64_t heard; /* ns; when the job was heard last */
    uint32_t nodes, clients;
} themis_server_history_counters_t;

typedef struct themis_server_history_job {
    struct themis_server_history_job *next, *prev; /* in one list of the history */
    /* Guarded by the server's lock. */
    themis_sched_job_t *job;                /* NULL: it has ended */
    themis_server_history_counters_t final; /* of a job that has ended */
    char application[THEMIS_HISTORY_NAME_BYTES], project[THEMIS_HISTORY_NAME_BYTES];
    uint32_t most_clients;
    uint32_t silent; /* sessions that hold it, and are not among the job's clients */
    themis_server_history_sharing_t sharing;
    /* Do not change. */
    char id[THEMIS_SCHED_JOB_ID_BYTES];
    uint32_t user;
    uint64_t number; /* in the names of its files; the history sets it */
    uint64_t begun;  /* ns */
    uint64_t wall;   /* the same in ns since 1970 */
    double start;    /* the same in s since 1970 */
    /* The thread's. */
    themis_server_history_counters_t now, last;
    themis_history_series_t series;
    double interval;  /* s, as configured; that of the series grows */
    double peak;      /* bytes/s */
    uint64_t written; /* ns; when its record was last written, or `begun` */
    int has_running;  /* 1: there is a record of the running job in the store */
    int ended;
    /* Taken from what is guarded, for a record. */
    uint32_t files, hosts, clients;
    themis_history_sharing_t kind;
    char record_application[THEMIS_HISTORY_NAME_BYTES], record_project[THEMIS_HISTORY_NAME_BYTES];
} themis_server_history_job_t;

/* A job that begins now: `now` in ns, `wall` in ns since 1970, both of one moment; `interval` in s. NULL: no memory. */
themis_server_history_job_t *themis_server_history_job_create(themis_sched_job_t *job, uint64_t now, uint64_t wall,
                                                              double interval);
void themis_server_history_job_destroy(themis_server_history_job_t *job); /* NULL is allowed */

/* The counters of a job at the time `now`. With the server's lock. */
void themis_server_history_job_count(const themis_sched_job_t *job, uint64_t now,
                                     themis_server_history_counters_t *counters);
/* What a record needs of what is guarded. With the server's lock. */
void themis_server_history_job_summarise(themis_server_history_job_t *job);

/* Adds what the counters have grown by since the last call to the series. */
void themis_server_history_job_sample(themis_server_history_job_t *job);
/* 1: it has asked for something; others need no record. */
int themis_server_history_job_is_worth(const themis_server_history_job_t *job);
/* The record as a line, owned by the caller (free). NULL: no memory, or a record that is not valid, which is logged. */
char *themis_server_history_job_line(const themis_server_history_job_t *job, int interim);
