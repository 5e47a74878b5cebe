#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compare: themis: with one server on this machine against ufs: on /dev/shm and on a tmpfs of huge pages, and against memcpy.
#
#   --cases A,B,..   names or patterns such as '*4kib*' (all; build/bench/compare --cases lists them)
#   --ranks 2,4      numbers of ranks
#   --sides A,B,..   some of themis shm huge floor (all)
#   --repeats N      medians of N passes in each direction (5)
#   --mib N          MiB in each pass, all ranks together (128; up to 512)
#   --servers N      servers (1)
#
# The sides take turns pass by pass, so that the machine's noise meets all. Hints are the defaults, so each small call goes
# to the servers by itself; with a line "themis_cache on" in the file that ROMIO_HINTS names they go through the cache.
# After each pass every byte of its file is compared.
#
# floor: the case's bytes, copied by memcpy in the same pieces and the same order between the ranks' own memory and memory
# that they share, of huge pages that are all there. of_floor is what themis: reaches of it.
# CPU seconds for each GiB are those of all ranks and of the servers.
# contiguous_1mib_first_pass: each pass is a job's first, onto a server that has just begun.
#
# Beside the ratios stand the targets. short_of says which of them a row falls short of (shm, huge, floor, cpu: at most 0.45
# s/GiB in collective cases); on a machine that does other things as well the ratios vary, so no target is an error.
#
# A 3-D array is cut across its fastest dimension first (at 2 ranks: each row in two), so that no rank's part of it is
# contiguous in the file.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"
. "$(dirname "$0")/sides.sh"

# case, targets (write/read, or both) over shm and over huge, of the floor, and in CPU s/GiB
targets='
contiguous_1mib_collective   1.5/1.0  1.0/1.0  0.6  0.45
contiguous_1mib_independent  1.5/1.0  1.0/1.0  0.9  -
contiguous_1mib_first_pass   1.0/-    0.8/-    0.6/-  -
contiguous_64kib_collective  1.5/1.0  1.0/1.0  0.6  0.45
file_per_process_1mib        1.5/1.0  1.0/1.0  0.9  -
file_per_process_4kib        1.0/1.0  0.8/0.8  0.6  -
independent_4kib             1.0/1.0  0.8/0.8  0.6  -
independent_4kib_random      1.0/1.0  0.8/0.8  0.6  -
interleaved_4kib_collective  2.5/1.5  1.5/1.0  0.6  0.45
interleaved_4kib_no_view     1.5/1.0  1.0/1.0  0.6  0.45
vector_64b_collective        3.0/3.0  2.0/2.0  -    -
vector_4kib_collective       3.0/2.5  2.0/1.5  0.6  0.45
vector_4kib_independent      2.5/2.0  1.5/1.5  0.6  -
array_3d_collective          3.0/2.5  2.0/1.5  -    0.45
'

cases='*' ranks=2,4 sides=themis,shm,huge,floor repeats=5 mib=128 servers=1
bench_options "cases ranks sides repeats mib servers" "$@"
program=$THEMIS_BUILD/bench/compare

# chosen NAME: whether a pattern of --cases says so.
chosen() {
    set -f
    for pattern in $(echo "$cases" | tr , ' '); do
        set +f
        # shellcheck disable=SC2254 # a pattern
        case $1 in
        $pattern) return 0 ;;
        esac
    done
    set +f
    return 1
}

# case_passes CASE FRESH RANKS: all passes of a case. FRESH: themis: gets servers that have just begun, for each.
case_passes() {
    repeat=0
    while [ "$repeat" -lt "$repeats" ]; do
        for side in $(echo "$sides" | tr , ' '); do
            [ "$side/$2" != themis/fresh ] || sides_restart
            sides_run "$side" "$3" "$program" "$1" "$mib" 1 FILE PIDS >>"$T/passes"
        done
        repeat=$((repeat + 1))
    done
}

: >"$T/passes"
sides_begin "$servers"
"$program" --cases >"$T/cases"
for n in $(echo "$ranks" | tr , ' '); do
    while read -r case fresh; do
        chosen "$case" || continue
        echo "$case, $n ranks" >&2
        case_passes "$case" "$fresh" "$n"
    done <"$T/cases"
done

