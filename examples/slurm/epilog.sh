#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Epilog of slurm.conf: ends what a job's "themis run" may have left on this node when its launcher was ssh. Those that srun has
# launched end with their step. Servers that lose their agent end by themselves, agents within a minute; this is for nodes that
# are to be free at once. Users with another job on the node are left alone.
[ -n "${SLURM_JOB_UID-}" ] && [ "$SLURM_JOB_UID" != 0 ] || exit 0
[ -z "$(squeue -h -w "$(hostname -s)" -u "$SLURM_JOB_UID" -t running,suspended -o %i 2>/dev/null | grep -vx "$SLURM_JOB_ID")" ] || exit 0
pkill -KILL -U "$SLURM_JOB_UID" -f '^[^ ]*/?themis agent$' 2>/dev/null
exit 0
