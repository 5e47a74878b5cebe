#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# TaskProlog=/etc/slurm/task_prolog.sh of slurm.conf: puts the driver in front of the MPI library of every task, so that plain
# "srun ./program themis:/file" works without "themis run". What a task's environment gets is what is printed. slurmd runs this as the
# user, so no plugin in slurmd is needed for it.
# Where prolog.sh has got servers for the job, its files are on these, unless the job says where they are to be.
kept=${THEMIS_KEPT:-/run/themis}/${SLURM_JOB_ID:-none}
[ -n "${THEMIS_PLACEMENT-}" ] || [ ! -r "$kept" ] ||
    sed -n -e 's/^THEMIS_PLACEMENT=[][a-zA-Z0-9.:,_-]*$/export &/p' -e 's/^THEMIS_ALLOCATION=[0-9]*$/export &/p' "$kept"
driver=${THEMIS_DRIVER:-/usr/lib/$(uname -m)-linux-gnu/libthemis-mpiio.so}
[ -r "$driver" ] || exit 0
case ${LD_PRELOAD-} in
*"$driver"*) ;;
*) echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$driver" ;;
esac
