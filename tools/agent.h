/* SPDX-License-Identifier: BSD-3-Clause */
/* What `themis run` and `themis agent`, on another host, have in common. The words are told in tools/agent.c. */
#pragma once
#include "util/clock.h"

#define THEMIS_TOOLS_AGENT_PREFIX "themis-agent " /* of each answer */
enum { THEMIS_TOOLS_AGENT_VERSION = 1 };
/* `run` says that often that it lives, and hears from the agent as often. */
#define THEMIS_TOOLS_AGENT_BEAT (5 * THEMIS_NS_PER_S)
/* After so long without a word, the other side is gone. */
#define THEMIS_TOOLS_AGENT_SILENCE (60 * THEMIS_NS_PER_S)
