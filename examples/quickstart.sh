#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh Debian 12 to verified bytes: installs the packages that are missing, builds into build/, installs into
# build/inst, starts two servers on this machine, and lets two MPI programs of four ranks write to them and read back;
# then the same to a file of this machine, through ufs:. Files have 256 MiB, or what an eighth of the free memory allows.
#
#   sh examples/quickstart.sh
#   QUICKSTART_MIB=32 sh examples/quickstart.sh    with smaller files
THEMIS_SRC=$(cd "$(dirname "$0")/.." && pwd) || exit 1
THEMIS_BUILD_ONLY=yes
. "$THEMIS_SRC/test/lib/setup.sh"

servers=2 ranks=4

# file_side: the side of a cube of doubles that has the size of a file.
file_side() {
    awk -v wanted="${QUICKSTART_MIB:-256}" '/^MemAvailable:/ { free = $2 / 1024 / 8 }
        END { mib = free > 0 && free < wanted ? free : wanted; mib = mib < 1 ? 1 : mib; print int((mib * 131072) ^ (1 / 3)) }' /proc/meminfo
}

# example NAME FILE OPTIONS...: its line of output; all of it is in build/quickstart.NAME.
example() {
    name=$1 file=$2
    shift 2
    mpirun.mpich -n "$ranks" "$THEMIS_BUILD/examples/$name" --size "$side" "$@" "$file" </dev/null >"$THEMIS_BUILD/quickstart.$name" 2>&1
    example_status=$?
    grep -v -e '^hints in force' -e '^  ' "$THEMIS_BUILD/quickstart.$name"
    return $example_status
}

# compare NAME LINE LINE: how many times faster the first line's program was.
compare() {
    printf '%s\n%s\n' "$2" "$3" | sed -n 's/.*: write \([0-9.]*\) MiB.s, read \([0-9.]*\) MiB.s.*/\1 \2/p' | awk -v name="$1" '
        NR == 1 { write = $1; read = $2 }
        NR == 2 { if ($1 > 0 && $2 > 0) printf "%s: themis: is %.1f times as fast as ufs: for writing, %.1f times for reading\n", name, write / $1, read / $2 }'
}

# inside: what runs while the servers are there.
inside() {
    status=0 side=$(file_side)
    for name in cube btio; do
        on_servers=$(example "$name" "themis:/$name" --repeats 3 --keep --show-hints) || status=1
        mv "$THEMIS_BUILD/quickstart.$name" "$THEMIS_BUILD/quickstart.$name.themis"
        on_host=$(example "$name" "ufs:$THEMIS_BUILD/quickstart.file") || status=1
        rm -f "$THEMIS_BUILD/quickstart.file"
        printf '%s\n%s\n' "$on_servers" "$on_host"
        compare "$name" "$on_servers" "$on_host"
    done
    themis_say "servers, and the jobs that have not left yet"
    themis status || status=1
    themis_say "files and their stripes"
    themis stat themis:/cube themis:/btio || status=1
    themis_say "hints of cube's file; auto: decided call by call, themis_..._used is what the last call took"
    sed -n '/^  /p' "$THEMIS_BUILD/quickstart.cube.themis"
    return $status
}

if [ "${1-}" = --inside ]; then
    inside
    exit
fi

started=$(date +%s)
UCX_NET_DEVICES=lo
export UCX_NET_DEVICES
themis_setup
themis_say "$servers servers, $ranks ranks: a 3-D array in blocks, and a block-tridiagonal pattern"
timeout -k 10 300 themis run -s "$servers" -- sh "$THEMIS_SRC/examples/quickstart.sh" --inside </dev/null
status=$?
took=$(($(date +%s) - started))
if [ "$status" = 0 ]; then
    themis_say "quickstart: every byte verified, after $took s"
    cat <<END
Three things to try next, after PATH=$THEMIS_PREFIX/bin:\$PATH
 1. your own program, built as always with mpicc:
    themis run -s 2 -- mpirun.mpich -n 4 ./program themis:/file
 2. servers that stay, and their files:
    eval "\$(themis start -s 2)"; themis cp FILE themis:/; themis ls -lh; themis df -h; themis stop
 3. who gets which share, while programs run on them:
    themis top
END
else
    themis_say "quickstart: FAILED (status $status), after $took s"
fi
exit $status
