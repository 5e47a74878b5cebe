/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ucx/log_limit.h"
#include <stdatomic.h>
#include <ucs/debug/log_def.h>
#include "util/clock.h"
#include "util/log.h"

enum { MESSAGES = 20 };
#define INTERVAL (10 * THEMIS_NS_PER_S)

/* UCX's handlers have no argument. */
static _Atomic uint64_t since, count; /* ns; messages from then on */
static atomic_flag installed = ATOMIC_FLAG_INIT;

static ucs_log_func_rc_t log_limit(const char *file, unsigned line, const char *function, ucs_log_level_t level,
                                   const ucs_log_component_config_t *config, const char *message, va_list arguments)
{
    uint64_t now = themis_util_clock_now(), began = since;

    (void)file, (void)line, (void)function, (void)config, (void)message, (void)arguments;
    /* the last words of a process, and what somebody has asked UCX for, in full */
    if (level == UCS_LOG_LEVEL_FATAL || level >= UCS_LOG_LEVEL_INFO)
        return UCS_LOG_FUNC_RC_CONTINUE;
    if (now - began >= INTERVAL && atomic_compare_exchange_strong(&since, &began, now)) {
        uint64_t seen = atomic_exchange(&count, 0);
        if (seen > MESSAGES)
            themis_warn("UCX had %llu more messages", (unsigned long long)(seen - MESSAGES));
    }
    return atomic_fetch_add(&count, 1) < MESSAGES ? UCS_LOG_FUNC_RC_CONTINUE : UCS_LOG_FUNC_RC_STOP;
}

void themis_net_log_limit(void)
{
    if (!atomic_flag_test_and_set(&installed))
        ucs_log_push_handler(log_limit);
}
