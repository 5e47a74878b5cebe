/* SPDX-License-Identifier: BSD-3-Clause */
/* What test/nth/sweep.c tells test/nth/shim.c in another process, and learns from it: a file that both map. */
#pragma once
#include <stdint.h>

enum { NTH_MEMORY = 1, NTH_DESCRIPTOR = 2, NTH_THREAD = 3, NTH_KINDS = 3 };
enum { NTH_FRAMES = 8, NTH_SITES = 1 << 16 };

/* The name of the file that is mapped. */
#define NTH_CONTROL "NTH_CONTROL"

typedef struct nth_control {
    int kind;      /* of the calls that are counted; 0: none */
    uint32_t site; /* where they are; 0: anywhere */
    long fail;     /* the number of the one that fails, from 1; 0: none */
    long count;    /* of calls so far */
    int hit;       /* 1 once it has failed */
    char call[32]; /* then its name, and where it was: objects and offsets in them */
    char object[NTH_FRAMES][64];
    uintptr_t offset[NTH_FRAMES];
    int record; /* 1: sites[n - 1] is the site of call n */
    uint32_t sites[NTH_SITES];
} nth_control_t;
