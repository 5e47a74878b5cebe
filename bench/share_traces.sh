#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Real servers and real client processes (each writes 10 MB and reads it back, again and again) that come and go,
# as in figures 8, 9, 10, 12, 13 and 14 of the paper; and what it does not draw: opportunity (a job alone, a job whose rival
# leaves), sizes (of requests, and depths of queues), gaming (processes, connections, sizes, others' job ids). All under a
# device limit, so that the numbers are those of the scheduler.
#
#   --quick          windows of 3 s, once; the first option
#   --seconds S      length of the window in which all jobs have requests (10)
#   --repeats N      medians of N (5)
#   --figures LIST   some of 8,9,10,12,13,14,opportunity,sizes,gaming (all)
#   --processes LIST processes of each job of figure 12 ("1 2")
#   --transfer BYTES request size of figure 12 (4194304); the file is 10 MB
#   --think MS       for which each process of figure 12 works on a request's data before the next request (4)
#   --quantum BYTES  slices of the server in figure 12 (262144)
#   --limit MIB      MiB/s of each server (80: little enough that a busy machine keeps all jobs backlogged)
#
# Figure 12: two jobs of one node, each process with one request of --transfer bytes outstanding; of 2 S seconds job 1 runs
# all and job 2 has S in the middle (60, 15 and 30 s in the paper). "sustained": bytes of both jobs over the time in which
# both run, but for its first half second; "whole scenario": over all but half a second at each end. "deviation": of job 2's
# bytes in full seconds from half a second after it began, counted by slices. "share error": root mean square of job 2's
# part of both jobs' bytes minus 0.5, in windows of 100 ms. tbf has a rule of half the limit (tbf) or all of it (tbf-full),
# in full requests, for each job; job 2 stays connected, so that its rule is there, and its idle rate spare, before and
# after its requests. With two processes a job always has a request.
#
# Pictures of the first repeat and the page sharing.html with all of them are in $BENCH_DIR, and so are the series as CSV.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/../test/lib/jobs.sh"
. "$(dirname "$0")/options.sh"

seconds=10 repeats=5 figures=8,9,10,12,13,14,opportunity,sizes,gaming limit=80 processes="1 2" transfer=4194304 quantum=262144 think=4
[ "${1-}" != --quick ] || {
    seconds=3 repeats=1
    shift
}
bench_options "seconds repeats figures limit processes transfer quantum think" "$@"
limit_mib=$limit process_counts=$processes think_ms=$think
BENCH_DIR=${BENCH_DIR:-$THEMIS_BUILD/bench}
BENCH_JSON=${BENCH_JSON:-$BENCH_DIR/share_traces.json}
pictures=$BENCH_DIR/sharing
mkdir -p "$pictures"
: >"$T/values"
[ "$(id -u)" = 0 ] || {
    echo "Jobs of several users need root; figures 8 (c), 9 and 10 are left out."
    figures=$(echo "$figures" | tr , '\n' | grep -vE '^(9|10)$' | tr '\n' ,)
}
# A scenario: the first jobs run all of it, the others `seconds` in the middle. The window leaves out half a second at each end.
eval "$(awk -v s="$seconds" 'BEGIN { l = s / 3; printf "lead=%.2f all=%.2f middle=%.2f from=%.2f to=%.2f", l, s + 2 * l + 1, s + 1, l + 0.5, l + s + 0.5 }')"
limit=$((limit_mib * 1048576))

wanted() { case ,$figures, in *,$1,*) ;; *) return 1 ;; esac }

# value NAME WANTED NUMBER: remembered for the medians.
value() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$T/values"; }

# servers N POLICY [KEY=VALUE...]; device: MiB/s of each
device=$limit_mib
servers() {
    stop_servers
    count=$1 policy=$2
    shift 2
    start_servers "$count" store-bandwidth="${device}m" workers=2 size=1g log=warn "policy=$policy" "$@"
}

