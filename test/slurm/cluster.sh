# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Sourced by test/slurm.sh --slurm: the burst buffer in a real Slurm. On an emulated cluster, login has slurmctld, r0n0 and r0n1 a
# slurmd each, io0 is the site's server.
# shellcheck disable=SC2154 # variables of the scripts around
. "$THEMIS_SRC/test/lib/clusterlib.sh"
THEMIS_VARIANT=${THEMIS_VARIANT-}
cluster_or_finish "jobs of Slurm" "sanitizers are too slow for it"
plugin=$(find /usr/lib /usr/lib64 -name burst_buffer_lua.so 2>/dev/null | head -n 1)
[ -n "$plugin" ] || skip_all "jobs of Slurm" "burst_buffer_lua.so is not installed"
for name in slurmctld slurmd munged setcap; do
    command -v $name >/dev/null || skip_all "jobs of Slurm" "$name is not installed"
done

chmod 711 "$T"
unset UCX_NET_DEVICES
sh "$cluster" up "$CLUSTER_DIR" 1 2 1000 1000 1 >"$T/up" 2>&1 || {
    not_ok "the cluster starts"
    cat "$T/up"
    end
}

# --- who is who: one munged for all, whose socket all hosts see

socket=$T/munge.socket
(umask 077 && head -c 128 /dev/urandom >"$T/munge.key")
directory root 755 log slurm bin
spawn munged --foreground --force --key-file="$T/munge.key" --socket="$socket" --pid-file="$T/munged.pid" --log-file="$T/log/munged" --seed-file="$T/munged.seed" 2>"$T/log/munged.err"
until [ -S "$socket" ]; do sleep 0.1; done

# --- the site's server

spawn sh "$cluster" exec "$CLUSTER_DIR" io0 themisd --listen 10.77.100.1 --port 7600 --servers 10.77.100.1:7600 --index 0 --size 256m --key "$T/key" \
    --auth munge --munge-socket "$socket" --port-file "$T/port" >"$T/log/themisd" 2>&1
await_files 20 "$T/port" || {
    not_ok "the site's server starts"
    sed 's/^/# /' "$T/log/themisd"
    end
}

# --- Slurm

# A user's way to another host, as ssh would be.
cp "$(command -v nsenter)" "$T/bin/nsenter"
setcap cap_sys_admin,cap_sys_chroot,cap_sys_ptrace+ep "$T/bin/nsenter"
sed "s|exec nsenter|exec '$T/bin/nsenter'|; s|\$CLUSTER_DIR|$CLUSTER_DIR|" "$THEMIS_SRC/test/cluster/launch.sh" >"$T/bin/launch"

site=$T/slurm
directory root 1777 shared
directory "$user" 755 data data/in data/results
settings servers=10.77.100.1:7600 capacity=10 "shared=$T/shared" "launcher=\"sh $T/bin/launch\"" "export SLURM_CONF=$site/slurm.conf" \
    "export THEMIS_MUNGE_SOCKET=$socket"
for name in prolog epilog task_prolog; do install -m 755 "$examples/$name.sh" "$site"; done
cat >"$site/slurm.conf" <<END
ClusterName=themis
SlurmctldHost=login
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$socket
StateSaveLocation=$T/ctld
SlurmdSpoolDir=$T/slurmd.%n
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd.%n.pid
SlurmctldLogFile=$T/log/slurmctld
SlurmdLogFile=$T/log/slurmd.%n
SlurmctldDebug=verbose
DebugFlags=BurstBuffer
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerParameters=bf_interval=1,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=pmi2
BurstBufferType=burst_buffer/lua
Prolog=$site/prolog.sh
Epilog=$site/epilog.sh
TaskProlog=$site/task_prolog.sh
PropagateResourceLimits=NONE
NodeName=r0n[0-1] CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
END
# The SPANK plugin, where its header is.
if gcc -Wall -Wextra -Werror -fPIC -shared -o "$site/spank_themis.so" "$examples/spank_themis.c" 2>"$T/err"; then
    echo "required $site/spank_themis.so driver=$THEMIS_PREFIX/lib/libthemis-mpiio.so" >"$site/plugstack.conf"
    echo "PlugStackConfig=$site/plugstack.conf" >>"$site/slurm.conf"