# Medians of each side, then one row for each case, number of ranks and direction.
hints=$([ -z "${ROMIO_HINTS-}" ] || grep -v '^$' "$ROMIO_HINTS" | paste -sd, -)
jq -s --argjson servers "$servers" --arg hints "${hints:-default}" --arg targets "$targets" '
    def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
        else (.[length / 2 - 1] + .[length / 2]) / 2 end;
    def round(n): if . == null then null else . * n + 0.5 | floor / n end;
    def of(side; field): map(select(.side == side) | .[field]) | median;
    def over(a; b): if a == null or b == null then null else a / b | round(100) end;
    def number: if . == null or . == "-" then null else tonumber end;
    def either(direction): split("/") | if direction == "write" then .[0] else .[1] // .[0] end | number;
    def below(value; target): value != null and target != null and value < target;
    ($targets | split("\n") | map(select(. != "") | [splits(" +")] | {(.[0]): .[1:]}) | add) as $target
    | reduce .[] as $p ([]; if any(.[]; .[0].case == $p.case and .[0].ranks == $p.ranks and .[0].direction == $p.direction)
        then map(if .[0].case == $p.case and .[0].ranks == $p.ranks and .[0].direction == $p.direction then . + [$p] else . end)
        else . + [[$p]] end)
    | map(. as $g | $g[0] as $first | ($target[$first.case] | map(either($first.direction))) as $t
        | $first | {case, ranks, $servers, $hints, direction,
        themis_mib_s: ($g | of("themis"; "mib_s") | round(10)), ufs_mib_s: ($g | of("shm"; "mib_s") | round(10)),
        ratio: over($g | of("themis"; "mib_s"); $g | of("shm"; "mib_s")), target: $t[0],
        ufs_huge_mib_s: ($g | of("huge"; "mib_s") | round(10)),
        ratio_huge: over($g | of("themis"; "mib_s"); $g | of("huge"; "mib_s")), target_huge: $t[1],
        floor_mib_s: ($g | of("floor"; "mib_s") | round(10)),
        of_floor: over($g | of("themis"; "mib_s"); $g | of("floor"; "mib_s")), target_floor: $t[2],
        themis_cpu_s_per_gib: ($g | of("themis"; "cpu_s_per_gib") | round(1000)),
        ufs_cpu_s_per_gib: ($g | of("shm"; "cpu_s_per_gib") | round(1000)),
        ufs_huge_cpu_s_per_gib: ($g | of("huge"; "cpu_s_per_gib") | round(1000))}
        | .short_of = ([if below(.ratio; .target) then "shm" else empty end,
            if below(.ratio_huge; .target_huge) then "huge" else empty end,
            if below(.of_floor; .target_floor) then "floor" else empty end,
            if below($t[3]; .themis_cpu_s_per_gib) then "cpu" else empty end] | if . == [] then "-" else join(",") end))' \
    "$T/passes" >"$BENCH_JSON"

# A picture of the ratios beside the rows: a panel for each number of ranks; above the line Themis is faster, and the marks
# are the targets.
panels=$(jq -r '[.[].ranks] | unique | .[]' "$BENCH_JSON")
if command -v gnuplot >/dev/null && [ -n "$panels" ]; then
    for n in $panels; do
        jq -r --argjson n "$n" '(reduce .[].case as $c ([]; if index([$c]) then . else . + [$c] end))[] as $case
            | (map(select(.ranks == $n and .case == $case) | {(.direction): [.ratio, .target]}) | add) as $d
            | [$case, ($d.write, $d.read | .[] | if . == null then "NaN" else . end)] | @tsv' "$BENCH_JSON" >"$T/ratios.$n"
    done
    rows=$(echo "$panels" | wc -l)
    for terminal in "svg size 1000,$((rows * 300 + 160)) background 'white'" "pngcairo size 1300,$((rows * 360 + 180))"; do
        {
            cat <<END
set terminal $terminal
set output '$BENCH_DIR/compare.$(echo "$terminal" | sed -e 's/ .*//' -e 's/cairo//')'
set multiplot layout $rows,1 title 'Bandwidth over ufs: on /dev/shm'
set style fill solid 0.8
set boxwidth 0.36
set logscale y
set yrange [0.05:20]
set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10)
set xtics rotate by -30 noenhanced
set key outside right top
set ylabel 'times'
set grid ytics lc rgb '#dddddd'
set datafile separator "\t"
END
            for n in $panels; do
                cat <<END
set title '$n ranks'
plot '$T/ratios.$n' using (\$0 - 0.19):2:xtic(1) with boxes lc rgb '#4477aa' title 'write', \
     '' using (\$0 + 0.19):4 with boxes lc rgb '#ee9955' title 'read', 1 with lines lc rgb 'black' notitle, \
     '' using (\$0 - 0.19):3:(0.18) with xerrorbars pt -1 lw 2 lc rgb 'black' title 'target', \
     '' using (\$0 + 0.19):5:(0.18) with xerrorbars pt -1 lw 2 lc rgb 'black' notitle
END
            done
        } | gnuplot
    done
fi
sides_end
