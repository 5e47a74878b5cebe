#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compare: themis: with one server on this machine against ufs: on /dev/shm and on a tmpfs of huge pages.
#
#   --cases A,B,..   some of: contiguous_1mib_collective contiguous_1mib_independent interleaved_4kib_collective
#                    vector_64b_collective vector_4kib_collective array_3d_collective independent_4kib
#   --ranks 2,4      numbers of ranks
#   --repeats N      medians of N passes in each direction (5)
#   --mib N          MiB in each pass, all ranks together (128)
#   --servers N      servers (1)
#
# The sides take turns pass by pass, so that the machine's noise meets both. Hints are the defaults, so each small call goes
# to the servers by itself; with a line "themis_cache on" in the file that ROMIO_HINTS names they go through the cache.
# ufs: is MPICH's own, without our library. With more ranks than processors a shim that yields is preloaded on every side:
# otherwise one measures only spinning.
#
# A 3-D array is cut across its fastest dimension first (at 2 ranks: each row in two), so that no rank's part of it is
# contiguous in the file.
. "$(dirname "$0")/../test/lib/testlib.sh"
. "$(dirname "$0")/options.sh"

cases= ranks=2,4 repeats=5 mib=128 servers=1
bench_options "cases ranks repeats mib servers" "$@"
program=$THEMIS_BUILD/bench/compare
cases=${cases:-$("$program" --cases | tr '\n' ',')}

# The baselines' directories; "" where there is none.
shm=
huge=
compare_clean() {
    trap - EXIT INT TERM HUP
    [ -z "$huge" ] || umount -l "$huge"
    [ -z "$shm" ] || rm -rf "$shm"
    testlib_clean
}
trap compare_clean EXIT
trap 'compare_clean; exit 130' INT TERM HUP
shm=$(mktemp -d /dev/shm/themis-compare.XXXXXX)
mkdir "$T/huge"
if mount -t tmpfs -o huge=always,size=4g themis-compare "$T/huge" 2>/dev/null; then
    huge=$T/huge
else
    echo "No tmpfs with huge pages: mounting one needs root. Its columns stay empty."
fi

# one SIDE RANKS CASE FILE [PID...]: one job with one counted pass in each direction; its rows get the side's name.
one() {
    side=$1 n=$2 case=$3 file=$4
    shift 4
    yield=
    [ "$n" -le "$(nproc)" ] || yield=$THEMIS_BUILD/test/lib/yield_shim.so
    case $side in
    themis) with=$(EXTRA_PRELOAD=$yield preload) ;;
    *) with=$yield ;;
    esac
    timeout -k 5 300 mpirun.mpich -n "$n" -genv LD_PRELOAD "$with" "$program" "$case" "$mib" 1 "$file" "$@" </dev/null |
        sed "s/^{/{\"side\": \"$side\", /" >>"$T/passes"
}

start_servers "$servers"
for n in $(echo "$ranks" | tr , ' '); do
    for case in $(echo "$cases" | tr , ' '); do
        echo "$case, $n ranks" >&2
        repeat=0
        while [ "$repeat" -lt "$repeats" ]; do
            # shellcheck disable=SC2086 # a list of process ids
            one themis "$n" "$case" themis:/compare $testlib_servers
            one shm "$n" "$case" "ufs:$shm/compare"
            [ -z "$huge" ] || one huge "$n" "$case" "ufs:$huge/compare"
            repeat=$((repeat + 1))
        done
    done
done

# Medians of each side, then one row for each case, number of ranks and direction.
hints=$([ -z "${ROMIO_HINTS-}" ] || grep -v '^$' "$ROMIO_HINTS" | paste -sd, -)
jq -s --argjson servers "$servers" --arg hints "${hints:-default}" '
    def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
        else (.[length / 2 - 1] + .[length / 2]) / 2 end;
    def round(n): if . == null then null else . * n + 0.5 | floor / n end;
    def of(side; field): map(select(.side == side) | .[field]) | median;
    def over(a; b): if a == null or b == null then null else a / b | round(100) end;
    reduce .[] as $p ([]; if any(.[]; .[0].case == $p.case and .[0].ranks == $p.ranks and .[0].direction == $p.direction)
        then map(if .[0].case == $p.case and .[0].ranks == $p.ranks and .[0].direction == $p.direction then . + [$p] else . end)
        else . + [[$p]] end)
    | map(. as $g | $g[0] | {case, ranks, $servers, $hints, direction,
        themis_mib_s: ($g | of("themis"; "mib_s") | round(10)), ufs_mib_s: ($g | of("shm"; "mib_s") | round(10)),
        ratio: over($g | of("themis"; "mib_s"); $g | of("shm"; "mib_s")),
        themis_cpu_s_per_gib: ($g | of("themis"; "cpu_s_per_gib") | round(1000)),
        ufs_cpu_s_per_gib: ($g | of("shm"; "cpu_s_per_gib") | round(1000)),
        ufs_huge_mib_s: ($g | of("huge"; "mib_s") | round(10)),
        ratio_huge: over($g | of("themis"; "mib_s"); $g | of("huge"; "mib_s")),
        ufs_huge_cpu_s_per_gib: ($g | of("huge"; "cpu_s_per_gib") | round(1000))})' "$T/passes" >"$BENCH_JSON"

# A picture of the ratios beside the rows; above the line Themis is faster.
if command -v gnuplot >/dev/null && [ -s "$BENCH_JSON" ]; then
    jq -r '.[] | [.case + ", " + (.ranks | tostring) + " ranks", .direction, .ratio] | @tsv' "$BENCH_JSON" |
        awk -F'\t' '{ if (!($1 in seen)) { seen[$1] = 1; name[++n] = $1 } ratio[$1, $2] = $3 }
            END { for (i = 1; i <= n; i++) printf "\"%s\"\t%s\t%s\n", name[i], ratio[name[i], "write"], ratio[name[i], "read"] }' \
            >"$T/ratios"
    for terminal in "svg size 900,480 background 'white'" "pngcairo size 1200,640"; do
        gnuplot <<END
set terminal $terminal
set output '$BENCH_DIR/compare.$(echo "$terminal" | sed -e 's/ .*//' -e 's/cairo//')'
set title 'Bandwidth over ufs: on /dev/shm'
set style data histogram
set style fill solid 0.8
set logscale y
set xtics rotate by -40 noenhanced
set key top left
set rmargin 16
set ylabel 'times'
set grid ytics lc rgb '#dddddd'
set datafile separator "\t"
plot '$T/ratios' using 2:xtic(1) title 'write', '' using 3 title 'read', 1 with lines lc rgb 'black' notitle
END
    done
fi
