#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Arenas that outlive their servers: a running job does not notice that these are killed at random and started again,
# with direct access and without. DURABLE_KILLS=N: as often, by default 20 times.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

kills=${DURABLE_KILLS:-20}
mkdir -p "$THEMIS_BUILD/test/adio"
program=$THEMIS_BUILD/test/adio/durable
mpicc.mpich -Wall -Werror -o "$program" "$THEMIS_SRC/test/adio/durable.c" || exit 1
gcc -O2 -fPIC -shared -o "$T/boot_shim.so" "$THEMIS_SRC/test/lib/boot_shim.c" -ldl || exit 1
export RESTART_DIRECTORY="$T"
server_preload=$(sanitizer_library)

# durable_options INDEX DIRECT: beside those of every server.
durable_options() {
    printf '%s ' --store arena --size 256m --directory "$T/arena$1" --state "$T/names$1" --stripe-size 64k --direct "$2"
}

# begin INDEX DIRECT: the server of that index; its process id is in $begun.
begin() {
    rm -f "$T/srv$1/port"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv$1" && LD_PRELOAD="$server_preload" exec themisd $(server_options "$1" "$THEMIS_SERVERS") \
        $(durable_options "$1" "$2")) </dev/null >>"$T/srv$1/log" 2>&1 &
    begun=$!
}

# begin_both DIRECT
begin_both() {
    free_port
    THEMIS_SERVERS=127.0.0.1:$testlib_port
    free_port
    THEMIS_SERVERS=$THEMIS_SERVERS,127.0.0.1:$testlib_port
    export THEMIS_SERVERS
    mkdir -p "$T/srv0" "$T/srv1"
    begin 0 "$1"
    testlib_servers=$begun
    begin 1 "$1"
    testlib_servers="$testlib_servers $begun"
    await_files 60 "$T/srv0/port" "$T/srv1/port"
}

# end_server INDEX: kill -9.
end_server() {
    pid=$(echo $testlib_servers | cut -d ' ' -f $(($1 + 1)))
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
}

# restart INDEX DIRECT: kills the server, and begins another one.
restart() {
    end_server "$1"
    begin "$1" "$2"
    testlib_servers=$(echo $testlib_servers | awk -v at=$(($1 + 1)) -v pid=$begun '{ $at = pid; print }')
    await_files 60 "$T/srv$1/port"
}

# job_under_kills DIRECT COUNT
job_under_kills() {
    rm -f "$T/done"
    limit 300 ranks 4 "$program" "$1" themis:/job-"$1" </dev/null &
    running=$!
    for pause in $(awk -v seed="$$" -v n="$2" 'BEGIN { srand(seed); for (i = 0; i < n; i++) print 0.05 + 0.5 * rand() }'); do
        sleep "$pause"
        kill -0 "$running" 2>/dev/null || break
        restart $(($(od -An -N1 -tu1 /dev/urandom) % 2)) "$1" || {
            show_servers
            break
        }
    done
    sleep 0.3
    : >"$T/done"
    wait "$running"
}

absent() { ! limit 20 themis ls "themis:/$1" >/dev/null 2>&1; }

for direct in on off; do
    rm -rf "$T/arena0" "$T/arena1" "$T/names1" "$T/earlier"
    [ ! -e "$T/names0" ] || mv "$T/names0" "$T/earlier" # of another store
    begin_both $direct || {
        not_ok "servers start"
        show_servers
        finish
    }
    head -c 3000000 /dev/urandom >"$T/data"
    check "direct access $direct: a file is written" limit 30 themis cp "$T/data" themis:/kept
    check "direct access $direct: and another one removed" limit 30 sh -c \
        "themis cp $T/data themis:/gone && themis rm themis:/gone"
    check "direct access $direct: a job goes on while servers are killed $((kills / 2)) times" \
        job_under_kills $direct $((kills / 2))
    check "direct access $direct: the file is there" limit 30 themis cp themis:/kept "$T/back"
    check "direct access $direct: with what was written" cmp "$T/data" "$T/back"
    check "direct access $direct: what was removed is not" absent gone
    rm -f "$T/back"
    end_server 0
    end_server 1
    testlib_servers=
done

# --- what is refused

mkdir "$T/srv2"
# refused TEXT OPTION...: the server does not start, and says so.
refused() {
    wanted=$1
    shift
    # shellcheck disable=SC2046 # words of a command
    timeout -k 5 $((20 * testlib_slower)) themisd --listen 127.0.0.1 --port 0 --count 1 --index 0 --size 256m "$@" \
        </dev/null >"$T/said" 2>&1 && return 1
    grep -qF -- "$wanted" "$T/said" || {
        cat "$T/said"
        return 1
    }
}
find "$T/arena0" "$T/names0" -type f -exec cksum {} + | sort >"$T/before"
check "an arena in a directory needs a state" refused "state" --directory "$T/arena0"
check "names of another store are refused" refused "do not belong together" --directory "$T/arena0" --state "$T/earlier"
check "and so are those without their arena" refused "do not belong together" --directory "$T/new" --state "$T/names0"
check "a posix store cannot use it" refused "holds the arena of server 0" --store posix --directory "$T/arena0" \
    --state "$T/names0"
find "$T/arena0" "$T/names0" -type f -exec cksum {} + | sort >"$T/after"
check "nothing was changed" cmp "$T/before" "$T/after"
finish
