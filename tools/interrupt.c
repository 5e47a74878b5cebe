/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/interrupt.h"
#include <signal.h>
#include <stddef.h>
#include "tools/ignored.h"

static volatile sig_atomic_t noted;

static void signal_note(int signal)
{
    noted = signal;
}

void themis_tools_interrupt_watch(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction note = {.sa_handler = signal_note, .sa_flags = (int)SA_RESETHAND};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (themis_tools_signal_is_ignored(signals[i]))
            signal(signals[i], SIG_IGN);
        else
            sigaction(signals[i], &note, NULL);
}

int themis_tools_interrupted(void)
{
    return noted;
}
