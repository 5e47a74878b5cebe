#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Directories and files of servers: wrong options destroy nothing, and no two servers use the same one.
# timeout: 180
. "$(dirname "$0")/lib/testlib.sh"

mkdir "$T/objects" "$T/other" "$T/third" "$T/fifth" "$T/later" "$T/mine"
echo "themis-store 2" >"$T/later/STORE"
echo precious >"$T/mine/000001.log"
head -c 3000000 /dev/urandom >"$T/data"

# refused TEXT OPTION...: themisd with these options fails, and its message has TEXT.
refused() {
    wanted=$1
    shift
    if timeout -k 5 $((20 * testlib_slower)) themisd --listen 127.0.0.1 --port 0 --size 64m "$@" >"$T/said" 2>&1 </dev/null; then
        echo "it started"
        return 1
    elif [ $? -ge 124 ]; then
        echo "it did not end"
        return 1
    fi
    grep -qF -- "$wanted" "$T/said" || {
        cat "$T/said"
        return 1
    }
}

# checksums: of all files in the directories.
checksums() { (cd "$T" && find names objects -type f -exec sha256sum {} + | sort -k 2); }
is_untouched() { checksums >"$T/sums.after" && cmp "$T/sums" "$T/sums.after"; }
is_back() { limit 30 themis cat themis:/d/data | cmp - "$T/data"; }

posix="store=posix state=$T/names directory=$T/objects"

# shellcheck disable=SC2086 # words
start_servers 1 $posix
check "a posix store is filled" sh -c 'timeout 30 themis mkdir themis:/d && timeout 30 themis cp "$1/data" themis:/d' sh "$T"
check "a second server cannot use the directory of a running one" \
    refused "directory = $T/objects is in use by another server" --store posix --state "$T/other" --directory "$T/objects"
check "nor its names" refused "state = $T/names is in use by another server" --store posix --state "$T/names" --directory "$T/other"
rm -f "$T/other/"*
check "nor can an arena, which would clear them" refused "state = $T/names holds the names of server 0" --state "$T/names"
check "the files are unchanged" is_back
stop_servers
checksums >"$T/sums"
check "an arena does not clear the names of a posix store" refused "state = $T/names holds the names of server 0, not the" --state "$T/names"
check "and nothing is changed" is_untouched
check "a server does not take the objects of another one of the list" refused "directory = $T/objects holds the objects of server 0, not the objects of server 1" \
    --count 2 --index 1 --store posix --state "$T/other" --directory "$T/objects"
rm -rf "$T/other"
check "nor its names" refused "state = $T/names holds the names of server 0, not the names of server 1" \
    --count 2 --index 1 --store posix --state "$T/names" --directory "$T/third"
check "a directory of names is not used for objects" refused "directory = $T/names holds the names of server 0, not the objects" \
    --store posix --state "$T/fourth" --directory "$T/names"
check "a STORE of another version is refused" refused "state = $T/later has a file STORE that is not of this version" --state "$T/later"
check "an arena refuses a directory with files like those of a database" \
    refused "state = $T/mine holds a database without a STORE" --state "$T/mine"
check "so does a posix store" refused "state = $T/mine holds a database without a STORE" --store posix --state "$T/mine" --directory "$T/fifth"
check "and the files are still there" sh -c '[ "$(cat "$1"/mine/*)" = precious ] && [ "$(ls "$1/mine")" = 000001.log ]' sh "$T"
check "nothing was changed by any of them" is_untouched
rm "$T/names/STORE"
check "names without a STORE are not cleared" refused "state = $T/names holds a database without a STORE" --state "$T/names"

# shellcheck disable=SC2086
start_servers 1 $posix
check "the posix server starts with all its files" is_back
# shellcheck disable=SC2086
kill -9 $testlib_servers
# shellcheck disable=SC2086
wait $testlib_servers 2>/dev/null
testlib_servers=
# shellcheck disable=SC2086
check "and again at once after it was killed" try_servers 1 $posix
check "with all its files" is_back
stop_servers

# --- state and file of an arena

start_servers 1 "state=$T/arena-names" "file=$T/arena"
check "an arena with a directory for its names" limit 30 themis mkdir themis:/here
check "a second arena cannot use the file of a running one" refused "file = $T/arena is in use by another server" --file "$T/arena"
stop_servers
start_servers 1 "state=$T/arena-names" "file=$T/arena" size=32m
check "and starts again, empty, with another size" sh -c '[ -z "$(timeout 30 themis ls themis:/)" ]'
stop_servers
mkdir "$T/both" && : >"$T/both/server.log"
for _ in first second; do
    start_servers 1 "state=$T/both" "file=$T/both/arena"
    ok "names and file of an arena in one directory with a log"
    stop_servers
done
cp "$T/data" "$T/precious"
check "a file that no arena made is refused" refused "file = $T/precious holds something else" --file "$T/precious"
check "and is unchanged" cmp "$T/data" "$T/precious"
: >"$T/empty"
start_servers 1 "file=$T/empty"
ok "an empty file is used"
stop_servers
finish
