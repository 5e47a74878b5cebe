/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/plan_text.h"
#include <time.h>

char *themis_tools_plan_text(json_t *plan, const char *policy, double tolerance)
{
    static const char *const unused[] = {"bounds", "schedules", "efficiency", "dilation"};

    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        json_object_del(plan, unused[i]);
    json_object_set_new(plan, "policy", json_string(policy));
    json_object_set_new(plan, "origin_s", json_integer(time(NULL)));
    if (tolerance >= 0)
        json_object_set_new(plan, "tolerance_s", json_real(tolerance));
    char *text = plan ? json_dumps(plan, JSON_COMPACT) : NULL;
    json_decref(plan);
    return text;
}
