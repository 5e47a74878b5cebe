#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The examples on themis: with two servers: several sizes, numbers of ranks and stripes, every byte compared; and the same
# binaries on ufs:, with and without the library in front.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

bin=$THEMIS_BUILD/examples

# on_ufs TEXT PROGRAM ARGUMENTS...: without and with the library.
on_ufs() {
    text=$1
    shift
    check "$text, plain MPICH" limit 60 mpirun.mpich -n 4 "$@" "ufs:$T/file"
    check "$text, library in front" limit 60 ranks 4 "$@" "ufs:$T/file"
    rm -f "$T/file"
}

on_ufs "hello on ufs:" "$bin/hello_mpiio"
on_ufs "cube on ufs:" "$bin/cube" --size 31
on_ufs "btio on ufs:" "$bin/btio" --size 30

start_servers 2
check "hello on themis:" limit 60 ranks 4 "$bin/hello_mpiio" themis:/hello
for n in 1 2 3 4; do
    check "cube, $n ranks" limit 90 ranks $n "$bin/cube" --size 48 themis:/cube
done
for n in 1 4 9; do
    check "btio, $n ranks" limit 120 ranks $n "$bin/btio" --size 37 themis:/btio
done
check "cube, sides that are not equal" limit 90 ranks 4 "$bin/cube" --size 17,33,65 themis:/cube
check "cube, 64 KiB stripes" limit 90 ranks 4 "$bin/cube" --size 64 --hint striping_unit=65536 themis:/cube64
check "cube, 4 KiB stripes on one server" limit 90 ranks 4 "$bin/cube" --size 32 --hint striping_unit=4096 \
    --hint striping_factor=1 themis:/cube1
check "cube, written again over itself" limit 90 ranks 4 "$bin/cube" --size 40 --repeats 4 themis:/again

# Three times 0.2 s of computing, and 1 MiB at 4 MiB/s: no more than 0.45 of the time can be computing.
rhythm() {
    limit 60 ranks 2 "$bin/checkpoint" --compute --limit 4 --time 30 3 0.2 1 themis:/checkpoint >"$T/rhythm" &&
        [ "$(grep -c '^[123]: computed 0[.][2-9].* wrote 0[.][2-9]' "$T/rhythm")" = 3 ] &&
        awk -F'efficiency=' '/^checkpoints=3 computed=0.6000 / { good = $2 > 0.1 && $2 < 0.46 } END { exit !good }' "$T/rhythm" || { cat "$T/rhythm" && false; }
}
check "checkpoint computes, writes no faster than it may, and tells how much it computed" rhythm

# A program whose file names are fixed and have no prefix.
forced() (
    export ROMIO_FSTYPE_FORCE=themis:
    limit 60 ranks 4 "$bin/hello_mpiio" /fixed
)
check "fixed file names, with ROMIO_FSTYPE_FORCE" forced
check "the file is on the servers" limit 30 themis stat themis:/fixed
# Linked to the library instead of started with it; it comes before MPI's own.
linked() {
    mpicc.mpich -o "$T/linked" "$THEMIS_SRC/examples/hello_mpiio.c" -L"$THEMIS_PREFIX/lib" "-Wl,-rpath,$THEMIS_PREFIX/lib" \
        -lthemis-mpiio && limit 60 mpirun.mpich -n 4 -genv LD_PRELOAD "$(sanitizer_library)" "$T/linked" themis:/linked
}
check "a program linked with -lthemis-mpiio" linked
# shellcheck disable=SC2046 # words
check "themis run starts servers of its own" limit 90 env -u THEMIS_SERVERS $(run_env) themis run -s 2 -- mpirun.mpich -n 4 \
    "$bin/hello_mpiio" themis:/hello

# The second time: nothing is compiled, and all is verified. quickstart has its build tree in build, wherever tests are run.
quickstart() {
    : >"$T/before"
    limit 180 env -u THEMIS_SERVERS QUICKSTART_MIB=16 sh "$THEMIS_SRC/examples/quickstart.sh" >"$T/quick" 2>&1 || { cat "$T/quick" && return 1; }
    took=$(sed -n 's/^== quickstart: every byte verified, after \([0-9]*\) s$/\1/p' "$T/quick")
    cat "$T/quick"
    [ -n "$took" ] && [ "$(grep -c '^\(cube\|btio\): .* 4 ranks, themis:.* median of 3 times: .* MiB/s, every byte verified$' "$T/quick")" = 2 ] &&
        [ "$(grep -c '^\(cube\|btio\): 1[0-9][0-9] x .* 1[56]\.[0-9] MiB, 4 ranks, ufs:.* MiB/s, every byte verified$' "$T/quick")" = 2 ] &&
        [ "$(grep -c '^\(cube\|btio\): themis: is [0-9.]* times as fast as ufs: for writing, [0-9.]* times for reading$' "$T/quick")" = 2 ] &&
        [ "$(grep -c '^ [123]\. ' "$T/quick")" = 3 ] && [ ! -e "$THEMIS_BUILD/quickstart.file" ] &&
        [ "$(grep -c '^ *[01]  127.0.0.1:[0-9]* *arena ' "$T/quick")" = 2 ] &&
        [ "$(grep -c '^  layout    stripes of 1048576 bytes on 2 servers, the first on server [01]$' "$T/quick")" = 2 ] && grep -q '^  themis_servers  *127.0.0.1:' "$T/quick"
}
not_compiled() {
    made=$(find "$THEMIS_BUILD" -path "$THEMIS_PREFIX" -prune -o -name '*.o' -newer "$T/before" -print)
    [ -z "$made" ] || { echo "$made" && return 1; }
}
if [ "$THEMIS_BUILD" = "$THEMIS_SRC/build" ] && [ -e "$THEMIS_BUILD/.configured" ] && [ -z "${THEMIS_VARIANT-}" ]; then
    check "quickstart in a tree that is built: verified, and its summary is there" quickstart
    check "nothing is compiled for it" not_compiled
else
    skip "quickstart in a tree that is built" "it is for the build tree of test/run.sh"
fi
finish
