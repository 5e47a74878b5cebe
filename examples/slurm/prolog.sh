#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prolog=/etc/slurm/prolog.sh of slurm.conf, for nodes that use the site's servers: warns in the log of slurmd where a server is down,
# and where the servers have the allocation service, asks it for some of them for the job. Each node of the job gets the same answer and
# keeps it for task_prolog.sh; epilog.sh gives them back. Node numbers are those at the end of the nodes' names.
# A job starts nevertheless, within half a minute, since a Prolog that fails drains the node, and the node is not at fault.
command -v themis >/dev/null 2>&1 || exit 0
timeout 5 themis status 2>/dev/null | sed -n 's/^ *[0-9]*  \([^ ]*\) *DOWN/themis: server \1 is DOWN/p' >&2
[ -n "${SLURM_JOB_ID-}" ] && [ -n "${SLURM_JOB_UID-}" ] || exit 0
kept=${THEMIS_KEPT:-/run/themis}/$SLURM_JOB_ID
name=${SLURM_JOB_NAME:-$(timeout 5 squeue -h -j "$SLURM_JOB_ID" -o %j 2>/dev/null)}
nodes=${SLURM_JOB_NODELIST-${SLURM_NODELIST-}}
# A lease until ten minutes after the job's limit of time, where Slurm tells that and it is within a year; else the service's own.
case ${SLURM_JOB_END_TIME-} in '' | 0* | *[!0-9]*) lease=0 ;; *) lease=$((SLURM_JOB_END_TIME - $(date +%s) + 600)) ;; esac
[ "$lease" -gt 600 ] && [ "$lease" -lt 31536000 ] || lease=
mkdir -p "$(dirname "$kept")" 2>/dev/null
if timeout 15 themis allocate --once --application "${name:-slurm}" ${nodes:+--nodes "$nodes"} ${lease:+--lease "${lease}s"} \
    --user "$SLURM_JOB_UID" --job "slurm:$SLURM_JOB_ID" >"$kept.new" 2>/dev/null; then
    mv -f "$kept.new" "$kept"
else
    rm -f "$kept.new" "$kept"
fi 2>/dev/null
exit 0
