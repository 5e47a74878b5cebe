/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "tools/interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include "tools/ignored.h"
#include "util/clock.h"

static volatile sig_atomic_t noted;
static int awake[2] = {-1, -1}; /* a pipe: who pauses reads, and any thread may get the signal, and writes */

static void signal_note(int signal)
{
    int error = errno;

    noted = signal;
    if (awake[1] >= 0 && write(awake[1], "", 1) < 0)
        errno = error; /* it is full of earlier ones */
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
    if (awake[0] < 0 && pipe2(awake, O_CLOEXEC | O_NONBLOCK) != 0)
        awake[0] = awake[1] = -1;
    signals_note(0);
}

int themis_tools_interrupted(void)
{
    return noted;
}

void themis_tools_interrupt_pause(uint64_t due)
{
    enum { LONGEST = 1000 }; /* ms; without a pipe, how late a signal may be noticed */

    for (uint64_t now = themis_util_clock_now(); now < due && !noted; now = themis_util_clock_now()) {
        uint64_t left = (due - now) / THEMIS_NS_PER_MS + 1;
        struct pollfd wait = {.fd = awake[0], .events = POLLIN};

        poll(&wait, 1, awake[0] < 0 && left > LONGEST ? LONGEST : left > INT32_MAX ? INT32_MAX : (int)left);
    }
}
