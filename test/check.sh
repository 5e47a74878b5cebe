#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themis check finds what is wrong with names and objects, mends it, and leaves alone what is right.
# timeout: 900
. "$(dirname "$0")/lib/testlib.sh"

cuts=$THEMIS_BUILD/test/client/cuts

# kinds [OPTION...]: what is found, as "COUNT KIND PATH SERVER MENDED SETTLED" lines in order. Which one of two names stays
# depends on when their servers were started, and on which server a name is on its path.
kinds() {
    themis check --json "$@" >"$T/json" 2>"$T/json.notes"
    jq -r '.findings[] | "\(.kind) \(.path) \(if .kind == "orphan" then .server else "-" end) \(.mended) \(.settled)"' "$T/json" |
        sed -E 's/(%C3%A4|\/)+deep /deep /; s/ .(one|two) / one or two /; s/ .(three|four) / three or four /' |
        sort | uniq -c | sed 's/^ *//'
}

same() {
    printf '%s\n' "$1" >"$T/want"
    printf '%s\n' "$2" | diff "$T/want" -
}

# status N COMMAND...: it ends with that status.
status() {
    wanted=$1
    shift
    "$@"
    [ "$?" = "$wanted" ]
}

# wrong COUNT ORPHANS MENDED [EXTRA]: what kinds says of what "cuts break" and "cuts orphans" have made.
wrong() {
    echo "1 doubled one or two - $3 true
1 doubled three or four - $3 true
1 entry /no%20name - $3 true"
    [ "$2" = 0 ] || for server in $(seq 0 $(($1 - 1))); do echo "$2 orphan  $server $3 true"; done
    echo "1 unlisted /unlisted - $3 true
1 unlisted deep - $3 true
1 unlisted three or four - $3 true"
}

names() {
    themis find themis:/ -type f | sed -E 's/^themis://; s/^.(one|two)$/one or two/; s/^.(three|four)$/three or four/; s/^\/[^a-z]*deep$/deep/' | LC_ALL=C sort
}

# options STORE: of servers whose names and objects outlive them.
options() { echo "store=$1 state=names directory=objects size=256m"; }

# outliving COUNT STORE: what is found, also after all servers were started again, and mended.
outliving() {
    rm -rf "$T"/srv?
    for index in 0 1 2; do mkdir -p "$T/srv$index/objects"; done
    # both paths are in the directory of each server
    # shellcheck disable=SC2046 # words
    start_servers "$1" $(options "$2")
    sleep 4 # what is as old as the servers' names may have had another one
    check "$2, $1 servers: nothing is wrong where nothing is" limit 20 themis check
    limit 20 themis cp "$THEMIS_SRC/README.md" themis:/readme
    check "$2, $1 servers: nor with a file" limit 20 themis check --age 0
    check "$2, $1 servers: things go wrong" limit 60 "$cuts" break
    limit 60 "$cuts" orphans 300
    stop_servers
    # shellcheck disable=SC2046
    start_servers "$1" $(options "$2")
    sleep 11 # what servers mend themselves, and until an entry is one without a name
    check "$2, $1 servers: all that is wrong is found" same "$(wrong "$1" 301 false)" "$(kinds --age 0)"
    check "$2, $1 servers: objects without a name count when they are old" same "$(wrong "$1" 0 false)" "$(kinds --age 4000000000)"
    check "$2, $1 servers: it is mended" same "$(wrong "$1" 301 true)" "$(kinds --repair --age 0)"
    check "$2, $1 servers: nothing is left" await 20 themis check --age 0
    check "$2, $1 servers: nor gone" same '/readme
/unlisted
/whole
deep
one or two
three or four' "$(names)"
    check "$2, $1 servers: the bytes are there" limit 20 sh -c '{ themis cat themis:/two || themis cat themis:/one; } | grep -q AAAA'
    themis check >"$T/said"
    check "$2, $1 servers: it tells how much there is" grep -qE "^[0-9]+ names, [0-9]+ objects on $1 servers$" "$T/said"
    stop_servers
}

# Without waiting for what is not there.
unanswered() { THEMIS_TIMEOUT=3s limit 60 themis check "$@"; }

# kill_second: of three servers.
kill_second() {
    # shellcheck disable=SC2086 # a list of processes
    set -- $testlib_servers
    kill -9 "$2"
    wait "$2" 2>/dev/null
    testlib_servers="$1 $3"
}

begin_second() {
    rm -f "$T/srv1/port"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv1" && exec themisd $(server_options 1 "$THEMIS_SERVERS")) </dev/null >>"$T/srv1/log" 2>&1 &
    # shellcheck disable=SC2086 # a list of processes
    set -- $testlib_servers
    testlib_servers="$1 $! $2"
    await_files 60 "$T/srv1/port"
}

files() { for i in $(seq 12); do limit 20 themis "$@" "themis:/file$i" || return 1; done; }

# dies_between_looks: what was found until then is told, and not settled.
dies_between_looks() {
    (
        sleep 1
        kill_second
    ) &
    status 3 unanswered --age 0 >"$T/said"
    ended=$?
    wait "$!"
    [ "$ended" = 0 ] && grep -q 'object .*not settled' "$T/said"
}

# passing: servers whose names end with them.
passing() {
    rm -rf "$T"/srv?
    start_servers 3
    sleep 4
    files cp -q "$THEMIS_SRC/README.md" || return
    check "memory: nothing is wrong" limit 20 themis check --age 0
    limit 20 "$cuts" orphans 1
    sleep 3
    check "memory: a status says that something is wrong" status 1 themis check --age 0
    check "memory: a server that ends between two looks" dies_between_looks
    check "memory: one that is away" status 3 unanswered --age 0
    begin_second
    check "memory: objects stay whose names may be lost" status 1 limit 60 themis check --repair --age 0
    check "memory: the other names are listed" await 20 sh -c 'themis check --repair --age 0 --json | jq -e "[.findings[] | select(.mended)] == []"'
    check "memory: all of the others can be read" sh -c 'for path in $(themis find themis:/ -type f); do themis stat "$path" || exit 1; done'
    check "memory: they go by force" limit 60 themis check --repair --force --age 0
    stop_servers
}

# wandering: a file whose name moves all the time while others look.
wandering() {
    rm -rf "$T"/srv?
    for index in 0 1 2; do mkdir -p "$T/srv$index/objects"; done
    # shellcheck disable=SC2046
    start_servers 3 $(options posix)
    sleep 4
    "$cuts" wander 10 >"$T/wandered" 2>&1 &
    wanderer=$!
    while kill -0 "$wanderer" 2>/dev/null; do themis check --repair --age 0 >>"$T/wandered" 2>&1; done
    check "a file whose name moves while others mend has its bytes" wait "$wanderer" || sed 's/^/# /' "$T/wandered"
    stop_servers
}

check "--force alone is misuse" status 2 themis check --force
check "so is an age that is no number" status 2 themis check --age x
for count in 1 3; do
    for store in posix arena; do
        outliving $count $store
    done
done
passing
wandering
finish
