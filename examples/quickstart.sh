#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh Debian 12 to verified bytes: installs the packages that are missing, builds into build/, installs into
# build/inst, starts two servers on this machine, and lets two MPI programs of four ranks write to them and read back.
#
#   sh examples/quickstart.sh
THEMIS_SRC=$(cd "$(dirname "$0")/.." && pwd) || exit 1
THEMIS_BUILD_ONLY=yes
. "$THEMIS_SRC/test/lib/setup.sh"

servers=2 ranks=4

# inside: what runs while the servers are there.
inside() {
    status=0
    for example in cube btio; do
        mpirun.mpich -n "$ranks" "$THEMIS_BUILD/examples/$example" --size 96 --repeats 3 --keep --show-hints "themis:/$example" \
            </dev/null >"$THEMIS_BUILD/quickstart.$example" 2>&1 || status=1
        grep -v -e '^hints in force' -e '^  ' "$THEMIS_BUILD/quickstart.$example"
    done
    themis_say "servers, and the jobs that have not left yet"
    themis status || status=1
    themis_say "files and their stripes"
    themis stat themis:/cube themis:/btio || status=1
    themis_say "hints of cube's file; auto: decided call by call, themis_..._used is what the last call took"
    sed -n '/^  /p' "$THEMIS_BUILD/quickstart.cube"
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
Your own program, built as always with mpicc:
    PATH=$THEMIS_PREFIX/bin:\$PATH
    themis run -s 2 -- mpirun.mpich -n 4 ./program themis:/file
END
else
    themis_say "quickstart: FAILED (status $status), after $took s"
fi
exit $status
