#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Limits of what users may have: counted, agreed on, enforced and given back, on two servers with either store.
# timeout: 600
. "$(dirname "$0")/lib/testlib.sh"

alice=12345 bob=12346
# as USER COMMAND...: the path of the program is resolved before.
as() {
    user=$1 program=$(command -v "$2")
    shift 2
    timeout -k 5 60 setpriv --reuid="$user" --regid="$user" --clear-groups env HOME=/ "$program" "$@"
}
if [ "$(id -u)" != 0 ] || ! as "$alice" test -x "$THEMIS_PREFIX/bin/themis" || ! command -v jq >/dev/null; then
    skip "quotas" "needs root, setpriv, jq, and programs that others can run"
    
# --- one server
rm -rf "$T"/srv?
free_port
metrics=$testlib_port
start_servers 1 size=64m metrics_port=$metrics metrics_listen=127.0.0.1
themis quota set $alice --bytes 12m
scrape() { curl -fs --max-time 10 "http://127.0.0.1:$metrics/metrics" >"$T/metrics"; }
check "one server: metrics" scrape
check "one server: with the limit" grep -qxF "themis_user_limit_bytes{uid=\"$alice\"} $((12 * MiB))" "$T/metrics"
check "one server: nothing of files, which have none" [ "$(grep -c '^themis_user_limit_files{' "$T/metrics")" = 0 ]
check "one server: what does not fit is refused" refused 'quota' as $alice themis cp "$T/20m" themis:/large
check "one server: not a byte more is taken" below $alice $((12 * MiB))
check "one server: a user who owns nothing has the default" sh -c "themis quota set --default --files 3 && [ \"\$(themis quota --json 4321 | jq '.users[0].limit_files')\" = 3 ]"
for wrong in "set" "set $alice" "set $alice --bytes x" "set $alice --default --bytes 1" "unset" "unset $alice --bytes 1" "--bytes 1" "-a $alice" "set --default --files -1"; do
    # shellcheck disable=SC2086 # words
    themis quota $wrong >"$T/out" 2>&1
    check "wrong usage: $wrong" [ $? = 2 ]
done
stop_servers
finish
fi
chmod 755 "$T"
MiB=1048576
export THEMIS_TIMEOUT=15s # busy machines
mkdir "$T/programs"
mpicc.mpich -O2 -o "$T/programs/errors" "$THEMIS_SRC/test/adio/errors.c" || not_ok "the MPI program compiles"

unmount() { ! grep -q " $T/mount " /proc/mounts || themis umount -l "$T/mount"; }
trap 'unmount; testlib_clean' EXIT
trap 'unmount; testlib_clean; exit 130' INT TERM HUP

fill() { head -c "$2" /dev/urandom >"$1" && chmod 644 "$1"; }
fill "$T/1m" $MiB
fill "$T/4m" $((4 * MiB))
fill "$T/20m" $((20 * MiB))

# used USER MEMBER [SESSION]: bytes or files of a user by the servers' answer.
used() { themis quota --json -a | jq -r ".users[] | select(.uid == $1) | .$2"; }
is_used() { [ "$(used "$1" "$2")" = "$3" ]; }
# about USER BYTES: that many, and up to 2 MiB more, as extents are larger than what is in them.
about() {
    now=$(used "$1" bytes)
    [ -n "$now" ] && [ "$now" -ge "$2" ] && [ "$now" -le $(($2 + 2 * MiB)) ]
}
# below USER BYTES
below() {
    now=$(used "$1" bytes)
    [ "${now:-0}" -le "$2" ]
}
# refused WORDS COMMAND...: it fails, and says so.
refused() {
    words=$1
    shift
    if "$@" >"$T/out" 2>"$T/err"; then
        echo "it was not refused"
        return 1
    fi
    grep -q "$words" "$T/err" || { cat "$T/err" && return 1; }
}
same() { themis cat "themis:$1" | cmp - "$2"; }

