#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command `themis` where servers are dead or hang: soon, and with words that say which.
# alone
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"
start_servers 3
case ${THEMIS_VARIANT-} in
asan | tsan) skip "dead servers" "times are those of a normal build" && finish ;;
esac
unset THEMIS_TIMEOUT

# within MS STATUS WORDS COMMAND...: it ends so, within that time, and its output has these words.
within() {
    most=$1 wanted=$2 words=$3 got=0
    shift 3
    began=$(date +%s%3N)
    timeout 30 "$@" </dev/null >"$T/out" 2>&1 || got=$?
    took=$(($(date +%s%3N) - began))
    [ "$took" -le "$most" ] && [ "$got" = "$wanted" ] && grep -q -e "$words" "$T/out" && return 0
    echo "$took ms, status $got"
    cat "$T/out"
    return 1
}

free_port
check "a list of servers that are not there" within 1000 1 "no server of 127.0.0.1:$testlib_port answered" env "THEMIS_SERVERS=127.0.0.1:$testlib_port" themis ls
without_servers() (
    began=$(date +%s%3N)
    ! THEMIS_SERVERS=127.0.0.1:$testlib_port limit 30 ranks 2 "$THEMIS_BUILD/examples/cube" --size 8 themis:/f >"$T/out" 2>&1 &&
        took=$(($(date +%s%3N) - began)) && [ "$took" -lt 4000 ] && grep -q "no server of .* answered.*connection refused" "$T/out" && return 0
    echo "$took ms" && cat "$T/out" && return 1
)
check "nor does a program of MPI wait for them" without_servers
check "THEMIS_TIMEOUT waits longer" sh -c 'began=$(date +%s); THEMIS_TIMEOUT=3s THEMIS_SERVERS=$1 timeout 20 themis ls; [ $(($(date +%s) - began)) -ge 2 ]' sh "127.0.0.1:$testlib_port"
for i in 1 2 3 4 5 6 7 8; do timeout 20 themis mkdir "themis:/d$i"; done

# The home of the root directory stays: the others are tried.
dead=
for i in 0 1 2; do
    kill -STOP "$(echo $testlib_servers | cut -d ' ' -f $((i + 1)))"
    if [ -z "$dead" ] && THEMIS_TIMEOUT=1s timeout 20 themis stat themis:/ >/dev/null 2>&1; then dead=$i; fi
    kill -CONT "$(echo $testlib_servers | cut -d ' ' -f $((i + 1)))"
done
address=$(echo "$THEMIS_SERVERS" | cut -d, -f $((dead + 1)))
pid=$(echo $testlib_servers | cut -d ' ' -f $((dead + 1)))
kill -STOP "$pid"
check "status with one that hangs" within 1500 1 "^  $dead  $address  *DOWN" themis status
kill -CONT "$pid"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
check "status with one dead server" within 1000 1 "^  $dead  $address  *DOWN" themis status
check "shows the others" [ "$(grep -c ' arena ' "$T/out")" = 2 ]
# since: as the others have missed it, which they notice when they send it something.
since() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        timeout 20 themis status >"$T/out" 2>&1
        ! grep -q "^  $dead  $address  *DOWN since $(date +%Y)-[0-9-]* [0-9:]*: it accepts no connection" "$T/out" || return 0
        sleep 0.5
    done
    cat "$T/out"
    return 1
}
check "and since when it is down" since
lasts() { timeout 20 themis status --json | jq -e "[.[] | select(.reachable | not)][0].down_since_s as \$since | now - \$since > $1 and now - \$since < 60"; }
sleep 1.5
check "a time that does not move" lasts 1.4
check "as JSON, too" sh -c 'themis status --json | jq -e "map(select(.reachable | not)) | length == 1 and .[0].address == \"$1\""' sh "$address"
check "ls of what is there" within 1500 1 "server $address is DOWN: what it holds is missing" themis ls
check "says that once" [ "$(grep -c DOWN "$T/out")" = 1 ]
check "with every name" [ "$(grep -c '^d[1-8]/$' "$T/out")" = 8 ]
check "ls of two directories" within 3000 1 "themis:/: of [1-9][0-9]* entries only the names are known" themis ls themis:/ themis:/
check "says that a server is missing once, too" [ "$(grep -c DOWN "$T/out")" = 1 ]
stop_servers

# Servers without jobs look after each other as often as clients send heartbeats.
start_servers 2 heartbeat=1s
know_each_other() { timeout 20 themis status --json | jq -e 'all(.[].server; .servers_known == 2)'; }
await 20 know_each_other
sleep 1
died=$(date +%s)
kill -KILL "${testlib_servers##* }"
wait "${testlib_servers##* }" 2>/dev/null
check "an idle server says within two heartbeats that another one is gone" await 3 grep -q "server ${THEMIS_SERVERS#*,} cannot be reached" "$T/srv0/log"
sleep 1
down_at() { timeout 20 themis status --json | jq -e --argjson died "$died" 'map(select(.reachable | not))[0].down_since_s | . >= $died and . <= $died + 3'; }
check "since then it is down, and not since somebody asks" down_at
check "top names it" within 3000 0 "^  1 ${THEMIS_SERVERS#*,} *DOWN since" themis top --once
check "so does jobs" within 3000 1 "server 1, ${THEMIS_SERVERS#*,}, is down since" themis jobs
finish
