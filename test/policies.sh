#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Which policy servers share by: the one that was set last, also after restarts and where one was away; and what is told
# where configurations differ. Nothing here does I/O, so the servers have no jobs but those of the questions.
# timeout: 180
. "$(dirname "$0")/lib/testlib.sh"
. "$(dirname "$0")/lib/answers.sh"

# begin INDEX OPTION...: starts server INDEX of the list.
begin() {
    index=$1
    shift
    rm -f "$T/srv$index/port"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv$index" && exec themisd $(server_options "$index" "$THEMIS_SERVERS") --lambda=100ms --heartbeat=500ms "$@") \
        </dev/null >>"$T/srv$index/log" 2>&1 &
    testlib_servers="$testlib_servers $!"
    await_files 30 "$T/srv$index/port"
}
# server_end INDEX SIGNAL
server_end() {
    # shellcheck disable=SC2086 # a list of process ids
    set -- $1 $2 $testlib_servers
    index=$1 signal=$2
    shift 2
    [ "$index" = 0 ] || shift
    kill "-$signal" "$1"
    wait "$1" 2>/dev/null
    testlib_servers=$(echo " $testlib_servers " | sed "s/ $1 / /")
}
has_policy() { timeout 20 themis status --json | jq -e --arg p "$2" ".[$1].server.sharing.policy == \$p"; }
both_have() { has_policy 0 "$1" && has_policy 1 "$1"; }
word='the servers share by different policies'
one() { timeout 20 themis status --json | jq -e "map(.server.sharing.differs) | $1"; }

start_servers 2 lambda=100ms heartbeat=500ms policy=job-fair
timeout 20 themis policy set size-fair >/dev/null
check "one policy on all servers: nothing is said" sh -c "! themis status 2>&1 | grep '$word'"
server_end 1 KILL
begin 1 --policy=job-fair
check "a server that has restarted takes what was set before" await 10 both_have size-fair
check "and says whose policy that is" grep -q 'policy size-fair set by server 0, where it was set later; it was job-fair' "$T/srv1/log"
server_end 1 KILL
check "a policy that one server does not hear of" outcome 1 themis policy set user-fair
begin 1 --policy=job-fair
check "it learns when it is back" await 10 both_have user-fair
check "nobody has told of a difference" sh -c "! grep 'shares by' '$T'/srv*/log"
stop_servers

start_servers 2 lambda=100ms heartbeat=500ms policy=size-fair
server_end 1 KILL
begin 1 --policy=job-fair
check "configurations that differ: status tells" sh -c "timeout 20 themis status 2>&1 >/dev/null | grep -q '^themis status: $word'"
check "so does policy" sh -c "timeout 20 themis policy 2>&1 >/dev/null | grep -q '^themis policy: $word'"
other='warning: server 1, 127.0.0.1:[0-9]*, shares by job-fair, this one by size-fair'
check "a server without jobs notices, and names the other" await 15 grep -q "$other" "$T/srv0/log"
check "so does the other" await 15 grep -q 'warning: server 0, 127.0.0.1:[0-9]*, shares by size-fair, this one by job-fair' "$T/srv1/log"
check "their state has it" one 'all(test("shares by (job|size)-fair"))'
check "policy set sets one on all" limit 20 themis policy set size-fair
check "then nothing is said" sh -c "! themis policy 2>&1 | grep '$word'"
check "and the servers see it" await 15 one 'all(. == "")'
sleep 1
check "they have said it once" [ "$(grep -c "$other" "$T/srv0/log")" = 1 ]
stop_servers

# --- with databases that outlive the servers
states() { begin 0 --state "$T/state0" --directory "$T/data0" --store posix "$@" && begin 1 --state "$T/state1" --directory "$T/data1" --store posix "$@"; }
mkdir "$T/state0" "$T/state1" "$T/data0" "$T/data1"
states --policy=job-fair
timeout 20 themis policy set group-fair >/dev/null
server_end 1 KILL
server_end 0 KILL
states --policy=job-fair
check "what was set outlives all servers" both_have group-fair
check "their logs say so" grep -q 'policy group-fair set by what was set before the restart; it was job-fair' "$T/srv0/log"
server_end 0 TERM
begin 0 --state "$T/state0" --directory "$T/data0" --store posix --policy=fifo
check "a configuration that has changed counts, for all" await 10 both_have fifo
timeout 20 themis policy set user-fair >/dev/null
stop_servers
testlib_servers=
begin 0 --state "$T/state0" --directory "$T/data0" --store posix --policy=fifo
begin 1 --state "$T/state1" --directory "$T/data1" --store posix --policy=job-fair
check "what is set later counts again" both_have user-fair
stop_servers
testlib_servers=

# Nothing was ever set, and the file of one server changes.
rm -rf "$T"/state? "$T"/data?
mkdir "$T/state0" "$T/state1" "$T/data0" "$T/data1"
printf '[sharing]\npolicy = job-fair\n' >"$T/themis.conf"
states -c "$T/themis.conf"
check "the file's policy" both_have job-fair
server_end 0 TERM
printf '[sharing]\npolicy = size-fair\n' >"$T/themis.conf"
begin 0 -c "$T/themis.conf" --state "$T/state0" --directory "$T/data0" --store posix
check "a first change of the file is seen at the next start, and counts for all" await 10 both_have size-fair
finish
