#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The service `themis periodic follow`: it finds out what running jobs do, sets a plan for those that are periodic where that
# pays, and the policy from before when it does not any more.
# alone
# timeout: 300
unset THEMIS_TEST_DIRECT # another job would be in the history, too
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
. "$(dirname "$0")/lib/jobs.sh"

history=$T/history
mkdir "$history"
follow() { limit 20 themis periodic follow --directory "$history" "$@"; }

# service NAME [OPTION...]: in the background, with its lines of JSON in $T/NAME.json; ended by stop_service.
service() {
    log=$T/$1.json
    shift
    timeout 150 themis periodic follow --directory "$history" --interval 500ms --json "$@" </dev/null >"$log" 2>"$log.err" &
    service=$!
    testlib_spawned="$testlib_spawned $service"
}
stop_service() { kill -TERM "$service" && wait "$service"; }

# told FILTER: a line of the service for which the filter of jq holds.
told() { jq -se "any(.[]; $1)" "$log" >/dev/null; }
policy_is() { [ "$(themis policy get | sed "s/^server [01]: $1 .*/right/" | sort -u)" = right ]; }

# --- what is wrong is told
check "help" shows 'follow  *a service' themis periodic follow --help
check "a wrong interval" refuses 2 '--interval 1ms: expected' follow --interval 1ms
check "a wrong margin" refuses 2 '--margin much: not a number' follow --margin much
check "a wrong bandwidth" refuses 2 '--bandwidth 0: expected bytes' follow --bandwidth 0
start_servers 1
check "servers without store_bandwidth" refuses 1 'server 0 has no store_bandwidth: give that of all servers by --bandwidth' follow --once
check "whose bandwidth is given" shows 'stays: 0 of 0 jobs are known to be periodic; job-fair stays' follow --once --bandwidth 20m
stop_servers

start_servers 2 store-bandwidth=10m quantum=64k workers=2 size=512m "history=$history" history_interval=100ms history_update=500ms \
    heartbeat=1s heartbeat_limit=3 lease=2s # so that jobs which are ended end soon
check "no directory" refuses 1 'nowhere: No such file' limit 20 themis periodic follow --once --directory "$T/nowhere"

# --- jobs that are not periodic leave the policy alone
service steady
scenario steady 6 500
job always processes=2
job more processes=2
wait_jobs || not_ok "the jobs end well"
stop_service
check "jobs that always write are seen, and not planned" told '.cause == "few-periodic-jobs" and (.reason | test("0 of 2 jobs"))'
check "nothing was done" eval '! told ".action != \"stay\""'
check "the policy is what it was" policy_is job-fair

# --- four jobs that compute for 1.4 s and write 7 MB: alone in 0.33 s of 20 MiB/s, all at once in 1.3 s
# four PREFIX: they go on until end_four. Names are new ones each time, so that nothing is known of them.
rounds() { job "$1" mode=bsp rounds=60 think=1400000 file=7000000 request=1000000 depth=4 check=0; }
four() {
    scenario "$1" 120 500
    for number in 1 2 3 4; do rounds "$1$number"; done
    last=$!
}
end_four() {
    # shellcheck disable=SC2086 # a list
    end_pids $scenario_pids
    testlib_spawned=
    await $((20 * testlib_slower)) no_jobs
}
no_jobs() { [ "$(themis jobs | wc -l)" = 1 ]; }
# planned NAME: the plan of the service is seen, and left in $T/plan.json.
planned() {
    check "the jobs are planned" await $((50 * testlib_slower)) told '.action == "plan"' || sed 's/^/# /' "$log.err"
    jq -s 'first(.[] | select(.action == "plan"))' "$log" >"$T/plan.json"
    echo "# $(jq -r .reason "$T/plan.json")"
    check "the servers follow it" await $((5 * testlib_slower)) policy_is periodic-then-job-fair
}
# Of single jobs, a phase may have been missed on a busy machine: the one in the middle counts.
plan_is() { jq -e "$1" "$T/plan.json" >/dev/null || { cat "$T/plan.json" && false; }; }