fi
printf 'OtherTimeout=60\nStageInTimeout=60\nStageOutTimeout=60\n' >"$site/burst_buffer.conf"
export SLURM_CONF="$site/slurm.conf"
# Hosts of the cluster have no control groups.
echo CgroupPlugin=cgroup/v1 >"$site/cgroup.conf"
mkdir "$T/ctld" "$T/slurmd.r0n0" "$T/slurmd.r0n1"
spawn sh "$cluster" exec "$CLUSTER_DIR" login slurmctld -D >"$T/log/slurmctld.out" 2>&1
for node in r0n0 r0n1; do spawn sh "$cluster" exec "$CLUSTER_DIR" $node slurmd -D -N $node >"$T/log/slurmd.out" 2>&1; done

# show_logs: what the daemons say
show_logs() { tail -n 25 "$T"/log/slurmctld "$T"/log/slurmd.r* "$T"/data/out.* 2>/dev/null | sed 's/^/# /'; }
# within SECONDS COMMAND...
within() {
    tries=$(($1 * 2))
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.5
    done
}
idle() { [ "$(on login sinfo -h -o '%D %t' 2>/dev/null)" = "2 idle" ]; }
check "two nodes are up" within 30 idle || {
    show_logs
    end
}

# submit FILE: its number is $job.
submit() {
    job=$(on login setpriv --reuid "$(id -u "$user")" --regid "$(id -g "$user")" --clear-groups sbatch --parsable -D "$T/data" -o "$T/data/out.%j" "$1" 2>"$T/err")
}
state_is() { [ "$(on login squeue -h -t all -j "$job" -o %T 2>/dev/null)" = "$1" ]; }
# The state after the end is kept for some minutes (MinJobAge).
completed() { within "$1" state_is COMPLETED || { on login scontrol show job "$job" && show_logs && return 1; }; }
released() { [ ! -e "$T/state/$job" ] && [ -z "$(ls "$T/shared")" ] && idle; }

as_user sh -c 'mkdir "$1/in/deep"; head -c 3000000 /dev/urandom >"$1/in/deep/block"' sh "$T/data"
# script LINE...
script() { printf '%s\n' '#!/bin/sh' '#SBATCH -N 2 -n 2 --time=5' "$@" >"$T/data/script"; }
refused() {
    if submit "$T/data/script"; then return 1; fi
    grep -q "$1" "$T/err" || { cat "$T/err" && return 1; }
}
script '#BB_LUA pool=themis capacity=1G stage_in=/a/../b:/c' 'true'
check "a wrong directive is refused by sbatch, which says why" refused 'may not have'

program=$THEMIS_BUILD/examples/hello_mpiio shim=$THEMIS_BUILD/test/cluster/finalize_shim.so
# shellcheck disable=SC2016 # expanded in the job
mpi="srun -n 2 --export=ALL,LD_PRELOAD=$shim $program "'"$THEMIS_BB_DIR/hello"'
# job POOL LINE...: a job that compares its input and has two ranks write a file.
# shellcheck disable=SC2016
job_script() {
    pool=$1
    shift
    script "#BB_LUA pool=$pool capacity=128M stage_in=$T/data/in/deep:/deep" \
        "#BB_LUA stage_out=/deep:$T/data/results/$pool.deep stage_out=/hello:$T/data/results/$pool.hello" \
        "set -e; export PATH='$PATH' THEMIS_MUNGE_SOCKET='$socket' THEMIS_DRIVER='$THEMIS_PREFIX/lib/libthemis-mpiio.so'" \
        'themis cat "$THEMIS_BB_DIR/deep/block" | cmp - '"'$T/data/in/deep/block'" "$@"
}
for pool in themis nodes; do
    job_script $pool "$mpi" 'touch "run.$SLURM_JOB_ID"'
    check "pool=$pool: a job is submitted" submit "$T/data/script" || cat "$T/err"
    check "pool=$pool: it completes" completed 90
    check "pool=$pool: it ran to its end" [ -e "$T/data/run.$job" ]
    check "pool=$pool: its input came back" cmp "$T/data/results/$pool.deep/block" "$T/data/in/deep/block"
    check "pool=$pool: what two ranks wrote" [ -s "$T/data/results/$pool.hello" ]
    check "pool=$pool: nothing is left, and the nodes are free" within 20 released || { find "$T/shared" "$T/state" && show_logs; }
