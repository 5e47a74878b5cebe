#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The allocation service of a server: decisions from the servers' history, what is in force, who may end it, what survives kill -9,
# leases, servers that are slow, and themis run --allocate.
# timeout: 500
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"

user=$(id -u)
history=$T/history
mkdir -p "$history/$user"

# record APPLICATION JOB NODES START BYTES SHARING PEAK: a line of the history
record() {
    printf '{"application":"%s","user":%s,"job":"%s","nodes":%s,"io_nodes":%s,"start":%s,"end":%s,"read_bytes":0,"written_bytes":%s,' \
        "$1" "$user" "$2" "$3" "$3" "$4" "$(($4 + 100))" "$5"
    printf '"requests":1000,"metadata_operations":9,"metadata_waiting":1.0,"sharing":"%s","peak_bandwidth":%s}\n' "$6" "$7"
}
{
    record wide 1 8 1000 30000000000 N-N 400000000
    record shared 2 1 1000 1000000 N-1 1000000
    record calm 3 1 1000 1000000 1-1 1000000
    echo '{"application": "broken"}'
    echo 'no record'
} >"$history/$user/s0-1000.jsonl"
# half of a run of two servers each
for server in s1 s2; do record halves 4 8 2000 15000000000 N-N 300000000 >"$history/$user/$server-1000.jsonl"; done

servers=6
site() {
    cat <<EOF
[servers]
servers = $(echo "$THEMIS_SERVERS" | tr , ' ')
default_servers = 2
nodes_per_server = 4
server_bandwidth = 200000000
node_bandwidth = 100000000
EOF
}
# The first server has the service. Its options are in $T/service; it is started again by service_start.
start_servers $servers lambda=200ms "$@"
all=$THEMIS_SERVERS
name() { echo "$all" | cut -d, -f$(($1 + 1)); }
site >"$T/site.ini"
check "without the key there is no service" refused 1 "none of the servers has the allocation service" limit 30 themis allocate --application wide --nodes 0-7
first_pid=$(echo "$testlib_servers" | awk '{ print $1 }')
others=$(echo "$testlib_servers" | cut -d' ' -f3-)
end_pids "$first_pid"
# service_start [OPTION...]
service_start() {
    rm -f "$T/srv0/port"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv0" && exec themisd $(server_options 0 "$all") --lambda 200ms --state "$T/state" --allocate "$T/site.ini" --allocate-history "$history" "$@") \
        </dev/null >>"$T/srv0/log" 2>&1 &
    service=$!
    testlib_servers="$service $others"
    await_files 60 "$T/srv0/port"
}
check "the service starts" service_start
allocate() { limit 30 themis allocate "$@"; }
# id: of the allocation that was printed last
id() { sed -n 's/^THEMIS_ALLOCATION=//p' "$T/out"; }

# --- decisions

check "an application that needs more servers" shows '^# scaled, 4 servers' allocate --application wide --nodes 0-7
check "its servers are spare ones" grep -qx "THEMIS_PLACEMENT=$(name 2),$(name 3),$(name 4),$(name 5)" "$T/out"
check "a shell can evaluate it" sh -c 'eval "$(cat "$1")" && [ -n "$THEMIS_PLACEMENT" ] && [ "$THEMIS_ALLOCATION" -gt 1000 ]' sh "$T/out"
wide=$(id)
check "a new application has its default server" shows '^# The application is new' allocate --application novel --nodes 4
novel=$(id)
check "and that alone" grep -qx "THEMIS_PLACEMENT=$(name 1)" "$T/out"
check "what is in force is not given again" json ".decision == \"default\" and .servers == [\"$(name 0)\", \"$(name 1)\"] and .idle_servers == 1" \
    allocate --json --application wide --nodes 0-7
default=$(jq .id "$T/out")
check "it is listed" json ".allocations | map(.id) == [$wide, $novel, $default]" allocate --list --json
check "also as text" shows "^$wide .* wide .*$(name 2)" allocate --list
check "release" allocate --release "$wide"
check "what is released is given again" shows '^# scaled, 4 servers' allocate --application wide --nodes 0-7
again=$(id)
for one in $again $novel $default; do allocate --release "$one"; done
check "one with a shared file beside others has servers of its own" sh -c 'themis allocate --application calm --nodes 0 >"$1/1" && themis allocate --json --application shared --nodes 0 >"$1/2" &&
    jq -e ".decision == \"dedicated\" and .classes == \"N-1 file\" and .neighbours == 1" "$1/2"' sh "$T"
allocate --release "$(sed -n 's/^THEMIS_ALLOCATION=//p' "$T/1")"
check "which no other gets" json ".servers == [\"$(name 0)\"]" allocate --json --application calm --nodes 0
allocate --release "$(jq .id "$T/out")"
allocate --release "$(jq .id "$T/2")"
check "a second release" refused 1 "no allocation $wide" allocate --release "$wide"
check "records of two servers are one run" json '.records == 1 and .wanted_servers == 4 and (.reason | test("30 GB from 8 nodes"))' \
    allocate --json --application halves --nodes 0-7