# series FILE STEP: time and MiB/s of each job, by tabs, a column for each job in order of names.
series() {
    awk -F, -v step="$2" '
        # What was moved between two samples is spread evenly over that time.
        NR > 1 { k = $2 SUBSEP $3; jobs[$3] = 1
                 if (k in last) {
                     speed = ($4 - last[k]) / ($1 - time[k])
                     for (slot = int(time[k] / step); slot * step < $1; slot++) {
                         begin = slot * step > time[k] ? slot * step : time[k]
                         end = (slot + 1) * step < $1 ? (slot + 1) * step : $1
                         moved[slot, $3] += speed * (end - begin)
                     }
                     if (slot > most) most = slot
                 }
                 last[k] = $4; time[k] = $1 }
        END {
            n = 0; for (job in jobs) name[++n] = job
            for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (name[j] < name[i]) { t = name[i]; name[i] = name[j]; name[j] = t }
            printf "time"; for (i = 1; i <= n; i++) { split(name[i], part, "@"); printf "\t%s", part[1] } ; print ""
            for (s = 0; s < most - 1; s++) {
                printf "%.3f", (s + 0.5) * step
                for (i = 1; i <= n; i++) printf "\t%.3f", moved[s, name[i]] / step / 1048576
                print ""
            }
        }' "$1"
}

# picture NAME TITLE [STEP]: the scenario NAME as SVG, PNG and CSV; once.
picture() {
    [ "$repeat" = 1 ] || return 0
    series "$T/$1.csv" "${3:-0.25}" >"$pictures/$1.tsv"
    tr '\t' , <"$pictures/$1.tsv" >"$pictures/$1.csv"
    columns=$(head -n 1 "$pictures/$1.tsv" | awk -F'\t' '{ print NF }')
    for terminal in svg png; do
        case $terminal in
        svg) setup="svg size 560,300 font 'sans,11' background 'white'" ;;
        png) setup="pngcairo size 840,450 font 'sans,11'" ;;
        esac
        gnuplot <<END
set terminal $setup
set output '$pictures/$1.$terminal'
set title "$2" noenhanced
set xlabel 'time, s'
set ylabel 'MiB/s'
set key outside right noenhanced
set grid ytics lc rgb '#dddddd'
set yrange [0:*]
set datafile separator "\t"
plot for [i=2:$columns] '$pictures/$1.tsv' using 1:i with lines lw 2 title columnheader(i)
END
    done
    printf '%s\t%s\n' "$1" "$2" >>"$T/pictures"
}

figure_8() {
    servers 1 size-fair
    scenario fig8a "$all" 100
    job four nodes=4 processes=8
    job one nodes=1 processes=2 start="$lead" seconds="$middle"
    wait_jobs
    picture fig8a "8 (a): size-fair, 4 nodes against 1"
    value "8a: 4 nodes over 1 node" "4.0 within 1 %" "$(divide "$(rate "$T/fig8a.csv" "$from" "$to" four)" "$(rate "$T/fig8a.csv" "$from" "$to" one)")"
    servers 1 job-fair
    scenario fig8b "$all" 100
    job four nodes=4 processes=8
    job one nodes=1 processes=2 start="$lead" seconds="$middle"
    wait_jobs
    picture fig8b "8 (b): job-fair, four times the processes"
    value "8b: four times the processes" "1.0 within 1 %" "$(divide "$(rate "$T/fig8b.csv" "$from" "$to" four)" "$(rate "$T/fig8b.csv" "$from" "$to" one)")"
    [ "$(id -u)" = 0 ] || return 0
    servers 1 user-fair
    scenario fig8c "$all" 100
    job A1 uid=1001 nodes=2 processes=4
    job A2 uid=1001 nodes=2 processes=4
    job B uid=1002 nodes=1 processes=2 start="$lead" seconds="$middle"
    wait_jobs
    picture fig8c "8 (c): user-fair, two jobs of A against one of B"
    a=$(($(rate "$T/fig8c.csv" "$from" "$to" A1) + $(rate "$T/fig8c.csv" "$from" "$to" A2)))
    value "8c: user A over user B" "1.0 within 1 %" "$(divide $a "$(rate "$T/fig8c.csv" "$from" "$to" B)")"
}

