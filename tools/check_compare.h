/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong in what all servers have (check_scan.h), and which of it may be mended. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "tools/check_scan.h"

typedef enum themis_tools_check_kind {
    THEMIS_TOOLS_CHECK_DOUBLED,    /* a name whose object has another one, which stays */
    THEMIS_TOOLS_CHECK_ORPHAN,     /* an object that no name leads to */
    THEMIS_TOOLS_CHECK_NO_NAME,    /* an entry without a name */
    THEMIS_TOOLS_CHECK_NO_ENTRY,   /* a name without an entry */
    THEMIS_TOOLS_CHECK_WRONG_TYPE, /* a name whose entry is of another type */
    THEMIS_TOOLS_CHECK_MISPLACED,  /* a name or entry on a server that is not its home */
    THEMIS_TOOLS_CHECK_INCOMPLETE, /* a file without an object on a server, though others have bytes beyond */
    THEMIS_TOOLS_CHECK_KINDS
} themis_tools_check_kind_t;

typedef struct themis_tools_check_finding {
    themis_tools_check_kind_t kind;
    uint32_t server;
    uint64_t id, generation, modified; /* where there are any */
    int type;
    char *path; /* owned; "" of an orphan */
    int mended, unsettled;
} themis_tools_check_finding_t;

typedef struct themis_tools_check_findings {
    themis_tools_check_finding_t *list; /* by kind, then by path, then by id */
    size_t count, capacity;
} themis_tools_check_findings_t;

/* Appends what is wrong, in order. Objects count that did not change for `age` ns by the clock of their server.
 * THEMIS_NO_MEMORY. */
themis_status_t themis_tools_check_compare(const themis_tools_check_scan_t *scan, uint64_t age,
                                           themis_tools_check_findings_t *findings);
/* Keeps of `later` what `earlier` has as well. */
void themis_tools_check_findings_keep(themis_tools_check_findings_t *later,
                                      const themis_tools_check_findings_t *earlier);
void themis_tools_check_findings_free(themis_tools_check_findings_t *findings);

/* Why it is not mended; NULL: it may be. *unsettled, which is 0 before: 1 if that ends by itself. */
const char *themis_tools_check_obstacle(const themis_tools_check_scan_t *scan,
                                        const themis_tools_check_finding_t *finding, int force, int *unsettled);