allocate --release "$(jq .id "$T/out")"
check "hosts are known by the numbers in their names" json '.nodes == 3 and .default_servers == 2' allocate --json --application x --nodes 'io[2-4].site'
allocate --release "$(jq .id "$T/out")"
record late 9 8 5000 30000000000 N-N 400000000 >>"$history/$user/s0-1000.jsonl"
late() {
    allocate --json --application late --nodes 0-7 >"$T/late" || return 1
    allocate --release "$(jq .id "$T/late")"
    jq -e '.records == 1' "$T/late"
}
check "what is appended to the history counts soon" await 20 late

# --- mistakes

check "nodes that are none" refused 2 "ascending order" allocate --application x --nodes 5,4
check "a lease that is none" refused 2 "not a time" allocate --application x --nodes 1 --lease never
check "too much at once" refused 2 usage allocate --application x --nodes 1 --list
check "not an id" refused 2 "not the number" allocate --release x
check "nothing at all" refused 2 usage allocate

# --- who may

if [ "$user" = 0 ] && chmod 711 "$T" && setpriv --reuid 1 --regid 1 --clear-groups test -x "$THEMIS_PREFIX/bin/themis"; then
    as_user() { limit 30 setpriv --reuid 1 --regid 1 --clear-groups themis allocate "$@"; }
    allocate --application wide --nodes 0-7 >"$T/out"
    wide=$(id)
    check "another user's runs do not count" json '.decision == "default" and .eligibility == "new"' as_user --json --application wide --nodes 0-7
    theirs=$(jq .id "$T/out")
    check "users see their own" json ".allocations | map(.id) == [$theirs]" as_user --list --json
    check "they do not end others'" refused 1 "no allocation $wide" as_user --release "$wide"
    check "nor renew them" refused 1 "no allocation $wide" as_user --renew "$wide"
    check "nor allocate for others" refused 1 "only administrators" as_user --application x --nodes 1 --user 0
    check "an administrator ends any" allocate --release "$theirs"
    check "and allocates for a user" json '.id > 0' allocate --json --application x --nodes 1 --user 1
    check "who ends it" as_user --release "$(jq .id "$T/out")"
    allocate --release "$wide"
else
    skip "rights" "it needs root, and a tree that other users can read"
fi

# --- leases and restarts

allocate --application wide --nodes 0-7 --lease 2s >"$T/out"
short=$(id)
allocate --application calm --nodes 0 --lease 1h >"$T/out"
long=$(id)
kill -9 "$service"
wait "$service" 2>/dev/null
check "the service starts again" service_start
check "allocations are there still" json ".allocations | map(.id) | index($long) != null" allocate --list --json
gone() { allocate --list --json >"$T/list" && jq -e "(.allocations | map(.id) | index($short)) == null" "$T/list"; }
check "one ends with its lease" await 10 gone
check "the other one is renewed" json ".id == $long and .expires - now > 7000" allocate --renew "$long" --lease 2h --json
check "and released" allocate --release "$long"
check "nothing is left" json '.allocations == []' allocate --list --json

# --- programs

