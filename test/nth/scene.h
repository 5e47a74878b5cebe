/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client does with its servers, in steps: connects, works with names, bytes, locks and counters, disconnects. */
#pragma once
#include "themis/themis.h"

typedef struct scene_options {
    const char *servers; /* "host:port,..." */
    unsigned number;     /* of the scene: it has a directory of its own, which is removed at the end */
    int direct;          /* as in themis_options_t */
    int quiet;           /* 1: clean errors are not printed */
} scene_options_t;

typedef enum scene_result {
    SCENE_GOOD = 0,   /* all steps succeeded */
    SCENE_WRONG = 1,  /* wrong bytes, an error without a cause, or a step that fails again when it is repeated */
    SCENE_FAILED = 2, /* steps failed with errors, each of which says why, and succeeded when they were repeated */
} scene_result_t;

/* A step that fails is done once more, which must succeed. Prints errors to standard output. */
scene_result_t scene_play(const scene_options_t *options);
