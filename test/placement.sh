#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where new files are: THEMIS_PLACEMENT and the hint themis_file_servers, through MPI-IO, the C library, preloaded calls and a mount.
# timeout: 200
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
. "$THEMIS_SRC/test/lib/mountlib.sh"

start_servers 4
server() { echo "$THEMIS_SERVERS" | cut -d, -f$(($1 + 1)); }
# layout PATH COUNT FIRST...: so many servers, and one of these is the first.
layout() {
    path=$1 count=$2
    shift 2
    themis stat --json "themis:$path" >"$T/stat" || return 1
    for first in "$@"; do
        ! jq -e --argjson c "$count" --argjson f "$first" 'if type == "array" then .[0] else . end | .layout | .count == $c and .first == $f' \
            "$T/stat" >"$T/layout" || return 0
    done
    cat "$T/stat"
    return 1
}
middle=$(server 1),$(server 2)
around=$(server 3),$(server 0)
split=$(server 0),$(server 2)
head -c 300000 /dev/urandom >"$T/bytes"

# --- the C library

THEMIS_PLACEMENT=$middle themis cp "$T/bytes" themis:/middle
check "a file is on the servers that are named" layout /middle 2 1
check "and can be read without that" sh -c 'themis cat themis:/middle | cmp - "$1"' sh "$T/bytes"
THEMIS_PLACEMENT=$around themis cp "$T/bytes" themis:/around
check "the last server is beside the first" layout /around 2 3
for i in 1 2 3 4 5 6 7 8; do THEMIS_PLACEMENT=$split themis cp "$T/bytes" "themis:/split$i"; done
check "servers apart have a file each" sh -c 'for i in 1 2 3 4 5 6 7 8; do themis stat --json themis:/split$i; done | jq -se "flatten |
    all(.layout.count == 1) and ([.[].layout.first] | unique == [0, 2])"'
THEMIS_PLACEMENT=$middle themis cp "$T/bytes" themis:/around
check "a file that is there stays where it is" layout /around 2 3
THEMIS_PLACEMENT=$middle themis mv themis:/around themis:/moved
check "also when it is renamed" layout /moved 2 3
check "a server that is not in the list is named" refused 1 "THEMIS_PLACEMENT: 'io9:1' is not in the list of servers" \
    env "THEMIS_PLACEMENT=$middle,io9:1" themis cp "$T/bytes" themis:/refused
check "so is a list of none" refused 1 "names no server" env "THEMIS_PLACEMENT= , " themis cp "$T/bytes" themis:/refused
echo "[client]
servers = $THEMIS_SERVERS
placement = $middle" >"$T/themis.conf"
env -u THEMIS_SERVERS THEMIS_CONFIG="$T/themis.conf" themis cp "$T/bytes" themis:/configured
check "the configuration file says it, too" layout /configured 2 1
printf '[client]\nplacement = a\n' >"$T/wrong.conf"
check "an error in it has its line" refused 1 'wrong.conf:2:.*wanted: host:port' env "THEMIS_CONFIG=$T/wrong.conf" themis ls themis:/
check "a mistake is one, whoever names the configured list" refused 1 "THEMIS_PLACEMENT: 'io9:1' is not in the list" \
    env THEMIS_PLACEMENT=io9:1 themis ls "themis://$THEMIS_SERVERS/"
check "that of a file is of its own servers" limit 30 sh -c 'THEMIS_CONFIG=$1 themis run -q -s 1 -- sh -c "themis cp \"$2\" themis:/x && themis stat themis:/x"' sh "$T/themis.conf" "$T/bytes"
check "servers of another list have none of it" limit 30 sh -c 'THEMIS_PLACEMENT=$1 themis run -q -s 1 -- sh -c "themis cp \"$2\" themis:/x && themis stat themis:/x"' sh "$middle" "$T/bytes"


# --- MPI-IO

cube() { limit 60 ranks 2 "$THEMIS_BUILD/examples/cube" --size 16 --keep "$@"; }
check "MPI-IO takes it from the environment" sh -c '"$@"' sh env THEMIS_PLACEMENT="$middle" timeout 60 $(ranks_command 2) "$THEMIS_BUILD/examples/cube" --size 16 --keep themis:/mpi
check "its file is there" layout /mpi 2 1
check "a hint counts before it" sh -c '"$@"' sh env THEMIS_PLACEMENT="$middle" timeout 60 $(ranks_command 2) "$THEMIS_BUILD/examples/cube" --size 16 --keep --hint "themis_file_servers=$around" themis:/hint
check "its file is elsewhere" layout /hint 2 3
check "a hint that names another server fails the open" sh -c '! "$@" >"$0" 2>&1 && grep -q "placement: .io9:1. is not in the list" "$0"' "$T/out" \
    timeout 60 $(ranks_command 2) "$THEMIS_BUILD/examples/cube" --size 16 --keep --hint themis_file_servers=io9:1 themis:/none
cube --hint "themis_file_servers=$middle" --hint striping_factor=4 themis:/factor >/dev/null
check "striping_factor is limited" layout /factor 2 1
cube --hint "themis_file_servers=$middle" --hint striping_factor=1 themis:/factor1 >/dev/null
check "or less" layout /factor1 1 1 2
cube --hint "themis_file_servers=$middle" --hint start_iodevice=3 themis:/start >/dev/null
check "who says where a file begins has it there" layout /start 4 3

# --- preloaded calls

case $THEMIS_VARIANT in
asan | tsan) skip "preloaded calls" "the sanitizer intercepts the same calls, and starts after them" ;;
*)
    check "preloaded calls" env THEMIS_MOUNT=/themis "THEMIS_PLACEMENT=$around" "LD_PRELOAD=$THEMIS_PREFIX/lib/libthemis-posix.so" cp "$T/bytes" /themis/preload
    check "their file is there" layout /preload 2 3
    ;;
esac

# --- a mount

fuse_or_finish
export THEMIS_PLACEMENT="$middle"
check "a mount" mount_at "$T/m"
unset THEMIS_PLACEMENT
cp "$T/bytes" "$T/m/mounted"
check "its files are where it was told" layout /mounted 2 1
mkdir "$T/m/one" && python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.themis.stripe_count", b"1")' "$T/m/one" && cp "$T/bytes" "$T/m/one/file"
check "a directory's number of servers counts within it" layout /one/file 1 1 2
themis umount "$T/m"
finish