service first
four a
planned
check "with all that were known by then" plan_is '[.planned[].job] | length >= 2 and . - ["a1", "a2", "a3", "a4"] == []'
check "their computing time is found" plan_is '[.planned[].compute_s] | sort[length / 2 | floor] | . > 1.1 and . < 1.7'
check "and what they write" plan_is '[.planned[].volume_bytes] | sort[length / 2 | floor] | . > 6e6 and . < 8e6'
check "the plan is to gain something" plan_is '.planned_efficiency > 1.05 * .measured_efficiency'
check "the servers say so" grep -q 'plan of [234] applications' "$T/srv0/log"

# A job that calls itself by two names has two records.
cat "$history"/*/* | jq -c 'select(.job == "a1" and .interim) | .application = "another"' >"$T/records"
twice() { [ -s "$T/records" ] && json '[.seen[].job] | index("a1") and length == (unique | length)' \
    follow --once --dry-run --json --directory "$T/records"; }
check "a job with two records is seen once" twice

# A plan of somebody else, with the same policy, directly before the service ends: that is what stays.
printf '{"period_s": 2, "platform": {"bytes_per_s": 10}, "applications": [{"application": "none", "instances": []}]}' >"$T/other.json"
themis policy set periodic-then-job-fair --plan "$T/other.json" >"$T/set" 2>&1 && kill -TERM "$service"
check "the service ends well at SIGTERM" wait "$service"
check "a plan that somebody else has set meanwhile stays" policy_is periodic-then-job-fair
check "and the service did not touch it" eval '[ "$(grep -c "policy job-fair set" "$T/srv0/log")" = 0 ]'
end_four
check "a plan of others is left alone" shows 'a plan that somebody else has set' follow --once
check "that policy ends by hand" outcome 0 limit 20 themis policy set job-fair

# --- a job ends, and who reads what the service tells has gone
mkfifo "$T/pipe"
log=$T/second.json
cat "$T/pipe" >"$log" &
reader=$!
timeout 150 themis periodic follow --directory "$history" --interval 500ms --json </dev/null >"$T/pipe" 2>"$log.err" &
service=$!
testlib_spawned="$testlib_spawned $reader $service"
four b
planned
kill "$reader"
end_pids "$last"
check "the policy of before comes back when a job ends" await $((20 * testlib_slower)) policy_is job-fair
check "and the service ends well at SIGTERM, without a reader" stop_service
end_four
check "a dry run says what it would do" shows '^[-0-9: ]* dry run, ' follow --once --dry-run
check "and does nothing" policy_is job-fair

# --- a server is lost
THEMIS_TIMEOUT=3s
service third
THEMIS_TIMEOUT=60s
four c
planned
check "the plan is seen to be in force" await $((15 * testlib_slower)) told '.cause == "holds" or .cause == "begins"'
echo "# SysEff: $(jq -r 'select(.action == "plan" or .cause == "holds") | [.cause, .measured_efficiency, .planned_efficiency] | join(" ")' "$log" | uniq | sed -n '1p;$p' | tr '\n' ';')"
lines=$(wc -l <"$log")
kill -KILL "${testlib_servers##* }"
THEMIS_TIMEOUT=3s
more() { [ "$(wc -l <"$log")" -gt "$((lines + 2))" ]; }
check "the plan is judged without a server that is lost" await $((40 * testlib_slower)) more
stop_service && not_ok "it is no success that a server was not reached"
check "and this is told" grep -q "server 1: " "$log.err"
other_is() { themis policy get 2>&1 | grep -q "^server 0: $1 "; }
check "the other one has the policy of before" other_is job-fair
echo "# $(jq -r 'select(.action == "restore") | .cause + ": " + .reason' "$log" | head -n 1)"
# shellcheck disable=SC2086 # a list
end_pids $scenario_pids
finish
