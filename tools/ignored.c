/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ignored.h"
#include <signal.h>
#include <stddef.h>

enum { SIGNALS = 31 };

static unsigned char ignored[SIGNALS + 1];

static void ignored_note(void)
{
    struct sigaction found;

    for (int i = 1; i <= SIGNALS; i++)
        ignored[i] = sigaction(i, NULL, &found) == 0 && found.sa_handler == SIG_IGN;
}

/* Runs before the constructors of shared libraries. */
__attribute__((section(".preinit_array"), used)) static void (*const at_begin)(void) = ignored_note;

int themis_tools_signal_is_ignored(int signal)
{
    return ignored[signal];
}
