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

static void signals_note(int flags)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction note = {.sa_handler = signal_note, .sa_flags = flags};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (themis_tools_signal_is_ignored(signals[i]))
            signal(signals[i], SIG_IGN);
        else
            sigaction(signals[i], &note, NULL);
}

void themis_tools_interrupt_watch(void)
{
    signals_note((int)SA_RESETHAND);
}

void themis_tools_interrupt_watch_all(void)
{
    signals_note(0);
}

int themis_tools_interrupted(void)
{
    return noted;
}
