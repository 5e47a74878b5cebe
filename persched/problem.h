/* SPDX-License-Identifier: BSD-3-Clause */
/* The running applications one by one, with what all algorithms need of each. */
#pragma once
#include "persched/persched.h"

typedef struct themis_persched_task {
    uint32_t application, copy;
    double compute;  /* seconds */
    double reserve;  /* bytes that its windows are made for */
    double rate;     /* min(nodes * b, B), bytes/s */
    double duration; /* compute + I/O alone, seconds */
    double weight;   /* what one instance adds to SysEff times the period: nodes * compute / N */
} themis_persched_task_t;

typedef struct themis_persched_tasks {
    uint32_t count;
    themis_persched_task_t task[];
} themis_persched_tasks_t;

/* Checks the problem and lists its running applications; freed by free(). */
themis_status_t themis_persched_tasks_make(const themis_persched_problem_t *problem, themis_persched_tasks_t **tasks);

/* SysEff and dilation of `instances` [tasks->count] in a period; the dilation is infinite where one has none. */
double themis_persched_efficiency(const themis_persched_tasks_t *tasks, const uint32_t *instances, double period);
double themis_persched_dilation(const themis_persched_tasks_t *tasks, const uint32_t *instances, double period);
