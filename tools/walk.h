/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks over what is below a path on servers, in byte order of the names. The stack of calls does not grow with the
 * depth of the tree. */
#pragma once
#include "themis/themis.h"

typedef enum themis_tools_walk_event {
    THEMIS_TOOLS_WALK_ENTRY,     /* a file, or a directory before what is in it */
    THEMIS_TOOLS_WALK_CONTENTS,  /* the names in a directory are known, and are visited next */
    THEMIS_TOOLS_WALK_AFTERWARDS /* a directory after what is in it; also where it could not be read */
} themis_tools_walk_event_t;

/* What is visited; all of it is valid during the call only. */
typedef struct themis_tools_walked {
    themis_t *session;
    const char *path;  /* on the servers */
    const char *shown; /* the operand, with the path below it */
    const char *name;  /* last component of `shown`; for the operand itself all of it */
    unsigned depth;    /* 0: the operand */
    themis_stat_t stat;
} themis_tools_walked_t;

/* Returns THEMIS_TOOLS_OK or _FAILED. */
typedef int (*themis_tools_walk_fn)(void *arg, const themis_tools_walked_t *walked, themis_tools_walk_event_t event);

/*
 * Visits the path that the operand `text` names and what is below it, down to `depth` (0: the operand alone). Names
 * whose creation was interrupted are left out. Errors are printed and do not end the walk; an interrupt does. Returns
 * THEMIS_TOOLS_FAILED after any, or if a visit failed.
 */
int themis_tools_walk(const char *text, unsigned depth, themis_tools_walk_fn visit, void *arg);