# kill_all and begin_all OPTION...: kill -9 of both servers, and their start with what they had.
kill_all() {
    # shellcheck disable=SC2086 # a list
    kill -9 $testlib_servers
    # shellcheck disable=SC2086
    wait $testlib_servers 2>/dev/null
    testlib_servers=
}
begin() {
    rm -f "$T/srv$1/port"
    # shellcheck disable=SC2046 disable=SC2086 # words of a command
    (cd "$T/srv$1" && exec themisd $(server_options "$1" "$THEMIS_SERVERS") $options) </dev/null >>"$T/srv$1/log" 2>&1 &
    testlib_servers="$testlib_servers $!"
    await_files 60 "$T/srv$1/port"
}
begin_all() { begin 0 && begin 1; }

# limits_hold NAME: what does not depend on what the servers keep.
limits_hold() {
    name=$1
    check "$name: nobody has limits at first" [ "$(themis quota --json -a | jq -c '[.users[] | select(.limit_bytes)]')" = '[]' ]
    for user in $alice $bob; do themis mkdir "themis:/$user" && themis chown "$user:$user" "themis:/$user" || return 1; done
    check "$name: a directory is a file of who got it" is_used $alice files 1
    check "$name: without limits anything is taken" as $alice themis cp "$T/20m" "themis:/$alice/free"
    check "$name: and counted" await 5 about $alice $((20 * MiB))
    check "$name: and given back" as $alice themis rm "themis:/$alice/free"
    check "$name: all of it" await 5 is_used $alice bytes 0
    check "$name: users set no limits" refused 'ermission\|access' as $alice themis quota set $alice --bytes 1t
    check "$name: nor see what others have" refused 'ermission\|access' as $alice themis quota $bob
    check "$name: an administrator sets them" themis quota set $alice --bytes 12m --files 8
    check "$name: which the user sees" [ "$(as $alice themis quota --json | jq -c '.users[0] | [.uid, .limit_bytes, .limit_files]')" = "[$alice,$((12 * MiB)),8]" ]
    check "$name: and in words" sh -c "themis quota -h $alice | grep -qE '^$alice .* 12(\.0)?M '"
    check "$name: both servers have them" [ "$(themis quota --json | jq .agreed)" = true ]
    check "$name: what fits is taken" as $alice themis cp "$T/4m" "themis:/$alice/one"
    check "$name: also more of it" as $alice themis cp "$T/4m" "themis:/$alice/two"
    check "$name: what does not fit is refused" refused 'quota' as $alice themis cp "$T/20m" "themis:/$alice/three"
    check "$name: with user, use and limit" grep -q "user $alice has .* of at most 12.0 MiB" "$T/err"
    check "$name: not much more than the limit was taken" below $alice $((13 * MiB + 2 * MiB))
    check "$name: what was there is there" same "/$alice/one" "$T/4m"
    check "$name: other users are not touched" as $bob themis cp "$T/20m" "themis:/$bob/large"
    themis rm "themis:/$alice/three" 2>/dev/null
    check "$name: a smaller one fits" await 3 as $alice themis cp "$T/1m" "themis:/$alice/three"
    check "$name: a write over what is there is no new space" as $alice themis cp "$T/1m" "themis:/$alice/three"
}

files_hold() {
    check "$name: some more names" as $alice themis mkdir "themis:/$alice/d1" "themis:/$alice/d2" "themis:/$alice/d3"
    check "$name: the last one" as $alice themis ln -s one "themis:/$alice/l"
    check "$name: all are counted" is_used $alice files 8
    sleep 1.5 # until both servers know
    check "$name: one more is refused" refused 'quota' as $alice themis mkdir "themis:/$alice/d4"
    check "$name: with the count and the limit" grep -q '8 of at most 8 files' "$T/err"
    check "$name: a link as well" refused 'quota' as $alice themis ln -s one "themis:/$alice/m"
    check "$name: a file as well" refused 'quota' as $alice themis cp "$T/1m" "themis:/$alice/four"
    check "$name: nothing of it is seen" [ "$(themis ls "themis:/$alice" | wc -l)" = 7 ]
    check "$name: renames are not refused" as $alice themis mv "themis:/$alice/d3" "themis:/$alice/d9"
    check "$name: nor removals" as $alice themis rmdir "themis:/$alice/d9"
    check "$name: then there is one more" await 3 as $alice themis mkdir "themis:/$alice/d4"
}

