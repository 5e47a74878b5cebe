# SPDX-License-Identifier: BSD-3-Clause
# Scenarios of jobs that share servers; sourced after testlib.sh by test/sharing.sh and bench/share_traces.sh.
#
#   scenario NAME SECONDS EVERY  begins a scenario: time 0 is two seconds from now, later on a busy machine, so that all jobs
#                                have connected by then; counters every EVERY ms into $T/NAME.csv
#   job NAME [OPTION=VALUE...]   a job of bench/sharing_client; start and seconds count from the scenario's time 0
#   sleep_until SECONDS          until that time of the scenario
#   wait_jobs                    waits for all, and puts what the jobs printed into $T/NAME.out; fails if one failed
#   rates FILE FROM TO           "JOB BYTES_PER_S SHARE" of each job between two times, over all servers
#   rate FILE FROM TO JOB        bytes/s of one job ("NAME" or "NAME@UID")
#   share FILE FROM TO JOB       its part of all bytes
#   within VALUE WANTED PERCENT  true if VALUE is that near
client=$THEMIS_BUILD/bench/sharing_client
THEMIS_TIMEOUT=60s
export THEMIS_TIMEOUT

scenario() {
    scenario_name=$1 scenario_seconds=$2 scenario_pids='' scenario_failed=0
    scenario_lead=$(awk -v cores="$(nproc)" '{ print 2 + int($1 / (2 * cores)) }' /proc/loadavg)
    scenario_at=$(awk -v lead="$scenario_lead" '{ print $1 + lead }' /proc/uptime)
    : >"$T/$1.out"
    timeout $((${2%.*} + scenario_lead + 30 * testlib_slower)) "$client" sample "servers=$THEMIS_SERVERS" "at=$scenario_at" "seconds=$2" "every=$3" >"$T/$1.csv" &
    scenario_pids=$!
}

job() {
    job_name=$1
    shift
    timeout $((${scenario_seconds%.*} + scenario_lead + 60 * testlib_slower)) "$client" job "servers=$THEMIS_SERVERS" "at=$scenario_at" "job=$job_name" \
        "seconds=$scenario_seconds" "$@" >>"$T/$scenario_name.out" 2>>"$T/$scenario_name.err" &
    scenario_pids="$scenario_pids $!"
    testlib_spawned="$testlib_spawned $!"
}

sleep_until() { awk -v at="$scenario_at" -v s="$1" '{ d = at + s - $1; print (d > 0 ? d : 0) }' /proc/uptime | xargs sleep; }

wait_jobs() {
    for pid in $scenario_pids; do
        wait "$pid" || scenario_failed=1
    done
    testlib_spawned=
    [ "$scenario_failed" = 0 ] || sed 's/^/# /' "$T/$scenario_name.err"
    return "$scenario_failed"
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

# sigma FILE FROM SECONDS JOB: mean and standard deviation of a job's rate in that many seconds after FROM, in bytes/s.
sigma() {
    for second in $(seq 0 $(($3 - 1))); do
        rate "$1" "$(awk -v f="$2" -v k="$second" 'BEGIN { print f + k }')" "$(awk -v f="$2" -v k="$second" 'BEGIN { print f + k + 1 }')" "$4"
    done | awk '{ s += $1; q += $1 * $1; n++ } END { m = s / n; v = q / n - m * m; printf "%.0f %.0f\n", m, (v > 0 ? sqrt(v) : 0) }'
}

# Scenarios that both scripts use, SECONDS long.

# One of two jobs leaves in the middle. freed FILE prints when its last bytes came, and from 100 ms later on the other's
# bytes/s over a second.
run_leaving() {
    scenario "$1" "$2" 20
    job stays processes=4
    job goes processes=2 request=1000000 seconds=$(($2 / 2))
    wait_jobs
}
freed() {
    freed_at=$(awk -F, '$3 ~ /^goes@/ { if ($4 > last) t = $1; last = $4 } END { print t + 0 }' "$1")
    echo "$freed_at $(rate "$1" "$(awk -v t="$freed_at" 'BEGIN { print t + 0.1 }')" "$(awk -v t="$freed_at" 'BEGIN { print t + 1.1 }')" stays)"
}

# Requests of 4 KiB against requests of 16 MiB.
run_sizes() {
    scenario "$1" "$2" 100
    job small request=4096 file=4194304 depth=64 processes=3 check=0
    job large request=16777216 file=16777216 processes=2 check=0
    wait_jobs
}

# 64 requests outstanding against one.
run_depths() {
    scenario "$1" "$2" 100
    job deep request=1048576 file=67108864 depth=64 check=0
    job shallow request=1048576 depth=1 check=0
    wait_jobs
}

# More processes, connections and smaller requests. The modest job has two processes, so that it always has a request.
run_greedy() {
    scenario "$1" "$2" 100
    job modest processes=2
    job greedy processes=8 depth=8 request=65536 check=0
    wait_jobs
}

# More processes and larger requests.
run_wide() {
    scenario "$1" "$2" 100
    job modest processes=2
    job wide processes=8 request=16777216 file=16777216 check=0
    wait_jobs
}

# Two users' jobs of one id, and a third one's.
run_claim() {
    scenario "$1" "$2" 100
    job mine uid=1001 processes=2
    job mine uid=1002 processes=2
    job other uid=1003 processes=2
    wait_jobs
}

# run_bsp NAME alone|beside ROUNDS: compute, write, repeat, alone or beside a background job; prints the seconds it took.
run_bsp() {
    scenario "$1" $((3 * $3 / 4)) 500
    job simulation nodes=16 mode=bsp rounds="$3" think=400000 file=8000000 request=8000000 processes=4 check=0
    [ "$2" = alone ] || job background nodes=1 processes=6 request=8000000 file=8000000 check=0
    wait_jobs >"$T/wait_jobs.out" || cp "$T/wait_jobs.out" "$T/bsp.failed"
    sed -n 's/^simulation .*seconds=//p' "$T/$1.out"
}
