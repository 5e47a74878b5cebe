#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Servers that lost their data or have no file descriptors left, and names of maximum length, as users see them.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

# dirs, files: numbers of the directories, and of the files in each.
dirs=$(seq 1 8) files=$(seq 1 6)

# restart INDEX: that server is killed and started again at its address, empty.
restart() {
    pid=$(echo $testlib_servers | cut -d ' ' -f $(($1 + 1)))
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    rm -f "$T/srv$1/port"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv$1" && exec themisd $(server_options "$1" "$THEMIS_SERVERS")) </dev/null >>"$T/srv$1/log" 2>&1 &
    testlib_servers=$(echo $testlib_servers | awk -v at=$(($1 + 1)) -v pid=$! '{ $at = pid; print }')
    await_files 60 "$T/srv$1/port"
}

fill() {
    head -c 3000000 /dev/zero >"$T/block"
    for d in $dirs; do
        limit 20 themis mkdir "themis:/d$d" || return 1
        for f in $files; do
            limit 20 themis cp "$T/block" "themis:/d$d/f$f" || return 1
        done
    done
}

# left: the directories that still have attributes.
left() {
    for d in $dirs; do
        ! limit 20 themis stat "themis:/d$d" >/dev/null 2>&1 || echo "themis:/d$d"
    done
}

# lists DIRECTORY: ls shows exactly the files that stat finds; counts them in $shown.
lists() {
    limit 20 themis ls "$1" >"$T/shown" && limit 20 themis ls -l "$1" >"$T/long" || return 1
    : >"$T/known"
    for f in $files; do
        ! limit 20 themis stat "$1/f$f" >/dev/null 2>&1 || echo "f$f" >>"$T/known"
    done
    diff "$T/known" "$T/shown" && [ "$(wc -l <"$T/long")" = "$(wc -l <"$T/known")" ] || return 1
    shown=$((shown + $(wc -l <"$T/shown"))) all=$((all + 6))
}

lists_all() {
    shown=0 all=0
    for directory in $(left); do lists "$directory" || return 1; done
    echo "$shown of $all files"
    [ "$shown" -gt 0 ] && [ "$shown" -lt "$all" ]
}

# read_all: files that are left are whole, or an error says that their data are gone.
read_all() {
    for directory in $(left); do
        for f in $(limit 20 themis ls "$directory"); do
            if limit 20 themis cat "$directory/$f" >"$T/read" 2>"$T/err"; then
                cmp "$T/read" "$T/block" || return 1
            else
                grep -q 'are gone' "$T/err" || { cat "$T/err" && return 1; }
            fi
        done
    done
}

make_again() {
    for directory in $(left); do
        for f in $files; do limit 20 themis cp "$T/block" "$directory/f$f" || return 1; done
        [ "$(limit 20 themis ls "$directory" | wc -l)" = 6 ] || return 1
    done
}

remove_all() {
    # shellcheck disable=SC2046 # a list
    limit 60 themis rm -r $(left) && [ -z "$(left)" ]
}

start_servers 2
check "files on two servers" fill
check "one of them is restarted empty" restart 1
check "ls shows files that are left, and no name without a file" lists_all
check "files that are left are whole, or an error" read_all
check "and removed" remove_all
check "the directories can be created and filled again" fill
check "one is restarted empty once more" restart 1
check "files can be created again under names that lost theirs" make_again
check "and removed" remove_all

# --- long names

name=$(printf '%255s' '' | tr ' ' n)
part=$(printf '%250s' '' | tr ' ' p)
path=themis:
for _ in $(seq 16); do path=$path/$part; done # 16 x 251 = 4016
tail=$(printf '%79s' '' | tr ' ' t)            # with a slash the last 80 of 4096
echo words >"$T/words"
long_path() {
    limit 60 themis mkdir -p "$path" && limit 20 themis cp "$T/words" "$path/$tail" &&
        [ "$(limit 20 themis cat "$path/$tail")" = words ] && [ "$(limit 20 themis ls "$path")" = "$tail" ] &&
        ! limit 20 themis cp "$T/words" "$path/${tail}x" 2>"$T/err" && grep -q 'too long' "$T/err" &&
        limit 60 themis rm -r "themis:/$part"
}
long_name() {
    limit 20 themis cp "$T/words" "themis:/$name" && [ "$(limit 20 themis cat "themis:/$name")" = words ] &&
        [ "$(limit 20 themis ls | grep n)" = "$name" ] && limit 20 themis mv "themis:/$name" "themis:/${name%n}m" &&
        limit 20 themis rm "themis:/${name%n}m"
}
check "a name of 255 bytes" long_name
check "a path of 4096 bytes, but not of 4097" long_path
stop_servers

# --- more clients than a server has open files for

if [ -n "${THEMIS_VARIANT-}" ]; then
    skip "more clients than a server can take" "a plain program cannot link a sanitized library"
    finish
fi
gcc -Wall -Werror -I"$THEMIS_PREFIX/include" -o "$T/crowd" "$THEMIS_SRC/test/client/crowd.c" -L"$THEMIS_PREFIX/lib" \
    -Wl,-rpath,"$THEMIS_PREFIX/lib" -lthemis || exit 1
few_files() { ulimit -n 96 && exec "$@"; } # spawn gives it a process, which becomes the server
start_few() {
    free_port
    export THEMIS_SERVERS=127.0.0.1:$testlib_port
    # shellcheck disable=SC2046 # words of a command
    spawn few_files themisd --listen 127.0.0.1 --port "$testlib_port" --size 64m --warm 0 --port-file "$T/few" 2>"$T/few.log"
    await_files 60 "$T/few"
}
check "a server with few open files" start_few
# Connected clients are served, and there is room again when they have disconnected.
crowd() {
    THEMIS_TIMEOUT=4s limit 100 "$T/crowd" 100 >"$T/out" || return 1
    cat "$T/out"
    [ "$(sed -n 1p "$T/out")" -lt 100 ] && sed -n 2p "$T/out" | grep -q -e 'refused by server' -e 'timed out'
}
check "it refuses clients beyond the limit, and serves the others" crowd
check "and logs it" grep -q 'new connections are refused: this process may have 96 open files' "$T/few.log"
# silent: 120 TCP connections that say nothing, for 3 s.
silent() {
    limit 30 python3 -c 'import socket, sys, time
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(120)]
time.sleep(3)' "${THEMIS_SERVERS#*:}"
}
check "120 connections are silent" silent
log_bytes=$(wc -c <"$T/few.log")
check "of which the log tells in a few lines" test "$log_bytes" -lt 100000
check "and a client is served afterwards" limit 30 themis ls themis:/
finish
