#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Monitoring: themis jobs, policy and top, the metrics over HTTP, and a real Prometheus that scrapes them.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
. "$(dirname "$0")/lib/jobs.sh"

free_port
metrics_port=$testlib_port
# So slow that both jobs wait for it, even on a busy machine.
start_servers 1 store-bandwidth=20m workers=2 size=512m policy=size-fair metrics-port=$metrics_port
# Under a sanitizer they may not, and then they do not get their shares.
case ${THEMIS_VARIANT-} in asan | tsan) fair='. > 0 and . <= 1' ;; *) fair='. > 0.7 and . < 0.9' ;; esac
seconds=$((45 * testlib_slower))
scenario seen $seconds 500
job "four" nodes=4 processes=2 request=500000 depth=4
job "one" nodes=1 processes=2 request=500000 depth=4
# Both have started, and then share for a while.
for _ in $(seq 1 60); do
    limit 20 themis jobs --json 2>/dev/null | jq -e '[.[] | select(.queued > 0)] | length == 2' >/dev/null && break
    sleep 0.5
done
sleep 4

check "themis jobs --json has both jobs with the shares they are due" \
    json '[.[] | select(.job == "four" or .job == "one")] | length == 2 and (map({(.job): .share_due}) | add |
        .four / .one > 3.95 and .four / .one < 4.05)' limit 20 themis jobs --json
check "themis jobs prints a line a job" shows '^four .* 80.00 ' limit 20 themis jobs
check "themis top --once --json shows what jobs get" \
    json '.servers[0].reachable and ([.jobs[] | select(.job == "four")][0].share_got | '"$fair"')' \
    limit 20 themis top --once --json
check "themis top --once fits into 80 columns" \
    sh -c 'timeout 20 themis top --once | tee "$0" | awk "length(\$0) > 80 { exit 1 }" && grep -q "DUE%" "$0"' "$T/top"
check "themis top draws a screen" sh -c '
    script -qec "stty rows 24 cols 80; TERM=xterm timeout --foreground 3 themis top" /dev/null >"$0" 2>&1; grep -q "GOT%" "$0"' "$T/screen"
check "themis policy explain prints the tree" shows ' 80.00 %  job four ' limit 20 themis policy explain
check "a wrong policy is refused with the position of the error" \
    sh -c '! timeout 20 themis policy set user-than-size-fair 2>"$0" && grep -q "character 5" "$0"' "$T/refused"
check "and the old one stays" shows size-fair limit 20 themis policy get
check "themis policy set changes it" sh -c 'timeout 20 themis policy set job-fair && timeout 20 themis policy | grep -q job-fair'

url=http://127.0.0.1:$metrics_port
check "metrics over HTTP are OpenMetrics" sh -c '
    curl -sfi --max-time 10 "$0/metrics" >"$1" && grep -qi "^content-type: application/openmetrics-text; version=1.0.0" "$1" &&
    tail -n 1 "$1" | grep -q "^# EOF" && grep -q "^themis_job_written_bytes_total{job_id=\"four\"," "$1"' "$url" "$T/metrics"
check "they are served on loopback only" sh -c '! ss -ltn "sport = :$0" | awk "NR > 1 { print \$4 }" | grep -qv "^127\.0\.0\.1:"' "$metrics_port"
# Prometheus itself, on loopback, with storage of its own.
if command -v prometheus >/dev/null 2>&1; then
    free_port
    prometheus_port=$testlib_port
    cat >"$T/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: themis
    static_configs: [{targets: ["127.0.0.1:$metrics_port"]}]
END
    spawn timeout $((90 * testlib_slower)) prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" \
        --web.listen-address="127.0.0.1:$prometheus_port" --log.level=error
    # query EXPRESSION: its first value, or nothing.
    query() {
        curl -sf --max-time 5 "http://127.0.0.1:$prometheus_port/api/v1/query" --data-urlencode "query=$1" 2>/dev/null |
            jq -r '.data.result[0].value[1] // empty'
    }
    # eventually EXPRESSION: has a value within 40 s.
    eventually() {
        for _ in $(seq 40); do
            [ -z "$(query "$1")" ] || return 0
            sleep 1
        done
        return 1
    }
    check "Prometheus scrapes the server" eventually 'up{job="themis"} == 1'
    check "and computes rates of a job" eventually 'sum(rate(themis_job_written_bytes_total{job_id="four"}[10s])) > 1e6'
    check "and quantiles of its waiting time" \
        eventually 'histogram_quantile(0.99, sum by (le) (rate(themis_job_wait_seconds_bucket{job_id="four"}[10s]))) > 0'
    # Prometheus has a value for every expression of the dashboard.
    jq -r '.. | objects | select(has("expr")) | .expr' "$THEMIS_SRC/doc/grafana.json" |
        sed 's/\$__rate_interval/10s/g; s/\$job/.*/g; s/\$instance/.*/g' >"$T/expressions"
    while read -r expression; do
        check "dashboard: $expression" eventually "$expression"
    done <"$T/expressions"
