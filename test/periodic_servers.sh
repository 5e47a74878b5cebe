#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Servers that follow a plan of periodic I/O: how they get one, the shares in its windows, what is told of jobs that do not
# fit, and applications that compute and write under the plan that `themis periodic plan` made for them.
# alone
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
. "$(dirname "$0")/lib/jobs.sh"

# expect TEXT VALUE WANTED PERCENT
expect() {
    if within "$2" "$3" "$4"; then ok "$1: $2 (wanted $3 within $4 %)"; else not_ok "$1: $2, wanted $3 within $4 %"; fi
}

# window BEGIN END PART: of the bandwidth; lane NAME WINDOW...
window() { printf '{"begin_s": %s, "end_s": %s, "bytes_per_s": %s}' "$1" "$2" "$3"; }
lane() { printf '{"application": "%s", "instances": [{"io": [%s]}]}' "$1" "$2"; }
plan() { printf '{"period_s": 2, "platform": {"bytes_per_s": 10}, "applications": [%s]}' "$1"; }

# Of every 2 s, a has eight tenths in the first and b six tenths in the second; late has little, at a time that it misses.
plan "$(lane a "$(window 0 1 8)"), $(lane b "$(window 1 2 6)"), $(lane late "$(window 0 0.02 0.1)")" >"$T/plan.json"

start_servers 2 store-bandwidth=40m quantum=64k workers=2 size=512m
check "a periodic policy without a plan is refused, and how to give one is told" \
    refused 1 'policy "periodic" needs a plan: themis policy set periodic --plan FILE' limit 30 themis policy set periodic
check "the policy is still job-fair" shows 'job-fair' limit 30 themis policy get
check "a plan is not a policy's that follows none" refused 1 'follows no plan' limit 30 themis policy set job-fair --plan "$T/plan.json"
echo '{"period_s": 1' >"$T/bad.json"
check "a plan that is no JSON names file and line" refused 1 "$T/bad.json: line [12]: " limit 30 themis policy set periodic --plan "$T/bad.json"
plan "$(lane a "$(window 0 1 11)")" >"$T/bad.json"
check "a window with more than the bandwidth is refused" refused 1 'a, instance 1: a window of 1 s with 11' limit 30 themis policy set periodic --plan "$T/bad.json"
plan '{"instances": []}' >"$T/bad.json"
check "applications have names" refused 1 'needs "application"' limit 30 themis policy set periodic --plan "$T/bad.json"
check "a tolerance of more than half of the period is refused" refused 1 'tolerance_s 1.5 is out of range' limit 30 \
    themis policy set periodic --plan "$T/plan.json" --tolerance 1.5
check "the policy is still job-fair" shows 'job-fair' limit 30 themis policy get

check "a plan comes into force" shows 'server 1: periodic' limit 30 themis policy set periodic --plan "$T/plan.json" --tolerance 0
scenario shares 9 50
job a processes=4
job b processes=4
job c processes=4
job late processes=4
wait_jobs || not_ok "the jobs end well"
# Outside of its window a job shares what is left with the others: a has 0.8 and 0.4/3, b 0.2/3 and 0.6, on average.
expect "a has its windows" "$(share "$T/shares.csv" 2 8 a)" 0.4667 8
expect "b has its windows" "$(share "$T/shares.csv" 2 8 b)" 0.3333 8
expect "c has what is left" "$(share "$T/shares.csv" 2 8 c)" 0.1 12
check "the log tells of the job that misses its windows" grep -q 'plan: job late .* a new plan is needed' "$T/srv0/log"
check "and of no other" eval '! grep -q "plan: job [abc] " "$T/srv0/log" "$T/srv1/log"'
check "a chain can follow the plan" shows 'server 0: periodic-then-user-fair' limit 30 themis policy set periodic-then-user-fair --plan "$T/plan.json"
check "the policy can be set without a new plan" shows 'server 0: periodic' limit 30 themis policy set periodic

# Three applications that compute for 1.2 s and then write 32 MB, which takes 0.4 s of 80 MiB/s, beside a job that always writes.
cat >"$T/apps.ini" <<'END'
[platform]
nodes = 3
bandwidth = 80MiB
node_bandwidth = 80MiB
[application app]
compute = 1.2s
volume = 32000000
nodes = 1
number = 3
END
# run_apps POLICY [OPTION...]: prints the seconds of all of them together.
run_apps() {
    themis policy set "$@" >/dev/null || return 1
    scenario "$1" 12 500
    for i in 1 2 3; do
        THEMIS_APPLICATION=app job "app$i" mode=bsp rounds=5 think=1200000 file=32000000 request=4000000 depth=4 check=0
    done
    job background processes=4 seconds=9
    wait_jobs >&2
    sed -n 's/^app.*seconds=//p' "$T/$1.out" | awk '{ sum += $1 } END { print sum }'
}
check "the applications are planned" eval 'limit 60 themis periodic plan "$T/apps.ini" --json >"$T/apps.json"'
fair=$(run_apps job-fair)
planned=$(run_apps periodic --plan "$T/apps.json")
echo "# by the plan: $(jq '5 * 3 * .period_s / ([.applications[].instances | length] | add / 3)' "$T/apps.json") s"
if at_least "$(divide "$fair" "$planned")" 1.1; then
    ok "a plan makes applications quicker beside a job that always writes: $fair s under job-fair, $planned s"
else
    not_ok "a plan makes applications quicker beside a job that always writes: $fair s under job-fair, $planned s"
fi
stop_servers

check "a configuration's periodic policy needs a plan" refused 2 'the key plan is needed' limit 30 themisd --check --policy periodic
check "its plan is read" limit 30 themisd --check --policy periodic --plan "$T/plan.json"
plan "" >"$T/bad.json"
sed -i 's/"period_s": 2/"period_s": -2/' "$T/bad.json"
check "a wrong plan of the configuration is named" refused 2 "plan: .*$T/bad.json: plan: a period of -2 s" limit 30 themisd --check --policy periodic --plan "$T/bad.json"
free_port
metrics=$testlib_port
start_servers 1 policy=periodic "plan=$T/plan.json" "metrics-port=$metrics" store-bandwidth=40m
check "a server begins with the configuration's plan" shows 'server 0: periodic' limit 30 themis policy get
scenario metrics 3 500
job a processes=2
sleep_until 2
check "how well jobs fit their windows is among the metrics" eval 'curl -s "http://127.0.0.1:$metrics/metrics" >"$T/metrics" &&
    grep -q "^themis_job_plan_fit_ratio{job_id=.a.,.* [01]" "$T/metrics"'
wait_jobs || not_ok "the job ends well"
finish
