#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzes what peers can send: messages (test/fuzz/proto.c), frames of the transport (frames.c), the handshake
# of strangers and sealed records (handshake.c), and the shared memory of
# a local connection (ring.c); and what files can hold: records of jobs (history.c). A few seconds each; FUZZ_SECONDS=600
# for a long run. New inputs stay in BUILD/fuzz.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"

seconds=${FUZZ_SECONDS:-5}
dir=$THEMIS_BUILD/fuzz
cd "$THEMIS_SRC" || exit 1

# build NAME SOURCE...: with clang's libFuzzer and sanitizers
build() {
    name=$1
    shift
    clang -g -O1 -std=gnu11 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I. -Iinclude \
        -I"$THEMIS_BUILD" -o "$dir/$name" "test/fuzz/$name.c" "$@" -pthread
}

# fuzz TEXT NAME SOURCE...
fuzz() {
    what=$1 name=$2
    shift
    mkdir -p "$dir/corpus-$name"
    check "$what: builds" build "$@" || return
    check "$what: no finding in $seconds s" limit $((seconds + 60)) "$dir/$name" -max_total_time="$seconds" \
        -max_len=4096 -timeout=10 -artifact_prefix="$dir/$name-" "$dir/corpus-$name"
}

# Seeds are kept as text: a name and the bytes in hex.
seed() {
    mkdir -p "$dir/corpus-$1"
    grep -v '^#' "test/fuzz/$1.seeds" | while read -r name hex; do
        # shellcheck disable=SC2059 # the format is the bytes
        printf "$(echo "$hex" | sed 's/../\\x&/g')" >"$dir/corpus-$1/$name"
    done
}

# Messages of all kinds, as they are now. Those of earlier versions are in a kept corpus only where new inputs were found.
mkdir -p "$dir/corpus-proto"
check "there are messages of all kinds to begin with" limit 20 "$THEMIS_BUILD/test/fuzz/proto_seeds" "$dir/corpus-proto"

if ! command -v clang >/dev/null 2>&1; then
    skip "fuzzing" "clang is not installed"
    finish
fi
munge=
! grep -q "define THEMIS_MUNGE 1" "$THEMIS_BUILD/config.h" || munge=-lmunge
fuzz "messages" proto proto/*.c util/status.c util/utf8.c
seed history
fuzz "records of jobs" history history/*.c -ljansson -lm
fuzz "shared memory" ring net/local/channel.c net/local/passing.c net/local/reader.c net/local/ring.c net/local/writer.c
# shellcheck disable=SC2086 # one word or none
fuzz "handshakes" handshake net/auth.c net/handshake.c net/munge.c net/silent.c net/tcp/record.c -lnettle -lhogweed $munge
# shellcheck disable=SC2086 # one word or none
fuzz "frames" frames net/*.c net/*/*.c util/status.c util/clock.c util/log.c -lxxhash -lnettle -lhogweed $munge
finish
