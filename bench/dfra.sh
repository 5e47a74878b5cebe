#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What programs do to each other on one server, by pairs, and what an allocation of servers changes: synthetic programs of the classes of
# the DFRA paper, on real servers behind store_bandwidth, under fifo and job-fair.
#
#   one      1-1: one process, one file, a sixth of the server's bandwidth
#   wide     N-N, high bandwidth: four processes with a file each, as fast as they can
#   shared   N-1: four processes with parts of one file, as fast as they can
#   meta     metadata: four processes that ask for attributes every 5 ms
#   small    small requests: four processes that write 4 KiB every 5 ms
#
# Slowdown of A beside B: operations of A in the same time alone, over those beside B. "without": both have their files on the one
# default server, as jobs have where nodes have fixed servers. "with": the allocation service decides for one after the other, from the
# history that the servers have written while each ran alone.
#
#   --seconds S     of each run (2)
#   --bandwidth MIB MiB/s of each server (20)
#   --policies LIST some of fifo,job-fair (both)
#   --programs LIST some of the programs (all)
#
# own table: $BENCH_DIR/dfra.txt has the matrices, $BENCH_DIR/dfra.svg a picture of them.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"

seconds=2 bandwidth=20 policies=fifo,job-fair programs=one,wide,shared,meta,small
bench_options "seconds bandwidth policies programs" "$@"
export THEMIS_TIMEOUT=60s
programs=$(echo "$programs" | tr , ' ')
client=$THEMIS_BUILD/bench/sharing_client
number=0
: >"$T/rows"

# options PROGRAM: of bench/sharing_client
options() {
    case $1 in
    one) echo "mode=write request=262144 file=4194304 think=$((80000 * 20 / bandwidth))" ;;
    wide) echo mode=write processes=4 depth=4 request=1048576 file=8388608 ;;
    shared) echo mode=write processes=4 depth=2 request=262144 file=2097152 shared=1 ;;
    meta) echo mode=stat processes=4 think=5000 file=4096 ;;
    small) echo mode=write processes=4 request=4096 file=1048576 think=5000 ;;
    *) echo "no program is called $1" >&2 && exit 2 ;;
    esac
}

# launch JOB PROGRAM PLACEMENT: prints into $T/out.JOB
launch() {
    # shellcheck disable=SC2046 # words
    THEMIS_APPLICATION=$2 THEMIS_PLACEMENT=$3 timeout 60 "$client" job "servers=$THEMIS_SERVERS" "at=$at" start=0 "job=$1" "seconds=$seconds" check=0 \
        $(options "$2") >"$T/out.$1" 2>"$T/err.$1" &
}
# All processes have connected by then; that takes longer on a busy machine.
soon() {
    lead=$(awk -v cores="$(nproc)" '{ l = 1.5 + $1 / (3 * cores); print (l < 4 ? l : 4) }' /proc/loadavg)
    at=$(awk -v lead="$lead" '{ print $1 + lead }' /proc/uptime)
}
# operations JOB: 0 if it came too late
operations() { sed -n 's/.* operations=\([0-9]*\) .*/\1/p' "$T/out.$1" | grep . || { cat "$T/err.$1" >&2 && echo 0; }; }
name() { echo "$THEMIS_SERVERS" | cut -d, -f$(($1 + 1)); }

# servers POLICY: four of them, of which the first serves all nodes by default and has the service
servers() {
    rm -rf "$T/history" "$T/state" "$T/site.ini"
    start_servers 4 # for free ports
    list=$THEMIS_SERVERS
    stop_servers
    cat >"$T/site.ini" <<EOF
[servers]
servers = $(echo "$list" | tr , ' ')
default_servers = 1
threads = 2
server_bandwidth = ${bandwidth}m
node_bandwidth = ${bandwidth}m
[thresholds]
max_metadata = 0.1
high_iops = 300
EOF
    for i in 0 1 2 3; do
        rm -f "$T/srv$i/port"
        # shellcheck disable=SC2046 # words of a command
        (cd "$T/srv$i" && exec themisd $(server_options $i "$list") --workers 2 --direct off --quantum 64k --store-bandwidth "${bandwidth}m" --policy "$1" \
            --lambda 200ms --heartbeat 300ms --lease 1s --history "$T/history" --history-interval 200ms \
            $([ $i != 0 ] || echo "--allocate $T/site.ini --state $T/state")) </dev/null >>"$T/srv$i/log" 2>&1 &
        testlib_servers="$testlib_servers $!"
    done
    await_files 60 "$T/srv0/port" "$T/srv1/port" "$T/srv2/port" "$T/srv3/port"
}

