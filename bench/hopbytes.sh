#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hopbytes: hop-bytes and busiest link of the default placement (OTP), locality (LATP) and topology (TATP) for the cases of the paper,
# as a table and as pictures in build/bench/hopbytes-*.png. Fails if TATP is anywhere above one of the others.
timeout 600 "$THEMIS_BUILD/bench/hopbytes" >"$BENCH_JSON" || exit 1

# picture FABRIC NODES_ARE: one group of bars for each pattern and number of aggregators, relative to OTP.
picture() {
    data=$BENCH_DIR/hopbytes-$1-$2.dat
    jq -r --arg fabric "$1" --arg nodes "$2" '
        .[] | select(.fabric == $fabric and .nodes_are == $nodes) |
        [(.pattern + " " + (.processes | tostring) + ", " + (.aggregators | tostring) + " aggr."), 1,
         .latp_hop_gb / .otp_hop_gb, .tatp_hop_gb / .otp_hop_gb, .tatp_max_link_gb / .otp_max_link_gb] |
        "\"" + .[0] + "\"\t" + (.[1:] | map(tostring) | join("\t"))' "$BENCH_JSON" >"$data"
    command -v gnuplot >/dev/null || return 0
    gnuplot <<END
set terminal pngcairo size 1800,620 font "sans,10"
set output "$BENCH_DIR/hopbytes-$1-$2.png"
set title "Hop-bytes of the shuffle relative to OTP: $1, nodes $2" font "sans,13"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set boxwidth 0.9
set yrange [0:*]
set ylabel "relative to the default placement (OTP)"
set grid ytics
set key outside top center horizontal
set xtics rotate by -45 nomirror font "sans,8"
plot "$data" using 2:xtic(1) title "OTP" linecolor rgb "#999999", \
     "" using 3 title "LATP" linecolor rgb "#e69f00", \
     "" using 4 title "TATP" linecolor rgb "#0072b2", \
     "" using 5 title "TATP, busiest link" linecolor rgb "#56b4e9"
END
}
for fabric in tree-4x20 fat-16x16; do
    for nodes in packed scattered; do
        picture "$fabric" "$nodes" || exit 1
    done
done
