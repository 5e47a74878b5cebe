#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prolog=/etc/slurm/prolog.sh of slurm.conf, for nodes that use the site's servers: warns in the log of slurmd where a server is down.
# A job starts nevertheless, since a Prolog that fails drains the node, and the node is not at fault.
command -v themis >/dev/null 2>&1 || exit 0
timeout 5 themis status 2>/dev/null | sed -n 's/^ *[0-9]*  \([^ ]*\) *DOWN/themis: server \1 is DOWN/p' >&2
exit 0
