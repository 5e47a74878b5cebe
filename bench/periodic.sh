#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The applications of sets 1 to 4 of the PerSched paper as MPI programs on a real server, in a thousandth of their time, or another part: how
# much of it they compute (SysEff) and how much longer they take than alone (dilation), under
#
#   none       a server whose bandwidth is not limited: nobody waits for another
#   fifo       the order of arrival
#   job-fair   equal parts of the bandwidth
#   min-dilation  who has suffered most comes first, an online heuristic
#   periodic   the plan that `themis periodic plan --improve` makes of the set
#
# beside what the model says: the bound, the simulated heuristics, and the plan. It has nothing for job-fair. The paper's other
# online heuristics are simulated only (themis periodic plan --simulate), since jobs can starve under them.
# An application is one rank, which moves what its nodes would, and no faster than they could. Volumes are scaled so that the
# server's bandwidth is that of the paper's machine.
#
#   --quick         set 1, 12 s a row; the first option
#   --sets LIST     some of 1,2,3,4 (all)
#   --rows LIST     some of none,fifo,job-fair,min-dilation,periodic (all)
#   --seconds S     in which an application may begin a repetition (31: two of the longest)
#   --scale N       part of the paper's times that they take here (1000); with less, the machine's own delays count for less
#   --bandwidth MIB MiB/s of the server (48)
#
# $BENCH_DIR/periodic.svg is a picture of the rows.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"

sets=1,2,3,4 rows=none,fifo,job-fair,min-dilation,periodic seconds=31 scale=1000 bandwidth=48
[ "${1-}" != --quick ] || {
    sets=1 seconds=12
    shift
}
bench_options "sets rows seconds scale bandwidth" "$@"
bytes=$((bandwidth * 1048576))
: >"$T/rows"

# kinds SET: of each application in it "NAME NUMBER COMPUTE VOLUME NODES", in the paper's seconds and GB.
kinds() {
    turbulence=$((12 - 2 * $1)) astro=$(($1 - 1))
    echo "turbulence2 $turbulence 76.8 235.8 64"
    [ "$astro" = 0 ] || echo "astrophysics $astro 15360 423.4 128"
}

# problem SET: its file for the planner, as it is run here.
problem() {
    printf '[platform]\nnodes = 640\nbandwidth = %s\nnode_bandwidth = %.0f\n' "$bytes" "$(awk -v b="$bytes" 'BEGIN { print b / 300 }')"
    kinds "$1" | awk -v b="$bytes" -v s="$scale" '{ printf "[application %s]\nnumber = %d\ncompute = %.6fs\nvolume = %.0f\nnodes = %d\n", $1, $2, $3 / s, $4 / 3 / s * b, $5 }'
}

# launch SET: all of its applications, each with its output in $T/out.NAME.NUMBER, until they have ended.
launch() {
    pids=
    kinds "$1" >"$T/kinds"
    while read -r name number compute volume nodes; do
        eval "$(awk -v w="$compute" -v v="$volume" -v n="$nodes" -v b="$bandwidth" -v s="$scale" \
            'BEGIN { printf "work=%.6f mib=%.6f limit=%.6f", w / s, v / 3 / s * b, n / 300 * b }')"
        for i in $(seq "$number"); do
            THEMIS_APPLICATION=$name THEMIS_JOB=$name.$i THEMIS_NODES=$nodes limit $((seconds * 3 + 60)) ranks 1 "$THEMIS_BUILD/examples/checkpoint" \
                --compute --limit "$limit" --time "$seconds" 1000000 "$work" "$mib" "themis:/$name.$i" \
                </dev/null >"$T/out.$name.$i" 2>"$T/err.$name.$i" &
            pids="$pids $!"
        done
    done <"$T/kinds"
    failed=0
    for pid in $pids; do wait "$pid" || failed=1; done
    [ "$failed" = 0 ] || cat "$T"/err.* >&2
    return "$failed"
}

# measures: "SYSEFF DILATION REPETITIONS" of what was launched last.
measures() {
    while read -r name number compute volume nodes; do
        for i in $(seq "$number"); do
            sed -n "s/^checkpoints=\([0-9]*\) .*seconds=\([0-9.]*\) .*/\1 \2 $compute $volume $nodes/p" "$T/out.$name.$i"
        done
    done <"$T/kinds" | awk -v s="$scale" '{ alone = ($3 + $4 / $5 / 0.01) / s; eff += $5 / 640 * $1 * $3 / s / $2
        d = $2 / ($1 * alone); if (d > worst) worst = d; n += $1 } END { printf "%.4f %.3f %d\n", eff, worst, n }'
}