done

# A job that is cancelled while it runs copies out.
for pool in themis nodes; do
    rm -rf "$T/data/results/$pool.deep" "$T/data/results/$pool.hello"
    # shellcheck disable=SC2016
    job_script $pool 'themis cp "$THEMIS_BB_DIR/deep/block" "$THEMIS_BB_DIR/hello"; touch "run.$SLURM_JOB_ID"; sleep 300'
    check "pool=$pool: a job that is cancelled is submitted" submit "$T/data/script"
    check "pool=$pool: it runs" within 60 test -e "$T/data/run.$job" || show_logs
    on login scancel "$job"
    check "pool=$pool: its results are copied out" within 30 cmp "$T/data/results/$pool.hello" "$T/data/in/deep/block"
    check "pool=$pool: nothing of it is left" within 30 released || { find "$T/shared" "$T/state" && show_logs; }
done
# Servers on the nodes of a job that has ended copy to a FIFO: the nodes wait.
as_user mkfifo "$T/data/results/fifo"
script "#BB_LUA pool=nodes capacity=128M servers=1 stage_in=$T/data/in/deep:/deep stage_out=/deep/block:$T/data/results/fifo" 'true'
check "a job whose results are read slowly is submitted" submit "$T/data/script"
held() { [ "$(on login sinfo -h -o '%D %t')" = "2 comp" ]; }
check "its nodes are held" within 30 held || on login sinfo
sleep 3
check "until the results are read" held
cat "$T/data/results/fifo" >"$T/read"
check "all of them" cmp "$T/read" "$T/data/in/deep/block"
check "and then no longer" within 20 released || { on login scontrol show job "$job" && show_logs; }

# What fails is told, and kept until it is given up.
reason() { on login scontrol show job "$job" | grep -q -e "$1"; }
told() { within 30 reason "$1" || { on login scontrol show job "$job" && return 1; }; }
script "#BB_LUA pool=themis capacity=1G stage_in=$T/key:/key" 'touch was-run'
check "a job with input that its user may not read is submitted" submit "$T/data/script"
check "it waits, and its reason says why" told 'Reason=.*stage_in:_.*key_cannot_be_read'
on login scancel "$job"
check "nothing of it is left when it is cancelled" within 20 released
check "it has not run" [ ! -e "$T/data/was-run" ]
script "#BB_LUA pool=themis capacity=1G stage_in=$T/data/in/deep:/deep stage_out=/none:$T/data/results/none" 'true'
check "a job that does not write what is to be copied out is submitted" submit "$T/data/script"
check "its reason says what is not there" told 'Reason=.*/none'
check "its files are kept" on login env THEMIS_MUNGE_SOCKET="$socket" THEMIS_SERVERS=10.77.100.1:7600 themis stat "themis:/slurm-$job/deep/block"
on login scancel --hurry "$job"
check "until scancel --hurry" within 20 released || show_logs