# leaves NAME JOB=SHARE...: the largest deviation of a leaf, and how much of the limit is used in the first second.
leaves() {
    leaf_scenario=$1 worst=0
    shift
    rates "$T/$leaf_scenario.csv" 0.5 "$(awk -v s="$seconds" 'BEGIN { print s + 0.5 }')" >"$T/rates"
    for leaf in "$@"; do
        worst=$(awk -v job="${leaf%=*}" -v due="${leaf#*=}" -v worst="$worst" 'index($1, job "@") == 1 { d = $3 / due - 1; if (d < 0) d = -d; if (d > worst) worst = d } END { printf "%.5f\n", worst }' "$T/rates")
    done
    value "$leaf_scenario: worst leaf, part of its share" "at most 0.02" "$worst"
    value "$leaf_scenario: part of the limit used from 0.2 to 1.2 s" "no slow start-up" "$(divide "$(total_rate "$T/$leaf_scenario.csv" 0.2 1.2)" $limit)"
}

figure_9() {
    servers 1 user-then-size-fair quantum=256k
    scenario fig9 "$middle" 100
    job u1-j1 uid=1001 nodes=1 processes=2
    job u1-j2 uid=1001 nodes=2 processes=2
    job u2-j3 uid=1002 nodes=4 processes=2
    job u2-j4 uid=1002 nodes=6 processes=2
    wait_jobs
    picture fig9 "9: user-then-size-fair, four jobs of two users"
    leaves fig9 u1-j1=0.166667 u1-j2=0.333333 u2-j3=0.2 u2-j4=0.3
}

figure_10() {
    servers 1 group-then-user-then-size-fair quantum=256k
    scenario fig10 "$middle" 100
    number=0
    for one in 1:1:1 2:2:2 2:2:3 2:2:2 2:3:3 2:3:2 2:4:1 2:4:2; do
        number=$((number + 1))
        job "j$number" "gid=200${one%%:*}" "uid=100$(echo $one | cut -d: -f2)" "nodes=${one##*:}" processes=2 request=2500000
    done
    wait_jobs
    picture fig10 "10: group-then-user-then-size-fair, eight jobs"
    leaves fig10 j1=0.5 j2=0.047619 j3=0.071429 j4=0.047619 j5=0.1 j6=0.066667 j7=0.055556 j8=0.111111
}

# number EXPRESSION
number() { awk "BEGIN { print $1 }"; }

mib() { awk -v b="$1" 'BEGIN { printf "%.2f", b / 1048576 }'; }

# comparison LABEL PROCESSES POLICY [KEY=VALUE...]
comparison() {
    label=$1 processes=$2
    shift 2
    servers 1 "$@" quantum="$quantum"
    begin=$(number "$seconds / 2") ending=$(number "2 * $seconds")
    scenario "fig12-$label" "$ending" 100
    job job1 processes="$processes" request="$transfer" think=$((think_ms * 1000)) check=0
    job job2 processes="$processes" request="$transfer" think=$((think_ms * 1000)) check=0 start="$begin" seconds="$seconds" linger="$begin"
    wait_jobs
    file=$T/fig12-$label.csv
    first=$(number "$begin + 0.5") last=$(number "$begin + $seconds")
    value "12 $label: sustained, MiB/s" "" "$(mib "$(total_rate "$file" "$first" "$last")")"
    value "12 $label: whole scenario, MiB/s" "" "$(mib "$(total_rate "$file" 0.5 "$(number "$ending - 0.5")")")"
    value "12 $label: job 2, MiB/s" "" "$(mib "$(rate "$file" "$first" "$last" job2)")"
    value "12 $label: deviation of job 2, MiB/s" "" "$(mib "$(sigma "$file" "$first" "$(number "int($seconds - 0.5)")" job2 | cut -d' ' -f2)")"
    value "12 $label: share error over 100 ms" "" "$(calm_error "$file" "$first" "$last" job2 0.5)"
}

figure_12() {
    [ $((limit % (2 * transfer))) = 0 ] || {
        echo "share_traces: figure 12: half of --limit is to be a whole number of requests of --transfer bytes a second, for the rates of tbf" >&2
        exit 2
    }
    for processes in $process_counts; do
        comparison "stride-$processes" "$processes" job-fair draw=stride
        comparison "statistical-$processes" "$processes" job-fair draw=statistical
        comparison "gift-$processes" "$processes" gift
        comparison "tbf-$processes" "$processes" tbf tbf-rate="$(tbf_rate 2)"
        comparison "tbf-full-$processes" "$processes" tbf tbf-rate="$(tbf_rate 1)"
        for label in stride statistical gift tbf tbf-full; do
            picture "fig12-$label-$processes" "12: $label, two jobs of $processes process(es)"
        done
    done
}