# heuristic NAME: "SYSEFF DILATION" of its simulation.
heuristic() {
    jq -r --arg name "$1" '[.schedules[] | select(.schedule == $name and (.whole_shares | not) and (.uninterrupted | not))][0] |
        "\(.efficiency) \(.dilation)"' "$T/plan.json"
}

# model ROW: "SYSEFF DILATION" that it predicts, or nulls.
model() {
    case $1 in
    none) jq -r '"\(.bounds.efficiency) 1"' "$T/plan.json" ;;
    fifo) heuristic first-come ;;
    min-dilation) heuristic min-dilation ;;
    periodic) jq -r '"\(.efficiency) \(.dilation)"' "$T/plan.json" ;;
    *) echo null null ;;
    esac
}

# run_row SET ROW
run_row() {
    case $2 in
    none) start_servers 1 workers=2 direct=off ;;
    periodic) start_servers 1 workers=2 quantum=64k "store-bandwidth=${bandwidth}m" ;;
    *) start_servers 1 workers=2 quantum=64k "store-bandwidth=${bandwidth}m" "node-bandwidth=$((bytes / 300))" "policy=$2" ;;
    esac
    [ "$2" != periodic ] || themis policy set periodic --plan "$T/plan.json" >/dev/null || return 1
    launch "$1" || return 1
    stop_servers
    # shellcheck disable=SC2046 # words
    set -- "$1" "$2" $(measures) $(model "$2")
    printf '{"set": %s, "schedule": "%s", "syseff": %s, "syseff_model": %.4f, "dilation": %s, "dilation_model": %.3f, "repetitions": %s}\n' \
        "$1" "$2" "$3" "${6#null}" "$4" "${7#null}" "$5" | sed 's/_model": 0\.0*,/_model": null,/g' >>"$T/rows"
}

# draw: SysEff and dilation of each set, measured as bars and by the model as points.
draw() {
    command -v gnuplot >/dev/null || return 0
    all=$(echo "$rows" | tr , ' ')
    {
        echo "set terminal svg size 900,640 font 'sans,12' background 'white'; set output '$BENCH_DIR/periodic.svg'"
        echo "set multiplot layout 2,1; set style fill solid 0.75; set boxwidth 0.8; set grid ytics; set key outside right"
        for what in syseff dilation; do
            column=$([ "$what" = syseff ] && echo 3 || echo 5)
            echo "set title '$what: bars measured, points by the model'; set yrange [0:*]"
            awk -v n="$(echo "$all" | wc -w)" -v sets="$sets" 'BEGIN { k = split(sets, s, ","); printf "set xtics ("
                for (i = 1; i <= k; i++) printf "%s\"set %s\" %g", (i > 1 ? ", " : ""), s[i], (i - 1) * (n + 1) + (n - 1) / 2; print ")" }'
            printf 'plot '
            at=0
            for row in $all; do
                printf "'%s' using (\$1*%s+%s):%s with boxes title '%s', " "$T/data.$row" $(($(echo "$all" | wc -w) + 1)) "$at" "$column" "$row"
                at=$((at + 1))
            done
            at=0
            for row in $all; do
                printf "'%s' using (\$1*%s+%s):%s with points pt 7 lc 'black' notitle, " "$T/data.$row" $(($(echo "$all" | wc -w) + 1)) "$at" $((column + 1))
                at=$((at + 1))
            done
            echo
        done
    } | sed 's/, $//' >"$T/plot"
    for row in $all; do
        jq -r --arg row "$row" --arg sets "$sets" '($sets | split(",")) as $s | select(.schedule == $row) |
            [(.set as $n | $s | index($n | tostring)), .set, .syseff, .syseff_model // "NaN", .dilation, .dilation_model // "NaN"] | @tsv' "$T/rows" >"$T/data.$row"
    done
    gnuplot "$T/plot"
}

status=0
for set in $(echo "$sets" | tr , ' '); do
    problem "$set" >"$T/apps.ini"
    timeout 100 themis periodic plan "$T/apps.ini" --improve --simulate --kprime 3 --json >"$T/plan.json" || exit 1
    for row in $(echo "$rows" | tr , ' '); do run_row "$set" "$row" || status=1; done
done
jq -s . "$T/rows" >"$BENCH_JSON"
draw || status=1
exit "$status"