doors_hold() {
    export THEMIS_MOUNT=/themis
    check "$name: a preloaded program gets EDQUOT" refused 'Disk quota exceeded' \
        as $alice env "LD_PRELOAD=$THEMIS_PREFIX/lib/libthemis-posix.so" dd "if=$T/20m" "of=/themis/$alice/posix" bs=1M
    themis rm "themis:/$alice/posix"
    sleep 1.5 # until both servers know
    # shellcheck disable=SC2046 # words of a command
    check "$name: MPI-IO has MPI_ERR_QUOTA, on all ranks" as $alice $(ranks_command 2) "$T/programs/errors" over-quota "themis:/$alice/mpi"
    themis rm "themis:/$alice/mpi"
    mkdir -p "$T/mount" && chown $alice "$T/mount"
    # the device is root's on many machines
    if timeout -k 5 60 setpriv --reuid=$alice --regid=$alice --clear-groups --inh-caps=+dac_override,+sys_admin \
        --ambient-caps=+dac_override,+sys_admin env HOME=/ "$(command -v themis)" mount "$T/mount" >"$T/out" 2>&1; then
        check "$name: a mount has EDQUOT" refused 'Disk quota exceeded' as $alice dd "if=$T/20m" "of=$T/mount/$alice/mounted" bs=1M
        unmount
        themis rm "themis:/$alice/mounted"
    else
        skip "$name: a mount has EDQUOT" "$(head -n 1 "$T/out")"
    fi
}

given_away() {
    before=$(used $alice bytes)
    check "$name: a file is given to another" themis chown $bob "themis:/$alice/one"
    check "$name: who has its bytes then" await 5 below $alice $((before - 4 * MiB))
    check "$name: and its name" is_used $alice files 7
    check "$name: not the other" await 5 about $bob $((24 * MiB))
    check "$name: and may write again" await 3 as $alice themis cp "$T/1m" "themis:/$alice/five"
}

outlive() {
    wanted=$(themis quota --json -a | jq -c '[.users[] | select(.uid > 0)]')
    kill_all
    check "$name: servers come back" begin_all
    complete() { [ "$(themis quota --json -a | jq .complete)" = true ]; }
    check "$name: they have counted" await 20 complete
    check "$name: the same as before" [ "$(themis quota --json -a | jq -c '[.users[] | select(.uid > 0)]')" = "$wanted" ]
    check "$name: limits hold" refused 'quota' as $alice themis cp "$T/20m" "themis:/$alice/late"
    themis rm "themis:/$alice/late" 2>/dev/null
}

away() {
    # shellcheck disable=SC2086 # a list
    set -- $testlib_servers
    kill -9 "$2"
    wait "$2" 2>/dev/null
    testlib_servers=$1
    check "$name: limits are set without a server" themis quota set $bob --files 1000
    begin 1
    told() { [ "$(themis quota --json $bob | jq -c '[.agreed, .users[0].limit_files]')" = '[true,1000]' ]; }
    check "$name: which is told when it is back" await 10 told
    check "$name: they end" themis quota unset $bob
    check "$name: also of all others" themis quota set --default --bytes 64m
    check "$name: who have the default then" [ "$(themis quota --json $bob | jq '.users[0].limit_bytes')" = $((64 * MiB)) ]
    check "$name: but for those with their own" [ "$(themis quota --json $alice | jq '.users[0].limit_bytes')" = $((12 * MiB)) ]
    check "$name: root has none" themis cp "$T/20m" themis:/roots
    check "$name: which are removed" themis quota unset --default
    check "$name: from both" [ "$(themis quota --json -a | jq -c '[.agreed, .default]')" = '[true,null]' ]
}

for direct in auto off; do
    # shellcheck disable=SC2086 # words
    rm -rf "$T"/srv?
    start_servers 2 size=256m stripe_size=64k direct=$direct
    limits_hold "arena, direct $direct"
    doors_hold
    files_hold
    given_away
    stop_servers
done
for store in arena posix; do
    rm -rf "$T"/srv?
    for index in 0 1; do mkdir -p "$T/srv$index/objects"; done
    # shellcheck disable=SC2086 # words
    start_servers 2 store=$store state=names directory=objects size=256m stripe_size=64k
    options="--store $store --state names --directory objects --size 256m --stripe_size 64k"
    limits_hold "$store on disk"
    doors_hold
    files_hold
    given_away
    outlive
    away
    stop_servers
done
finish
