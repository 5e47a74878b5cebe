#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Epilog=/etc/slurm/epilog.sh of slurm.conf: ends what a job's "themis run" may have left on this node when its launcher was ssh.
# Those that srun has launched end with their step. Servers that lose their agent end by themselves, agents within a minute; this is for
# nodes that are to be free at once. Users with another job on the node are left alone. Servers that prolog.sh has got for the job are
# given back, also where its answer was lost; the first node that does so ends the allocation. What it kept remains where that fails.
kept=${THEMIS_KEPT:-/run/themis}/${SLURM_JOB_ID:-none}
if [ -n "${SLURM_JOB_ID-}" ] && command -v themis >/dev/null 2>&1; then
    timeout 20 themis allocate --release-job "slurm:$SLURM_JOB_ID" ${SLURM_JOB_UID:+--user "$SLURM_JOB_UID"} >/dev/null 2>&1 && rm -f "$kept"
fi
[ -n "${SLURM_JOB_UID-}" ] && [ "$SLURM_JOB_UID" != 0 ] || exit 0
# With burst_buffer.lua (pool=nodes) servers on the node copy out after the job: until then, and for an hour at most, the node is not
# given to another job. themis_bb.conf is beside this script.
shared='' waited=0
# shellcheck disable=SC1091
[ ! -r "$(dirname "$0")/themis_bb.conf" ] || . "$(dirname "$0")/themis_bb.conf"
# shellcheck disable=SC2153
while [ -n "$shared" ] && [ -e "$shared/$SLURM_JOB_ID/serving" ] && [ $waited -lt 3600 ]; do
    sleep 1
    waited=$((waited + 1))
done
! squeue -h -w "$(hostname -s)" -u "$SLURM_JOB_UID" -t running,suspended -o %i 2>/dev/null | grep -qvx "$SLURM_JOB_ID" || exit 0
pkill -KILL -U "$SLURM_JOB_UID" -f '^[^ ]*/?themis agent$' 2>/dev/null
exit 0
