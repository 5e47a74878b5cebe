/* SPDX-License-Identifier: BSD-3-Clause */
/* All draws by name. */
#include "sched/draw.h"
#include <string.h>
#include "config.h"

#if THEMIS_COMPARATORS
#define COMPARATOR(ops) &ops
#else
#define COMPARATOR(ops) NULL
#endif

static const struct {
    const char *name;
    themis_sched_draw_kind_t kind;
    const themis_sched_draw_ops_t *ops; /* NULL: left out of this build */
} draws[] = {
    {"stride", THEMIS_SCHED_DRAW_SHARES, &themis_sched_draw_stride},
    {"statistical", THEMIS_SCHED_DRAW_SHARES, &themis_sched_draw_statistical},
    {"fifo", THEMIS_SCHED_DRAW_POLICY, &themis_sched_draw_fifo},
    {"min-dilation", THEMIS_SCHED_DRAW_POLICY, &themis_sched_draw_min_dilation},
    {"gift", THEMIS_SCHED_DRAW_POLICY, COMPARATOR(themis_sched_draw_gift)},
    {"tbf", THEMIS_SCHED_DRAW_POLICY, COMPARATOR(themis_sched_draw_tbf)},
};

themis_status_t themis_sched_draw_find(themis_sched_draw_kind_t kind, const char *name,
                                       const themis_sched_draw_ops_t **ops)
{
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++)
        if (draws[i].kind == kind && strcmp(draws[i].name, name) == 0) {
            *ops = draws[i].ops;
            return *ops == NULL ? THEMIS_UNSUPPORTED : THEMIS_OK;
        }
    return THEMIS_NO_ENTRY;
}
