#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# /etc/slurm/themis_bb.sh: what burst_buffer.lua does as the user of a job, on the host of slurmctld: looks at files, copies them, has
# servers run.
#
#   themis_bb check JOB in PATH | out PATH ...    what is read is there, and the directories that are written to
#   themis_bb site_in JOB FROM TO ...             makes the job's directory on the site's servers, copies FROM to TO in it
#   themis_bb site_out JOB FROM TO ...            copies FROM of that directory to TO
#   themis_bb site_end JOB                        removes it
#   themis_bb own_in JOB NODES N BYTES COPY ...   starts servers on the job's nodes: N, or one a node with 0; BYTES is that of all.
#                                                 COPY is an option --stage-in or --stage-out of "themis run", and its value
#   themis_bb own_out JOB                         has them copy out, and waits until they have ended
#   themis_bb own_end JOB                         ends them, and removes what they left in $shared
#
# $state/JOB is of SlurmUser: its file "lock" is held while something is done for the job, "stop" ends that, "drain" tells the
# servers of the job to copy out. $shared/JOB is of the user: "themis.conf" and "secret" are what clients need, "serving" is there
# while the servers are (epilog.sh waits for them), "alive" is locked by the process that keeps them, "status" is how that ended.
set -u
bin=/usr/bin servers='' state=/var/lib/themis-bb shared='' launcher=ssh
# shellcheck disable=SC1091
. "$(dirname "$0")/themis_bb.conf"
PATH=$bin:/usr/bin:/bin
export PATH

die() {
    echo "$*" >&2
    exit 1
}
[ "$(id -u)" != 0 ] || die "themis_bb: not for root"
[ $# -ge 2 ] || die "themis_bb: usage: themis_bb VERB JOB ..."
verb=$1 job=$2
shift 2
case $job in
'' | *[!0-9]*) die "themis_bb: $job is no job" ;;
esac
mark=$state/$job own=$shared/$job site=themis:/slurm-$job
case $verb in
site_*) [ -z "$servers" ] || export THEMIS_SERVERS="$servers" ;;
esac
export THEMIS_JOB="slurm:$job" # copies count as the job's

stopped() { [ -e "$mark/stop" ]; }

# unless_stopped SIGNAL COMMAND...: its status; the signal ends it when the job's buffer is given up.
unless_stopped() {
    signal=$1
    shift
    "$@" 8>&- 9<&- &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        ! stopped || kill "-$signal" "$pid" 2>/dev/null
        sleep 0.5
    done
    wait "$pid"
}

check() {
    while [ $# -ge 2 ]; do
        if [ "$1" = in ]; then
            [ -r "$2" ] || die "stage_in: $2 cannot be read"
        else
            [ -d "$(dirname "$2")" ] || die "stage_out: $(dirname "$2") is no directory"
            [ -w "$(dirname "$2")" ] || die "stage_out: $(dirname "$2") cannot be written to"
        fi
        shift 2
    done
}

# The mode of the directory keeps others out; mkdir refuses one that another user has made before.
site_in() {
    (umask 077 && themis mkdir "$site") || exit 1
    while [ $# -ge 2 ]; do
        themis mkdir -p "$site$(dirname "$2")" || exit 1
        unless_stopped TERM themis cp -r -q "$1" "$site$2" || exit 1
        shift 2
    done
}

site_out() {
    status=0
    while [ $# -ge 2 ]; do
        unless_stopped TERM themis cp -r -q "$site$1" "$2" || status=1
        shift 2
    done
    exit $status
}

# own_keep NODES N BYTES COPY...: in a session of its own; lives as long as the servers, and holds the lock of "alive" (8).
own_keep() {
    nodes=$1 n=$2 bytes=$3 status=0
    shift 3
    [ "$n" -gt 0 ] || n=$(scontrol show hostnames "$nodes" | wc -l)
    unless_stopped KILL themis run -q --hosts "$nodes" -s "$n" --size "$((bytes / n))" --launcher "$launcher" "$@" -- \
        "$0" own_hold "$job" || status=$?
    rm -f "$own/serving"
    echo "$status" >"$own/status.new" && mv "$own/status.new" "$own/status"
}

# own_hold: the command of that "themis run". At "stop" both are killed: where it ended itself, run would copy out.
own_hold() {
    printf '[client]\nservers = %s\n' "$THEMIS_SERVERS" >"$own/themis.conf" || exit 1
    if [ -n "${THEMIS_SECRET-}" ]; then # not on one host, where the kernel knows users
        (umask 077 && env printf '%b' "$(printf '%s' "$THEMIS_SECRET" | sed 's/../\\x&/g')" >"$own/secret") || exit 1
        printf 'auth = secret\nsecret = %s\n' "$own/secret" >>"$own/themis.conf" || exit 1
    fi
    : >"$own/ready"
    until [ -e "$mark/drain" ]; do sleep 0.2; done
}

# kept: the process that keeps the servers is there.
kept() { ! flock -n "$own/alive" true; }

# told STATUS: what the servers said last, and the status.
told() {
    [ "$1" = 0 ] || die "themis run of the servers has ended with status $1: $(tail -n 3 "$own/log")"
    exit 0
}

own_in() {
    [ -n "$shared" ] || die "pool=nodes is not set up: themis_bb.conf has no directory shared"
    (umask 022 && mkdir -m 711 "$own") || exit 1
    : >"$own/serving"
    (umask 077 && : >"$own/log")
    exec 8>"$own/alive"
    flock 8
    # Slurm waits for the end of a pipe that is inherited, with a number that only bash can close.
    # shellcheck disable=SC2016
    setsid bash -c 'for fd in /proc/self/fd/*; do case ${fd##*/} in [0-2] | 8) ;; *) eval "exec ${fd##*/}>&-" ;; esac; done; exec "$@"' \
        bash "$0" own_keep "$job" "$@" </dev/null >>"$own/log" 2>&1 &
    exec 8>&-
    until [ -e "$own/ready" ] || ! kept; do
        ! stopped || exit 1
        sleep 0.2
    done
    [ -e "$own/ready" ] || told 1
}

own_out() {
    [ -e "$own/alive" ] || die "the servers of the job are not there"
    flock "$own/alive" true
    [ -e "$own/status" ] || die "the servers of the job are gone, and what was on them"
    told "$(cat "$own/status")"
}

own_end() {
    [ -O "$own" ] || exit 0
    [ ! -e "$own/alive" ] || flock -w 120 "$own/alive" true || die "the servers of the job do not end"
    rm -rf "$own"
}

# The process that keeps servers, and what it runs, outlive own_in; own_end waits for it by its own lock.
case $verb in
own_keep | own_hold) ;;
*)
    exec 9<"$mark/lock" || exit 1
    flock 9
    ! stopped || case $verb in *_end) ;; *) die "the job's buffer is given up" ;; esac
    ;;
esac
case $verb in
check | site_in | site_out | own_in | own_out | own_end | own_keep | own_hold) "$verb" "$@" ;;
site_end) themis rm -r -f "$site" ;;
*) die "themis_bb: $verb is unknown" ;;
esac
