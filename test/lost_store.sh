#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A server that is started with empty directories beside the others: files that had bytes there are errors, in every way to
# read them, and never zeros or short; files that had none are whole.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
. "$(dirname "$0")/lib/answers.sh"

BYTES=$((5 << 20)) # stripes of 1 MiB on all of three servers
head -c "$BYTES" /dev/urandom >"$T/large"
head -c 1000 /dev/urandom >"$T/small"

# first_of PATH: the server that has the first stripe.
first_of() { themis stat --json "$1" | jq '.[0].layout.first'; }

# lose: server 1 is killed, and started again without what it had.
lose() {
    # shellcheck disable=SC2086 # a list of processes
    set -- $testlib_servers
    kill -9 "$2"
    wait "$2" 2>/dev/null
    rm -rf "$T/srv1/names" "$T/srv1/objects" "$T/srv1/port"
    mkdir "$T/srv1/objects"
    # shellcheck disable=SC2046 # words of a command
    (cd "$T/srv1" && LD_PRELOAD="$(sanitizer_library)" exec themisd $(server_options 1 "$THEMIS_SERVERS") \
        --store posix --state names --directory objects) </dev/null >>"$T/srv1/log" 2>&1 &
    testlib_servers="$1 $! $3"
    await_files 60 "$T/srv1/port"
}

mkdir -p "$T/srv0/objects" "$T/srv1/objects" "$T/srv2/objects"
start_servers 3 store=posix state=names directory=objects

# Names that the server keeps are gone with it, so some are made; large ones begin on each of the servers, small ones on
# those that stay.
large='' small='' others=''
for i in $(seq 12); do
    themis cp "$T/large" "themis:/large$i" && large="$large themis:/large$i"
    themis cp "$T/small" "themis:/small$i"
    if [ "$(first_of "themis:/small$i")" = 1 ]; then others="$others themis:/small$i"; else small="$small themis:/small$i"; fi
done
check "before that nothing is lost" test "$(themis ls -l themis:/ | grep -c 'bytes are lost')" = 0
lose

# there FILE...: those whose names are there still.
there() { for at in "$@"; do ! themis stat "$at" >/dev/null 2>&1 || echo "$at"; done; }
# shellcheck disable=SC2086 # lists of files
large=$(there $large) small=$(there $small) others=$(there $others)
check "names of other servers are there" test "$(echo "$large" | wc -l)" -ge 3 -a "$(echo "$small" | wc -l)" -ge 3

# all_lost COMMAND...: fails for each large file, and names file and server.
all_lost() {
    for at in $large; do
        refused_one "$at" "$@" "$at" || return 1
    done
}
refused_one() {
    of=$1
    shift
    if "$@" >"$T/out" 2>"$T/err"; then
        echo "$of: no error"
        return 1
    fi
    grep -q "${of#themis:}: .*server 127.0.0.1:.*gone" "$T/err" || { cat "$T/err" && return 1; }
}
small_same() { for at in $small; do themis cat "$at" | cmp - "$T/small" || return 1; done; }
check "the large files cannot be read" all_lost limit 30 themis cat
check "the small ones are whole" small_same
marked() { themis ls -l themis:/ | grep 'bytes are lost' | sed 's/ *(bytes.*//; s/.* /themis:\//' | sort; }
check "themis ls marks those that have lost bytes, and no others" test "$(marked)" = "$(printf '%s\n' $large $others | sort)"
check "themis stat counts the servers" json '.[0].lost_servers == 1' themis stat --json "$(echo "$large" | head -1)"
check "an MPI program is built" mpicc.mpich -o "$T/read_all" "$THEMIS_SRC/test/adio/read_all.c"
# each rank when it opens the file, or with each kind of read
mpi_read() {
    ranks 2 "$T/read_all" "$1" >"$T/mpi" 2>&1
    [ "$(grep -c 'gone' "$T/mpi")" = "$2" ] || { cat "$T/mpi" && return 1; }
}
for at in $large; do
    if [ "$(first_of "$at")" = 1 ]; then
        check "an MPI program cannot open $at" mpi_read "$at" 2
    else
        check "an MPI program cannot read $at" mpi_read "$at" 4
    fi
done

one=$(echo "$large" | sed -n 1p) two=$(echo "$large" | sed -n 2p) three=$(echo "$large" | sed -n 3p)
check "one can be written anew" sh -c 'themis cp "$1" "$2" && themis cat "$2" | cmp - "$1"' sh "$T/large" "$one"
check "one can be renamed, and is marked still" sh -c 'themis mv "$1" themis:/moved && themis ls -l themis:/moved | grep -q "bytes are lost"' sh "$two"
check "one can be removed" sh -c 'themis rm "$1" && ! themis stat "$1" 2>/dev/null' sh "$three"
check "new files are as before" sh -c 'themis cp "$1" themis:/new && themis cat themis:/new | cmp - "$1"' sh "$T/large"

# --- through a mount

if [ -e /dev/fuse ] && themis mount "$T" 2>&1 | grep -qv 'built without FUSE'; then
    . "$(dirname "$0")/lib/mountlib.sh"
    mount_at "$T/m"
    check "in a mount it is an error to read" sh -c '! cat "$1/m/moved" >/dev/null 2>"$1/err" && grep -q "Input/output" "$1/err"' sh "$T"
    check "also for those who trust the size" sh -c '! tar -cf "$1/tar" -C "$1/m" moved 2>/dev/null' sh "$T"
    check "it can be written anew" sh -c 'cat "$1/large" >"$1/m/moved" && cmp "$1/large" "$1/m/moved"' sh "$T"
    unmount_all
fi
stop_servers
finish
