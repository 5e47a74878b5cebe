#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a posix server does with its disk: what a sync syncs, and full file systems below the names.
# timeout: 240
. "$(dirname "$0")/lib/testlib.sh"
gcc -O2 -fPIC -shared -o "$T/disk_shim.so" "$THEMIS_SRC/test/lib/disk_shim.c" -ldl || exit 1

# start_on_disk NAMES OBJECTS: a server with the shim.
start_on_disk() {
    shim_before=$(sanitizer_library)
    export LD_PRELOAD="${shim_before:+$shim_before:}$T/disk_shim.so" DISK_SHIM_SYNCS="$T/syncs" DISK_SHIM_FULL="$T/full"
    start_servers 1 store=posix "state=$1" "directory=$2"
    unset LD_PRELOAD DISK_SHIM_SYNCS DISK_SHIM_FULL
}

# directories: those that were synced, below the objects' directory, without repetition.
directories() { sed -n "s|^$T/objects|objects|p" "$T/syncs" | sort -u; }

# has_failed TEXT COMMAND...: it fails, and says so.
has_failed() {
    wanted=$1
    shift
    if timeout -k 5 $((20 * testlib_slower)) "$@" >"$T/said" 2>&1; then
        echo "it succeeded"
        return 1
    fi
    grep -qF -- "$wanted" "$T/said" || {
        cat "$T/said"
        return 1
    }
}

# until_works SECONDS COMMAND...
until_works() {
    tries=$(($1 * 2 * testlib_slower))
    shift
    until timeout -k 5 $((20 * testlib_slower)) "$@" >"$T/said" 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || {
            cat "$T/said"
            return 1
        }
        sleep 0.5
    done
}

is_running() {
    # shellcheck disable=SC2086 # one process
    kill -0 $testlib_servers
}

# --- what a sync syncs

mkdir "$T/objects"
start_on_disk "$T/names" "$T/objects"
check "the names' new directory is synced in its parent" grep -qxF "$T" "$T/syncs"
: >"$T/syncs"
head -c 100000 /dev/urandom >"$T/data"
check "a file is written and synced" limit 30 themis cp "$T/data" themis:/f
object=$(cd "$T/objects" && find . -type f ! -name STORE)
leaf=$(dirname "${object#./}")
printf 'objects\nobjects/%s\nobjects/%s\n' "$(dirname "$leaf")" "$leaf" >"$T/wanted"
directories >"$T/synced"
check "and with it the new directories of its object, up to that of the store" cmp "$T/wanted" "$T/synced"
# `themis cp` would make another object each time
check "another file is written and synced" limit 30 ranks 1 "$THEMIS_BUILD/examples/hello_mpiio" themis:/g
: >"$T/syncs"
check "it is written and synced again" limit 30 ranks 1 "$THEMIS_BUILD/examples/hello_mpiio" themis:/g
none "without its directories, which have nothing new" "$(directories)"

# --- a disk that fills up while RocksDB writes

check "there are names" limit 30 themis mkdir themis:/d themis:/d/a
: >"$T/full"
check "a name cannot be created on a full disk, which is said" has_failed "no space left on server" themis mkdir themis:/d/b
check "nor the next one" has_failed "no space left on server" themis mkdir themis:/d/c
# many_at_once: none of them is made.
many_at_once() {
    seq 20 | xargs -P 10 -I N timeout 30 themis mkdir themis:/d/mN >"$T/said" 2>&1
    [ "$(grep -c "no space left on server" "$T/said")" = 20 ] || {
        cat "$T/said"
        return 1
    }
}
check "nor many at once" many_at_once
check "the server lives" is_running
check "what is there is listed" sh -c '[ "$(timeout 30 themis ls themis:/d)" = a/ ] || { timeout 30 themis ls themis:/d; exit 1; }'
check "and read" sh -c 'timeout 30 themis cat themis:/f | cmp - "$1"' sh "$T/data"
rm "$T/full"
check "when there is space the server goes on by itself" until_works 10 themis mkdir themis:/d/b
check "with the names of before" sh -c '[ "$(timeout 30 themis ls themis:/d | tr -d "\n")" = a/b/ ] || { timeout 30 themis ls themis:/d; exit 1; }'
stop_servers
start_on_disk "$T/names" "$T/objects"
check "and after a restart" sh -c '[ "$(timeout 30 themis ls themis:/d | tr -d "\n")" = a/b/ ] || { timeout 30 themis ls themis:/d; exit 1; }'
stop_servers

# --- a file system that is full

mkdir "$T/small"
if mount -t tmpfs -o size=96m none "$T/small" 2>"$T/said"; then
    trap 'umount -l "$T/small" 2>/dev/null; exit 1' HUP INT TERM
    mkdir "$T/objects2"
    start_on_disk "$T/small/state" "$T/objects2"
    check "there are names on a small file system" limit 30 themis mkdir themis:/d themis:/d/a themis:/d/b
    free=$(df --output=avail -k "$T/small" | tail -1)
    head -c $(((free - 28 * 1024) * 1024)) /dev/zero >"$T/small/ballast"
    sleep 0.1
    check "before it is full no names can be created" has_failed "no space left on server" themis mkdir themis:/d/c
    check "but removed" limit 30 themis rmdir themis:/d/b
    cat /dev/zero >"$T/small/more" 2>/dev/null
    sleep 0.1
    check "nor removed when it is full" has_failed "no space left on server" themis rmdir themis:/d/a
    check "the server lives on a full file system" is_running
    check "its names are listed" sh -c '[ "$(timeout 30 themis ls themis:/d)" = a/ ]'
    rm "$T/small/ballast" "$T/small/more"
    check "and when there is space they can be changed" until_works 10 themis mkdir themis:/d/c
    stop_servers
    umount "$T/small" || umount -l "$T/small"
else
    skip "names on a full file system" "it cannot be mounted: $(head -1 "$T/said")"
fi
finish