# tbf_rate PARTS: requests/s that are the limit divided by PARTS
tbf_rate() { number "$limit / $transfer / $1"; }

figure_13() {
    servers 1 size-fair quantum=256k
    rounds=$(number "int(2 * $seconds)")
    alone=$(run_bsp fig13-alone alone "$rounds")
    fair=$(run_bsp fig13-size-fair beside "$rounds")
    limit 20 themis policy set fifo >/dev/null
    fifo=$(run_bsp fig13-fifo beside "$rounds")
    picture fig13-size-fair "13: compute, write, repeat beside a background job: size-fair"
    picture fig13-fifo "13: the same under fifo"
    value "13: slow-down under fifo" "" "$(number "$fifo / $alone - 1")"
    value "13: slow-down under size-fair" "at most 0.0588" "$(number "$fair / $alone - 1")"
    value "13: part of fifo's slow-down removed" "at least 0.59" "$(number "1 - ($fair / $alone - 1) / ($fifo / $alone - 1)")"
}

figure_opportunity() {
    for policy in fifo job-fair; do
        servers 1 "$policy"
        scenario "alone-$policy" "$middle" 100
        job only processes=4
        wait_jobs
    done
    end=$(number "$seconds + 0.5")
    value "opportunity: one job under job-fair over fifo" "at least 0.98" \
        "$(divide "$(rate "$T/alone-job-fair.csv" 0.5 "$end" only)" "$(rate "$T/alone-fifo.csv" 0.5 "$end" only)")"
    run_leaving leaving 8
    picture leaving "opportunity: one of two jobs leaves"
    value "opportunity: part of the limit from 100 ms after the other left" "at least 0.97" \
        "$(divide "$(freed "$T/leaving.csv" | cut -d' ' -f2)" $limit)"
}

# fair NAME JOB OTHER: the quotient of two jobs over the window.
fair() { divide "$(rate "$T/$1.csv" 0.5 "$(number "$seconds + 0.5")" "$2")" "$(rate "$T/$1.csv" 0.5 "$(number "$seconds + 0.5")" "$3")"; }

# Half of the limit, since small requests take processor time, too.
half_server() {
    device=$((limit_mib / 2))
    servers 1 job-fair quantum=256k
    device=$limit_mib
}

figure_sizes() {
    half_server
    run_sizes sizes "$(number "$seconds + 1")"
    picture sizes "sizes: requests of 4 KiB against 16 MiB"
    value "sizes: 4 KiB over 16 MiB requests" "1.0 within 2 %" "$(fair sizes small large)"
    run_depths depths "$(number "$seconds + 1")"
    picture depths "sizes: 64 requests outstanding against 1"
    value "sizes: depth 64 over depth 1" "1.0 within 2 %" "$(fair depths deep shallow)"
}

figure_gaming() {
    half_server
    run_greedy greedy "$(number "$seconds + 1")"
    picture greedy "gaming: 8 processes with 8 small requests each against 2 with 1"
    value "gaming: 8 processes x 8 requests of 64 KiB over 2 processes" "1.0 within 2 %" "$(fair greedy greedy modest)"
    run_wide wide "$(number "$seconds + 1")"
    value "gaming: 8 processes with requests of 16 MiB over 2 processes" "1.0 within 2 %" "$(fair wide wide modest)"
    [ "$(id -u)" = 0 ] || return 0
    run_claim claim "$(number "$seconds + 1")"
    picture claim "gaming: two users claim one job id"
    value "gaming: a claimed job id over another job" "1.0 within 2 %" "$(fair claim mine@1001 other)"
}

