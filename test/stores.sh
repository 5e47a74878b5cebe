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
    refused "directory = $T/objects is in use by another server" --store posix --state "$T/names" --directory "$T/objects"
mkdir "$T/half" && echo "themis-store 1 objects of server 0" >"$T/half/STORE"
check "nor its names" refused "state = $T/names is in use by another server" --store posix --state "$T/names" --directory "$T/half"
check "nor others' names with them" refused "the names of these objects are not there" --store posix --state "$T/other" --directory "$T/objects"
check "nor other objects with its names" refused "the objects of these names are not there" --store posix --state "$T/names" --directory "$T/other"
check "and nothing was made there" test -z "$(ls "$T/other")"
check "nor can an arena, which would clear them" refused "state = $T/names holds the names of server 0" --state "$T/names"
check "the files are unchanged" is_back
stop_servers
checksums >"$T/sums"
check "an arena does not clear the names of a posix store" refused "state = $T/names holds the names of server 0, not the" --state "$T/names"
check "and nothing is changed" is_untouched
check "a server does not take the objects of another one of the list" refused "directory = $T/objects holds the objects of server 0, not the objects of server 1" \
    --servers 127.0.0.1:7711,127.0.0.1:7712 --index 1 --key "$T/key" --store posix --state "$T/other" --directory "$T/objects"
rm -rf "$T/other"
check "nor its names" refused "state = $T/names holds the names of server 0, not the names of server 1" \
    --servers 127.0.0.1:7711,127.0.0.1:7712 --index 1 --key "$T/key" --store posix --state "$T/names" --directory "$T/third"
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

# --- names and objects that belong together

identity() { sed -n 's/^store //p' "$1/STORE"; }
same_identity() { [ "$(identity "$1")" = "$(identity "$2")" ] && [ "$(identity "$1" | wc -c)" = 37 ]; }
check "names and objects have one identity" same_identity "$T/names" "$T/objects"
mkdir "$T/objects2"
other="store=posix state=$T/names2 directory=$T/objects2"
# shellcheck disable=SC2086
start_servers 1 $other
check "another store" sh -c 'timeout 30 themis cp "$1/data" themis:/' sh "$T"
stop_servers
check "has another one" sh -c '! cmp -s "$1/names/STORE" "$1/names2/STORE"' sh "$T"
checksums >"$T/sums"
check "names of one store and objects of another are refused" refused "they are of different stores" \
    --store posix --state "$T/names" --directory "$T/objects2"
check "both ways round" refused "they are of different stores" --store posix --state "$T/names2" --directory "$T/objects"
check "and nothing is changed" is_untouched
sed -i '/^store /d' "$T/names/STORE" "$T/objects/STORE"
# shellcheck disable=SC2086
start_servers 1 $posix
# files of that version do not know their store, as these do
check "directories of a version without identities are used" limit 20 themis stat themis:/d/data
stop_servers
check "and get one" same_identity "$T/names" "$T/objects"
sed -i '/^store /d' "$T/names/STORE"
# shellcheck disable=SC2086
start_servers 1 $posix
check "also where one of them has it" limit 20 themis stat themis:/d/data
stop_servers
check "which the other one gets" same_identity "$T/names" "$T/objects"
mkdir "$T/logged" && : >"$T/logged/server.log"
check "names that are gone are not made anew above their objects" refused "the names of these objects are not there" \
    --store posix --state "$T/logged" --directory "$T/objects"
check "and nothing was made there" test "$(ls "$T/logged")" = server.log
mkdir "$T/begun" "$T/begun/lost+found" && sed 's/^store .*/store 01234567-89ab-4cde-8f01-23456789abcd/' "$T/objects/STORE" >"$T/begun/STORE"
start_servers 1 store=posix "state=$T/names3" "directory=$T/begun"
check "a first start that was cut short is continued" same_identity "$T/names3" "$T/begun"
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