head -c 3000000 /dev/urandom >"$T/bytes"
export THEMIS_NODES=8
check "themis run allocates" prints "$(name 2),$(name 3),$(name 4),$(name 5)" env THEMIS_APPLICATION=wide THEMIS_JOB=j timeout 60 themis run -q --allocate --nodes 0-7 sh -c 'echo $THEMIS_PLACEMENT'
check "and releases" json '.allocations == []' allocate --list --json
check "its files are there" env THEMIS_APPLICATION=wide timeout 60 themis run -q --allocate --nodes 0-7 sh -c 'themis cp "$1" themis:/wide && themis stat --json themis:/wide' sh "$T/bytes"
check "on the servers of the allocation" sh -c 'themis stat --json themis:/wide | jq -e "if type == \"array\" then .[0] else . end | .layout.count == 4 and .layout.first == 2"'
check "it releases after a failure" outcome 3 timeout 60 themis run -q --allocate --nodes 0-7 sh -c 'exit 3'
check "nothing is left after that" json '.allocations == []' allocate --list --json
THEMIS_APPLICATION=wide spawn themis run -q --allocate --nodes 0-7 sleep 60
runner=$!
one() { allocate --list --json >"$T/list" && jq -e '.allocations | length == 1' "$T/list"; }
none_left() { allocate --list --json >"$T/list" && jq -e '.allocations | length == 0' "$T/list"; }
check "while it runs it is in force" await 20 one
kill -TERM "$runner"
check "and ends with a signal" await 20 none_left
THEMIS_APPLICATION=wide spawn themis run -q --allocate --nodes 0-7 --lease 3s sleep 12
runner=$!
check "a short lease" await 20 one
sleep 5
check "is renewed while the command runs" one
kill -TERM "$runner"
await 20 none_left
check "what cannot be asked for is known before the command runs" refused 2 "ascending order" limit 30 themis run -q --allocate --nodes 5,4 touch "$T/ran"
check "so is a lease" refused 2 "not a time" limit 30 themis run -q --allocate --lease never touch "$T/ran"
check "and nothing is run" sh -c '! [ -e "$1" ]' sh "$T/ran"
check "an allocation that is there is used" prints "$(name 2) 7" env THEMIS_ALLOCATION=7 "THEMIS_PLACEMENT=$(name 2)" timeout 60 themis run -q --allocate sh -c 'echo $THEMIS_PLACEMENT $THEMIS_ALLOCATION'
allocate --application calm --nodes 0 --job mine >"$T/out"
check "release by job" json '.released == 1' allocate --release-job mine --json
check "also of none" json '.released == 0' allocate --release-job mine --json
THEMIS_APPLICATION=wide spawn themis run --allocate --nodes 0-7 --lease 3s sleep 6 2>"$T/gone"
runner=$!
check "one more short lease" await 20 one
allocate --release "$(jq '.allocations[0].id' "$T/list")"
wait "$runner"
check "one that was ended is told once" sh -c '[ "$(grep -c "has ended" "$1")" = 1 ]' sh "$T/gone"
THEMIS_APPLICATION=wide spawn themis run -q --allocate --nodes 0-7 --lease 2s -- sh -c 'trap ": >\"$1/ended\"; exit 0" TERM; while :; do sleep 0.1; done' sh "$T" 2>/dev/null
runner=$!
check "one whose service does not answer" await 20 one
kill -STOP "$service"
sleep 2
kill -TERM "$runner"
check "the command has its signal in time" await 6 test -e "$T/ended"
left() { ! kill -0 "$runner" 2>/dev/null; }
check "and the end is not waited for" await 12 left
kill -CONT "$service"
check "what could not be released ends with its lease" await 20 none_left
check "with servers of its own there is nothing to allocate" refused 2 "allocate" limit 30 themis run -q -s 1 --allocate true

# --- what jobs do

# a job without an allocation writes to all servers
spawn env THEMIS_JOB=busy THEMIS_APPLICATION=busy sh -c 'for i in $(seq 200); do themis cp "$1" themis:/busy$((i % 7)) || exit; done' sh "$T/bytes"
busy_pid=$!
used() {
    allocate --json --application wide --nodes 0-7 >"$T/used" || return 1
    allocate --release "$(jq .id "$T/used")"
    jq -e '.idle_servers == 0 and .neighbours >= 1' "$T/used"
}
check "servers that a job without an allocation uses are not idle" await 30 used
kill "$busy_pid" 2>/dev/null

# --- slow servers

head -c 40000000 /dev/urandom >"$T/load"
# Each server has a client of its own, so that none waits for the slow one.
stop_servers
for i in 0 1 2 3 4 5; do
    # limited INDEX LIMIT: starts that server
    limited() {
        rm -f "$T/srv$1/port"
        # shellcheck disable=SC2046,SC2086 # words of a command
        (cd "$T/srv$1" && exec themisd $(server_options "$1" "$all") --lambda 200ms --direct off --store-bandwidth "$2" $3) </dev/null >>"$T/srv$1/log" 2>&1 &
        limited_pid=$!
        testlib_servers="$testlib_servers $limited_pid"
        await_files 60 "$T/srv$1/port"
    }
    case $i in
    0) limited 0 4m "--state $T/state --allocate $T/site.ini --allocate-history $history" ;;
    3) limited 3 400k && slow_pid=$limited_pid ;;
    *) limited "$i" 4m ;;
    esac
done
for i in 0 1 2 3 4 5; do
    spawn env "THEMIS_JOB=load$i" "THEMIS_PLACEMENT=$(name "$i")" THEMIS_TIMEOUT=20s sh -c 'while [ -e "$1" ]; do timeout 60 themis cp "$1" "themis:/load$2"; done' sh "$T/load" "$i" 2>/dev/null
done
slow_is() { allocate --list --json >"$T/list" && jq -ce "$1" "$T/list"; }
check "a slow server is noticed" await 150 slow_is ".anomalous == [\"$(name 3)\"]" || { cat "$T/list" "$T/srv0/log"; }
check "it is not allocated" json ".servers | index(\"$(name 3)\") == null" allocate --json --application calm --nodes 0-7
check "and the log says so" grep -q "server $(name 3) is much slower" "$T/srv0/log"
end_pids "$slow_pid"
testlib_servers=$(echo " $testlib_servers " | sed "s/ $slow_pid / /")
limited 3 4m
check "one that is healed is used again" await 150 slow_is '.anomalous == []' || { cat "$T/list"; }
rm "$T/load"
finish
