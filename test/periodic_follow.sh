#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The service `themis periodic follow`: it finds out what running jobs do, sets a plan for those that are periodic where that
# pays, and the policy from before when it does not any more.
# timeout: 240
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

# told FILTER: a line of the service for which the filter of jq holds; await SECONDS COMMAND...: until it succeeds.
told() { jq -se "any(.[]; $1)" "$log" >/dev/null; }
await() {
    left=$(($1 * 5 * testlib_slower))
    shift
    while ! "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.2
    done
}
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

start_servers 2 store-bandwidth=10m quantum=64k workers=2 size=512m "history=$history" history_interval=100ms history_update=500ms
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
rounds() { job "$1" mode=bsp rounds=24 think=1400000 file=7000000 request=1000000 depth=4 check=0; }
service first
scenario four 60 500
for name in one two three four; do rounds "$name"; done
check "the jobs are planned" await 40 told '.action == "plan"'
jq -s 'first(.[] | select(.action == "plan"))' "$log" >"$T/plan.json"
echo "# $(jq -r .reason "$T/plan.json")"
plan_is() { jq -e "$1" "$T/plan.json" >/dev/null || { cat "$T/plan.json" && false; }; }
check "with all four of them" plan_is '[.planned[].job] | sort == ["four", "one", "three", "two"]'
check "their computing time is found" plan_is 'all(.planned[]; .compute_s > 1.1 and .compute_s < 1.7)'
check "and what they write" plan_is 'all(.planned[]; .volume_bytes > 6e6 and .volume_bytes < 8e6)'
check "the plan is to gain something" plan_is '.planned_efficiency > 1.05 * .measured_efficiency'
check "the servers follow it" await 5 policy_is periodic-then-job-fair
check "and keep the chain of before" grep -q 'plan of 4 applications' "$T/srv0/log"
check "the service ends well at SIGTERM" stop_service
check "and says why the policy changes" told '.action == "restore" and .cause == "stopped" and .policy == "job-fair"'
check "the policy of before is back" policy_is job-fair
check "a dry run says what it would do" shows '^[-0-9: ]* dry run, ' follow --once --dry-run
check "and does nothing" policy_is job-fair

# --- another one takes over, and stays until the jobs end
service second
check "the jobs are planned again" await 40 told '.action == "plan"'
wait_jobs || not_ok "the jobs end well"
check "the policy of before comes back when a job ends" await 15 told '.action == "restore" and .cause == "job-ended"'
check "and is in force" await 5 policy_is job-fair
stop_service
check "the plan was seen to be in force" told '.cause == "holds" or .cause == "begins"'
better() {
    jq -se '(first(.[] | select(.action == "plan")).measured_efficiency) as $before |
        [.[] | select(.cause == "holds" and .measured_efficiency > 0).measured_efficiency] | length == 0 or last > 0.95 * $before' "$log"
}
check "and SysEff is no worse than under job-fair" better
echo "# SysEff: $(jq -r 'select(.action == "plan" or .cause == "holds") | [.cause, .measured_efficiency, .planned_efficiency] | join(" ")' "$log" | uniq | sed -n '1p;$p' | tr '\n' ';')"
finish