# alone: each program, the better of two times, since whatever else the machine does only makes it slower; in $T/alone.PROGRAM
alone() {
    for program in $programs; do
        for time in 1 2; do
            soon
            launch "alone-$program-$time" "$program" "$(name 0)"
            wait $!
            operations "alone-$program-$time" >"$T/alone.$time"
        done
        sort -n "$T/alone.1" "$T/alone.2" | tail -n 1 >"$T/alone.$program"
        [ "$(cat "$T/alone.$program")" -gt 0 ] || { echo "$program has done nothing" >&2 && exit 1; }
    done
    # until the service knows the last one
    last=${programs##* }
    known() {
        themis allocate --json --application "$last" --nodes 0 --job known >"$T/known" && themis allocate --release "$(jq .id "$T/known")" &&
            jq -e '.records > 0' "$T/known"
    }
    await 40 known >/dev/null || { echo "the history has no record of $last" >&2 && exit 1; }
}

# pair POLICY HOW A B: files of their own for each pair, since those that are there stay where they are
pair() {
    number=$((number + 1))
    for side in a b; do
        program=$3
        [ $side = a ] || program=$4
        if [ "$2" = with ]; then
            timeout 30 themis allocate --application "$program" --nodes 0 --job "$side$number" >"$T/$side" || exit 1
        else
            printf '# default\nTHEMIS_PLACEMENT=%s\n' "$(name 0)" >"$T/$side"
        fi
    done
    soon
    launch "a$number" "$3" "$(sed -n 's/^THEMIS_PLACEMENT=//p' "$T/a")"
    first=$!
    launch "b$number" "$4" "$(sed -n 's/^THEMIS_PLACEMENT=//p' "$T/b")"
    wait $first $!
    for side in a b; do
        [ "$2" != with ] || themis allocate --release "$(sed -n 's/^THEMIS_ALLOCATION=//p' "$T/$side")"
    done
    decisions=$(sed -n '1s/^# \([a-z]*\).*/\1/p' "$T/a"),$(sed -n '1s/^# \([a-z]*\).*/\1/p' "$T/b")
    row "$1" "$2" "$3" "$4" "$(operations "a$number")" "$decisions"
    [ "$3" = "$4" ] || row "$1" "$2" "$4" "$3" "$(operations "b$number")" "$decisions"
}

# row POLICY HOW A B OPERATIONS_OF_A DECISIONS
row() {
    awk -v policy="$1" -v how="$2" -v a="$3" -v b="$4" -v n="$5" -v d="$6" -v alone="$(cat "$T/alone.$3")" -v s="$seconds" 'BEGIN {
        printf "{\"policy\": \"%s\", \"allocation\": \"%s\", \"program\": \"%s\", \"beside\": \"%s\", \"slowdown\": %.2f, \"alone_operations_per_s\": %.0f, \"decisions\": \"%s\"}\n",
            policy, how, a, b, alone / (n > 0 ? n : 1), alone / s, d }' >>"$T/rows"
}

# matrix POLICY HOW: slowdown of the row's program beside that of the column
matrix() {
    printf '%s, %s allocation\n%-8s' "$1" "$2" ''
    for b in $programs; do printf '%8s' "$b"; done
    echo
    for a in $programs; do
        printf '%-8s' "$a"
        for b in $programs; do
            jq -r --arg p "$1" --arg h "$2" --arg a "$a" --arg b "$b" 'select(.policy == $p and .allocation == $h and .program == $a and .beside == $b) | .slowdown' \
                "$T/rows" | awk '{ printf "%8.2f", $1 }'
        done
        echo
    done
    echo
}

draw() {
    command -v gnuplot >/dev/null || return 0
    {
        echo "set terminal svg size 900,$((420 * $(echo "$policies" | tr , '\n' | wc -l))) font 'sans,12' background 'white'; set output '$BENCH_DIR/dfra.svg'"
        echo "set multiplot layout $(echo "$policies" | tr , '\n' | wc -l),2; set cbrange [1:4]; set palette defined (1 'white', 2 'gold', 4 'red'); unset key"
        echo "set xlabel 'beside'; set yrange [*:*] reverse; set autoscale xfix; set autoscale yfix"
        for axis in x y; do
            printf 'set %stics (' $axis
            i=0
            for program in $programs; do
                printf '%s"%s" %s' "$([ $i = 0 ] || echo ', ')" "$program" $i
                i=$((i + 1))
            done
            echo ')'
        done
        for policy in $(echo "$policies" | tr , ' '); do
            for how in without with; do
                echo "set title '$policy, $how allocation: slowdown'"
                echo "plot '$T/grid.$policy.$how' using 1:2:3 with image, '' using 1:2:(sprintf('%.1f', \$3)) with labels"
            done
        done
    } >"$T/plot"
    for policy in $(echo "$policies" | tr , ' '); do
        for how in without with; do
            jq -r --arg p "$policy" --arg h "$how" --arg names "$programs" '($names | split(" ")) as $n | select(.policy == $p and .allocation == $h) |
                . as $r | [($n | index($r.beside)), ($n | index($r.program)), .slowdown] | @tsv' "$T/rows" | sort -n -k2,2 -k1,1 >"$T/grid.$policy.$how"
        done
    done
    gnuplot "$T/plot"
}

for policy in $(echo "$policies" | tr , ' '); do
    servers "$policy" || exit 1
    alone
    for how in without with; do
        rest=$programs
        for a in $programs; do
            for b in $rest; do pair "$policy" "$how" "$a" "$b"; done
            rest=${rest#"$a"}
            rest=${rest# }
        done
    done
    stop_servers
done
{
    for policy in $(echo "$policies" | tr , ' '); do
        for how in without with; do matrix "$policy" "$how"; done
    done
} | tee "$BENCH_DIR/dfra.txt"
jq -s . "$T/rows" >"$BENCH_JSON"
draw