figure_14() {
    for lambda in 10 50 200 500; do
        servers 2 size-fair quantum=128k lambda=${lambda}ms
        scenario "fig14-$lambda" 4 20
        for server in 0 1; do job wide nodes=16 server=$server processes=2 request=1000000; done
        job left nodes=8 server=0 processes=2 request=1000000
        job right nodes=8 server=1 processes=2 request=1000000
        wait_jobs
        picture "fig14-$lambda" "14: lambda $lambda ms, 16:8:8 nodes on two servers" 0.05
        begin=$(awk -v l="$lambda" 'BEGIN { print (l < 50 ? 5 : 2) * l / 1000 + 0.05 }')
        rates "$T/fig14-$lambda.csv" "$begin" "$(awk -v b="$begin" -v l="$lambda" 'BEGIN { print b + (l < 500 ? 0.5 : l / 1000) }')" >"$T/rates"
        value "14: lambda $lambda ms, worst share after the $([ $lambda -lt 50 ] && echo fifth || echo second) interval" "at most 0.05" \
            "$(awk '{ due = $1 ~ /^wide/ ? 0.5 : 0.25; d = $3 / due - 1; if (d < 0) d = -d; if (d > w) w = d } END { printf "%.5f", w }' "$T/rates")"
    done
}

# Medians as rows, and what follows from two of them.
rows() {
    sort -t "$(printf '\t')" -k1,1 -s "$T/values" | awk -F'\t' '
        function row(name, wanted, value) { printf "%s{\"case\": \"%s\", \"median\": %s, \"wanted\": \"%s\", \"repeats\": %d}", sep, name, value, wanted, n; sep = ",\n " }
        function flush_case(   i, j, t) {
            if (n == 0) return
            for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
            median[name] = v[int((n + 1) / 2)]; row(name, wanted, median[name])
        }
        function quotient(a, b, wanted) { if (median[a] > 0 && median[b] > 0) row(a " / " b, wanted, sprintf("%.4f", median[a] / median[b])) }
        BEGIN { printf "[" }
        $1 != name { flush_case(); n = 0; name = $1; wanted = $2 }
        { v[++n] = $3 + 0 }
        END {
            flush_case()
            for (p = 1; p <= 16; p++) {
                for (i = split("gift tbf tbf-full", other, " "); i >= 1; i--) {
                    quotient("12 stride-" p ": sustained, MiB/s", "12 " other[i] "-" p ": sustained, MiB/s", p == 1 && i < 3 ? "at least 1.13" : "")
                    quotient("12 stride-" p ": whole scenario, MiB/s", "12 " other[i] "-" p ": whole scenario, MiB/s", "")
                    quotient("12 stride-" p ": deviation of job 2, MiB/s", "12 " other[i] "-" p ": deviation of job 2, MiB/s", i < 3 ? "at most 0.8" : "")
                }
                quotient("12 stride-" p ": share error over 100 ms", "12 statistical-" p ": share error over 100 ms", "at most 0.333")
            }
            print "]"
        }'
}

# One page: the pictures inside, then the table.
page() {
    cat <<'END'
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Themis: sharing</title><style>
body { font-family: sans-serif; margin: 1.5em; max-width: 1200px } .figures { display: flex; flex-wrap: wrap; gap: 1em }
table { border-collapse: collapse } td, th { border: 1px solid #ccc; padding: .2em .6em; text-align: left }
</style></head><body><h1>Sharing by policy</h1>
END
    echo "<p>Device limit $limit_mib MiB/s a server; windows of $seconds s; medians of $repeats; pictures of the first repeat; load of the machine after each:$loads.</p><div class=\"figures\">"
    while IFS="$(printf '\t')" read -r name title; do
        echo "<figure title=\"$title\">"
        sed '1,/<svg/{/<svg/!d}' "$pictures/$name.svg"
        echo "</figure>"
    done <"$T/pictures"
    echo "</div><table><tr><th>case</th><th>median</th><th>wanted</th></tr>"
    jq -r '.[] | "<tr><td>\(.case)</td><td>\(.median)</td><td>\(.wanted)</td></tr>"' "$BENCH_JSON"
    echo "</table></body></html>"
}

: >"$T/pictures"
loads=
for repeat in $(seq 1 "$repeats"); do
    for figure in 8 9 10 12 13 14 opportunity sizes gaming; do
        ! wanted $figure || "figure_$figure"
    done
    rows <"$T/values" >"$BENCH_JSON"
    loads="$loads $(cut -d' ' -f1 /proc/loadavg)"
done
page >"$BENCH_DIR/sharing.html"
echo "load of the machine after each repeat:$loads"
echo "pictures and series in $pictures, all on $BENCH_DIR/sharing.html"
finish