# A copy that does not end, and a job that is cancelled before it has nodes.
as_user mkfifo "$T/data/in/fifo"
script "#BB_LUA pool=themis capacity=1G stage_in=$T/data/in/fifo:/fifo" 'touch was-run'
check "a job with input that does not come is submitted" submit "$T/data/script"
check "it is being copied" within 30 test -e "$T/state/$job/owner"
sleep 1
on login scancel "$job"
cancelled=$job
check "the copy ends when the job is cancelled" within 20 sh -c '! pgrep -f "$1"' sh "cp .*/in/[f]ifo"

# slurmctld is started again while jobs run.
for pool in themis nodes; do
    rm -rf "$T/data/results/$pool.deep" "$T/data/results/$pool.hello"
    # shellcheck disable=SC2016
    job_script $pool 'themis cp "$THEMIS_BB_DIR/deep/block" "$THEMIS_BB_DIR/hello"; touch "run.$SLURM_JOB_ID"; until [ -e "end.$SLURM_JOB_ID" ]; do sleep 1; done'
    check "pool=$pool: a job that goes on without slurmctld is submitted" submit "$T/data/script"
    check "pool=$pool: it is running" within 60 test -e "$T/data/run.$job" || show_logs
    kill "$(cat "$T/slurmctld.pid")"
    within 20 sh -c '! kill -0 "$1"' sh "$(cat "$T/slurmctld.pid")"
    spawn sh "$cluster" exec "$CLUSTER_DIR" login slurmctld -D >>"$T/log/slurmctld.out" 2>&1
    as_user touch "$T/data/end.$job"
    check "pool=$pool: its results are there" within 60 cmp "$T/data/results/$pool.hello" "$T/data/in/deep/block" || show_logs
    check "pool=$pool: and it is cleaned up" within 30 released || { ls -R "$T/state" "$T/shared" && show_logs; }
done

# Slurm may have ended the teardown of that job; then those after it have cleared up.
check "nothing is left of the job that was cancelled while it was copied" [ ! -e "$T/state/$cancelled" ]

# A node that is lost: its agent and its server are killed.
lose() {
    network=$(on "$1" readlink /proc/self/ns/net)
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/net" 2>/dev/null)" = "$network" ] || continue
        case $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) in *"themis agent"* | *themisd*) kill -KILL "${process#/proc/}" 2>/dev/null ;; esac
    done
}
# shellcheck disable=SC2016
script "#BB_LUA pool=nodes capacity=128M stage_in=$T/data/in/deep:/deep stage_out=/deep:$T/data/results/lost" 'touch "run.$SLURM_JOB_ID"; sleep 300'
check "a job whose node will be lost is submitted" submit "$T/data/script"
check "that job runs" within 60 test -e "$T/data/run.$job" || show_logs
lose r0n1
on login scancel "$job"
check "its reason says that a server is gone" told 'Reason=.*servers_has_ended_with_status' || show_logs
on login scontrol show job "$job" | sed -n 's/^ *SystemComment=/# /p'
on login scancel --hurry "$job"
check "all is free after scancel --hurry" within 90 released || { find "$T/shared" "$T/state" && on login sinfo && show_logs; }

if [ -e "$site/plugstack.conf" ]; then
    # shellcheck disable=SC2016
    script "export THEMIS_DRIVER=/none THEMIS_MUNGE_SOCKET=$socket" \
        "srun -n 2 --export=ALL,LD_PRELOAD=$shim $program themis:/without && touch without" "srun -n 2 --export=ALL,LD_PRELOAD=$shim --themis=10.77.100.1:7600 $program themis:/spank && touch with" \
        "srun -n 1 '--themis=1;2' true || touch refused"
    check "--themis: a job is submitted" submit "$T/data/script" || cat "$T/err"
    check "--themis: its steps with the option are served" within 60 test -e "$T/data/with" || show_logs
    check "--themis: those without are not" [ ! -e "$T/data/without" ]
    check "--themis: a list that is none is refused" within 20 test -e "$T/data/refused" || show_logs
else
    skip "--themis" "slurm/spank.h is not there: $(head -n 1 "$T/err")"
fi
[ "$testlib_failed" = 0 ] || show_logs
end
