/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/plan_text.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "util/clock.h"

static void identity_make(char identity[THEMIS_TOOLS_PLAN_IDENTITY_BYTES])
{
    uint64_t number;

    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = themis_util_clock_wall() ^ (uint64_t)getpid() << 44;
    snprintf(identity, THEMIS_TOOLS_PLAN_IDENTITY_BYTES, "%016" PRIx64, number);
}

char *themis_tools_plan_text(json_t *plan, const char *policy, double tolerance,
                             char identity[THEMIS_TOOLS_PLAN_IDENTITY_BYTES])
{
    static const char *const unused[] = {"bounds", "schedules", "efficiency", "dilation"};

    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        json_object_del(plan, unused[i]);
    identity_make(identity);
    json_object_set_new(plan, "identity", json_string(identity));
    json_object_set_new(plan, "policy", json_string(policy));
    json_object_set_new(plan, "origin_s", json_integer(time(NULL)));
    if (tolerance >= 0)
        json_object_set_new(plan, "tolerance_s", json_real(tolerance));
    char *text = plan ? json_dumps(plan, JSON_COMPACT) : NULL;
    json_decref(plan);
    return text;
}