else
    skip "a real Prometheus" "prometheus is not installed"
fi
wait_jobs || not_ok "the jobs end well"

# A large job of a large uid and a long policy, on two servers, one of which is killed.
# fits COMMAND...: its output has no line of more than 80 columns.
fits() { limit 30 "$@" >"$T/top" && awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' "$T/top"; }
long=group-then-user-then-size-fair
stop_servers
start_servers 2 store-bandwidth=80m size=512m policy=$long draw=statistical max-nodes=200000
scenario large 20 500
big_uid=4294967293
[ "$(id -u)" = 0 ] || big_uid=$(id -u)
job "a-job-with-a-name-that-is-long" nodes=100000 processes=2 depth=64 server=1 uid=$big_uid
sleep 4
large() { fits themis top --once && grep -q "^a-job-with-a-name- *$big_uid  *100k " "$T/top" && grep -q "$long, statistical" "$T/top"; }
check "a large job and a long policy fit into 80 columns" large
screen() {
    script -qec "stty rows 24 cols 80; TERM=xterm timeout --foreground 3 themis top" /dev/null >"$T/screen" 2>&1
    grep -q "$long, statistical" "$T/screen"
}
check "and are whole on the screen" screen
# shellcheck disable=SC2086 # a list of process ids
set -- $testlib_servers
kill -9 "$1"
gone() { THEMIS_TIMEOUT=2s fits themis top --once && grep -q "^  0 127.0.0.1:[0-9]* *DOWN" "$T/top" && grep -q '1 of 2 servers' "$T/top"; }
check "so does the output with a server that does not answer" gone
rest() {
    ! THEMIS_TIMEOUT=2s limit 30 themis policy set job-fair >"$T/set" 2>"$T/set.err" && grep -q '^server 1: job-fair' "$T/set" &&
        grep -q 'server 0: ' "$T/set.err" && grep -q 'not set on 1 of 2 servers' "$T/set.err"
}
check "themis policy set says which server failed, and sets the others" rest
stop_servers
wait_jobs >/dev/null 2>&1 || : # its servers are gone

# More jobs than one answer of the server holds: as many as two, and some more.
stop_servers
start_servers 1 size=64m lease=10m heartbeat=10m
clients_of() { limit 100 "$THEMIS_BUILD/test/server/many_jobs" "${THEMIS_SERVERS##*:}" "$1" "$2"; }
complete_to() {
    json "[.[].job | select(startswith(\"job-\"))] | length == $1 and (unique | length) == $1" limit 30 themis jobs --json &&
        limit 30 themis jobs >"$T/out" && [ "$(grep -c '^job-' "$T/out")" = "$1" ]
}
check "clients of 800 jobs are served" clients_of 0 800
check "themis jobs lists 800 jobs" complete_to 800
check "clients of 130 more" clients_of 800 930
check "themis jobs lists 930 jobs" complete_to 930
check "so does themis status" json '[.[0].jobs[].job | select(startswith("job-"))] | length == 930' limit 30 themis status --json
check "and themis top counts them" json '[.jobs[] | select(.job | startswith("job-"))] | length == 930' \
    limit 30 themis top --once --json

# Policies change all the time while jobs verify every byte that they read.
start_servers 2 size=512m
scenario changing 8 500
for name in one two three; do job $name nodes=2 processes=2 request=65536 file=4194304 depth=8 check=1; done
sleep 2
changed=0 until=$(($(date +%s) + 7))
while [ "$(date +%s)" -lt "$until" ]; do
    for policy in fifo size-fair user-then-size-fair tbf job-fair gift; do
        ! limit 20 themis policy set $policy >/dev/null 2>"$T/change.err" || changed=$((changed + 1))
        sleep 0.05
    done
done
complete() { wait_jobs && [ "$(grep -c ' bytes=[1-9]' "$T/changing.out")" = 3 ]; }
check "frequent policy changes lose no request" complete
enough() { echo "$changed changes"; [ "$changed" -ge 12 ] || { cat "$T/change.err" && return 1; }; }
check "the policy changed often" enough
finish
