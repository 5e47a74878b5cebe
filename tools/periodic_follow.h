/* SPDX-License-Identifier: BSD-3-Clause */
/* themis periodic follow: plans for the jobs that run, as long as that pays. */
#pragma once

/* argv[0] is the verb. Returns an exit status. */
int themis_tools_periodic_follow(int argc, char **argv);
