#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Servers that share by different policies, as after the restart of one: they notice it themselves, and themis tells.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

start_servers 2 lambda=100ms policy=job-fair
# shellcheck disable=SC2086 # a list of process ids
set -- $testlib_servers
second=$2
testlib_servers=$1

# holds COMMAND...: within 15 s; a command of themis lets the servers exchange their tables.
holds() {
    for _ in $(seq 60); do
        timeout 20 themis status >"$T/status" 2>"$T/note"
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.25
    done
    cat "$T/status" "$T/note" "$T"/srv*/log
    return 1
}
word='the servers share by different policies'
one() { timeout 20 themis status --json | jq -e "map(.server.sharing.differs) | $1"; }

timeout 20 themis policy set size-fair >/dev/null
check "one policy on all servers: nothing is said" sh -c "! themis status 2>&1 | grep '$word'"
sleep 2.5
check "nor by the servers" one 'all(. == "")'
kill -KILL "$second"
wait "$second" 2>/dev/null
rm "$T/srv1/port"
# shellcheck disable=SC2046 # words of a command
(cd "$T/srv1" && exec themisd $(server_options 1 "$THEMIS_SERVERS") --lambda=100ms --policy=job-fair) </dev/null >>"$T/srv1/log" 2>&1 &
second=$!
testlib_servers="$testlib_servers $second"
await_files 30 "$T/srv1/port"

check "status tells when one has restarted with another" sh -c "timeout 20 themis status 2>&1 >/dev/null | grep -q '^themis status: $word'"
check "so does policy" sh -c "timeout 20 themis policy 2>&1 >/dev/null | grep -q '^themis policy: $word'"
other='warning: server 1, 127.0.0.1:[0-9]*, shares by job-fair, this one by size-fair'
check "a server notices, and names the other" holds grep -q "$other" "$T/srv0/log"
check "so does the other" holds grep -q 'warning: server 0, 127.0.0.1:[0-9]*, shares by size-fair, this one by job-fair' "$T/srv1/log"
check "their state has it" one 'all(test("shares by (job|size)-fair"))'
check "policy set sets one on all" limit 20 themis policy set size-fair
check "then nothing is said" sh -c "! themis policy 2>&1 | grep '$word'"
check "and the servers see it" holds one 'all(. == "")'
sleep 1
check "they have said it once" [ "$(grep -c "$other" "$T/srv0/log")" = 1 ]
finish
