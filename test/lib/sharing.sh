# SPDX-License-Identifier: BSD-3-Clause
# Scenes of jobs that share servers; sourced after testlib.sh by test/sharing.sh and bench/sharing.sh.
#
#   scene NAME SECONDS EVERY     begins a scene: time 0 is two seconds from now; counters every EVERY ms into $T/NAME.csv
#   job NAME [OPTION=VALUE...]   a job of bench/sharing_client; start and seconds count from the scene's time 0
#   curtain                      waits for all, and puts what the jobs printed into $T/NAME.out; fails if one failed
#   rates FILE FROM TO           "JOB BYTES_PER_S SHARE" of each job between two times, over all servers
#   rate FILE FROM TO JOB        bytes/s of one job ("NAME" or "NAME@UID")
#   share FILE FROM TO JOB       its part of all bytes
#   within VALUE WANTED PERCENT  true if VALUE is that near
client=$THEMIS_BUILD/bench/sharing_client

scene() {
    scene_name=$1 scene_seconds=$2 scene_pids='' scene_failed=0
    scene_at=$(awk '{ print $1 + 2 }' /proc/uptime)
    : >"$T/$1.out"
    timeout $((${2%.*} + 30)) "$client" sample "servers=$THEMIS_SERVERS" "at=$scene_at" "seconds=$2" "every=$3" >"$T/$1.csv" &
    scene_pids=$!
}

job() {
    job_name=$1
    shift
    timeout $((${scene_seconds%.*} + 60)) "$client" job "servers=$THEMIS_SERVERS" "at=$scene_at" "job=$job_name" \
        "seconds=$scene_seconds" "$@" >>"$T/$scene_name.out" 2>>"$T/$scene_name.err" &
    scene_pids="$scene_pids $!"
    testlib_spawned="$testlib_spawned $!"
}

curtain() {
    for pid in $scene_pids; do
        wait "$pid" || scene_failed=1
    done
    testlib_spawned=
    [ "$scene_failed" = 0 ] || sed 's/^/# /' "$T/$scene_name.err"
    return "$scene_failed"
}

# Counters are read at sample times; what they were between is interpolated.
rates() {
    awk -F, -v from="$2" -v to="$3" '
        function at(k, when,   i, n, f) {
            n = count[k]
            if (when <= time[k, 1]) return bytes[k, 1]
            for (i = 2; i <= n; i++)
                if (time[k, i] >= when) {
                    f = (when - time[k, i - 1]) / (time[k, i] - time[k, i - 1])
                    return bytes[k, i - 1] + f * (bytes[k, i] - bytes[k, i - 1])
                }
            return bytes[k, n]
        }
        NR > 1 { k = $2 SUBSEP $3; i = ++count[k]; time[k, i] = $1; bytes[k, i] = $4 }
        END {
            for (k in count) {
                split(k, part, SUBSEP)
                moved = at(k, to) - at(k, from); sum[part[2]] += moved; all += moved
            }
            for (job in sum) printf "%s %.0f %.6f\n", job, sum[job] / (to - from), (all > 0 ? sum[job] / all : 0)
        }' "$1" | sort
}

rate() { rates "$1" "$2" "$3" | awk -v job="$4" '$1 == job || index($1, job "@") == 1 { sum += $2 } END { print sum + 0 }'; }

share() { rates "$1" "$2" "$3" | awk -v job="$4" '$1 == job || index($1, job "@") == 1 { sum += $3 } END { print sum + 0 }'; }

total_rate() { rates "$1" "$2" "$3" | awk '{ sum += $2 } END { print sum + 0 }'; }

within() { awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { d = a / b - 1; exit !(d <= p / 100 && d >= -p / 100) }'; }

at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 >= b + 0) }'; }

# divide A B: the quotient, with four digits.
divide() { awk -v a="$1" -v b="$2" 'BEGIN { if (b + 0 == 0) print "inf"; else printf "%.4f\n", a / b }'; }

# calm_error FILE FROM TO JOB WANTED: root mean square of a job's share - WANTED over windows of one sample each.
calm_error() {
    awk -F, -v from="$2" -v to="$3" -v job="$4" -v wanted="$5" '
        NR > 1 { moved = $4 - last[$2, $3]; last[$2, $3] = $4; if ($1 < from || $1 > to) next
                 t = int($1 * 1000); if (t - now > 5) close_window(); now = t
                 all += moved; if ($3 == job || index($3, job "@") == 1) mine += moved }
        function close_window() { if (all > 0) { d = mine / all - wanted; sum += d * d; n++ } all = mine = 0 }
        END { close_window(); printf "%.5f\n", (n > 0 ? sqrt(sum / n) : 1) }' "$1"
}

# sigma FILE FROM TO JOB: mean and standard deviation of a job's rate in windows of a second, in bytes/s.
sigma() {
    for second in $(seq "$2" $(($3 - 1))); do rate "$1" "$second" $((second + 1)) "$4"; done |
        awk '{ s += $1; q += $1 * $1; n++ } END { m = s / n; v = q / n - m * m; printf "%.0f %.0f\n", m, (v > 0 ? sqrt(v) : 0) }'
}
