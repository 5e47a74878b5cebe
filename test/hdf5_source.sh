#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# HDF5's own parallel tests (testpar/ of its source), built against the installed parallel HDF5: with the library in front,
# on ufs: and on themis: files of 2 servers.
# on request: fetches the source of HDF5, and takes minutes
# timeout: 1500
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/adio/romio/source.sh"

case ${THEMIS_VARIANT-} in
asan | tsan)
    skip "HDF5's own tests" "with lib$THEMIS_VARIANT preloaded, and nothing of ours, they block in MPI_Init on a lock of glibc's locale"
    finish
    ;;
esac
pkg-config --exists hdf5-mpich || {
    skip "HDF5's own tests" "libhdf5-mpich-dev is not installed"
    finish
}

cache=$THEMIS_BUILD/hdf5-source
source=$cache/hdf5
fetch() {
    [ ! -e "$source" ] || return 0
    version=$(dpkg-query -W -f '${source:Version}' libhdf5-mpich-dev)
    [ -n "$(source_archive "$cache" hdf5)" ] || source_download "$cache" hdf5 "$version" || return 1
    source_unpack "$(source_archive "$cache" hdf5)" "$source" '*/src' '*/test' '*/testpar' '*/COPYING'
}
mkdir -p "$cache"
if ! fetch >"$T/fetch.log" 2>&1; then
    skip "HDF5's own tests" "$(tail -n 1 "$T/fetch.log")"
    finish
fi

# The private headers are those of the source, H5pubconf.h is that of the installed library.
mkdir -p "$T/include" "$T/bin" "$T/ufs" "$T/work"
sed 's|@srcdir@|.|' "$source/test/H5srcdir_str.h.in" >"$T/include/H5srcdir_str.h"

# compile PROGRAM FILE...: from these files of testpar/.
compile() {
    program=$1
    shift
    # shellcheck disable=SC2046 # words of a command
    (cd "$source/testpar" && mpicc.mpich -w -O1 -o "$T/bin/$program" -I"$T/include" $(pkg-config --cflags hdf5-mpich) \
        -I"$source/src" -I"$source/test" -I. "$@" ../test/h5test.c ../test/testframe.c $(pkg-config --libs hdf5-mpich) -lm)
}

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
gcc -O2 -fPIC -shared -o "$T/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || exit 1
EXTRA_PRELOAD=$T/yield_shim.so

# case_on PREFIX RANKS PROGRAM ARGUMENT...
case_on() {
    HDF5_PARAPREFIX=$1 text="$3 on ${1%%:*}: ($2 ranks)" n=$2 program=$3
    export HDF5_PARAPREFIX
    shift 3
    status=0
    limit 300 ranks "$n" "$T/bin/$program" "$@" </dev/null >"$T/out" 2>&1 || status=$?
    if [ "$status" = 0 ] && ! grep -q 'FAILED' "$T/out"; then
        ok "$text"
        return
    fi
    not_ok "$text (status $status)"
    grep -v '^Testing' "$T/out" | tail -n 30 | sed 's/^/# /'
}

# Parts of testphdf5 that make or open the file with open(2): by the name without the prefix, and by that with it, which
# works with no prefix.
by_path="fltread cmpdsetr"
by_name="calloc atomicity"

# without NAME...: the options that leave these parts out.
without() { printf ' -x %s' "$@"; }

all_on() {
    # t_prestart reads what t_pshutdown left behind.
    case_on "$1" 2 t_pshutdown
    case_on "$1" 2 t_prestart
    case_on "$1" 4 t_shapesame
    left_out=$by_name
    [ "$1" != themis: ] || left_out="$left_out $by_path"
    # shellcheck disable=SC2046,SC2086 # lists of words
    case_on "$1" 4 testphdf5 $(without $left_out)
    for part in $left_out; do
        skip "$part of testphdf5 on ${1%%:*}:" "it opens the file with open(2)"
    done
}

for program in t_pshutdown t_prestart t_shapesame; do
    check "$program compiles" compile $program $program.c
done
check "testphdf5 compiles" compile testphdf5 testphdf5.c t_dset.c t_file.c t_file_image.c t_mdset.c t_ph5basic.c \
    t_coll_chunk.c t_span_tree.c t_chunk_alloc.c t_filter_read.c t_prop.c t_coll_md_read.c
start_servers 2
cd "$T/work" || exit 1 # where they leave what they make beside
all_on "ufs:$T/ufs"
all_on themis:
finish
