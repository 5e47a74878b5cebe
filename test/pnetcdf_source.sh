#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# PnetCDF and its own tests, from the distribution's source: with the libraries in front, on ufs:, and on files of 2 servers by
# names below the mount point, without a prefix and with it. PnetCDF looks at a file with open(2) and access(2), the prefix
# cut off, before it opens it with MPI.
# on request: fetches and builds PnetCDF, which takes minutes
# timeout: 3000
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/adio/romio/source.sh"

case ${THEMIS_VARIANT-} in
asan | tsan)
    skip "PnetCDF's own tests" "they run in a normal build"
    finish
    ;;
esac
cache=$THEMIS_BUILD/pnetcdf-source
source=$cache/pnetcdf
build=$cache/build
mkdir -p "$cache" "$build" "$T/ufs" "$T/work"

fetch() {
    [ ! -e "$source" ] || return 0
    [ -n "$(source_archive "$cache" pnetcdf)" ] || source_download "$cache" pnetcdf || return 1
    source_unpack "$(source_archive "$cache" pnetcdf)" "$source"
}

# make_it: the library and its test programs, none of them run.
make_it() {
    [ -e "$source/configure" ] || (cd "$source" && autoreconf -fi) || return 1
    cd "$build" || return 1
    [ -e Makefile ] || "$source/configure" MPICC=mpicc.mpich --disable-fortran --disable-cxx CFLAGS="-O1 -w" || return 1
    nice make -j"$(nproc)" && nice make -j"$(nproc)" -C test tests
}

if ! fetch >"$T/fetch.log" 2>&1; then
    skip "PnetCDF's own tests" "$(tail -n 1 "$T/fetch.log")"
    finish
fi
unset MAKEFLAGS
check "PnetCDF is built" make_it || finish

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
gcc -O2 -fPIC -shared -o "$T/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || exit 1

# program RANKS PATH ARGUMENT...: a failure is an exit status, or the words of PnetCDF's tests.
program() {
    status=0
    limit 200 ranks "$@" </dev/null >"$T/out" 2>&1 || status=$?
    [ "$status" = 0 ] && ! grep -aq 'fail with' "$T/out"
}

# on PREFIX RANKS PROGRAM FILE NAME
on() {
    text="$5 on $1 ($2 ranks)"
    if program "$2" "$3" "$4"; then
        ok "$text"
    else
        not_ok "$text (status $status)"
        grep -a -v '^ *$' "$T/out" | cut -c1-200 | head -n 20 | sed 's/^/# /'
    fi
}

# all RANKS DIRECTORY PROGRAM [FILE]: the file's name is the program's if it is not given.
all() {
    set -- "$1" "$build/test/$2/$3" "${4:-$3.nc}" "$3"
    on ufs: "$1" "$2" "ufs:$T/ufs/$3" "$4"
    on "$directory" "$1" "$2" "$directory/plain/$3" "$4"
    on "themis:$directory" "$1" "$2" "themis:$directory/prefix/$3" "$4"
}

# programs DIRECTORY: the names of those that were built there.
programs() {
    find "$build/test/$1" -maxdepth 1 -type f -perm -u+x ! -name '*.sh' -exec basename {} \; | sort
}

start_servers 2
export THEMIS_MOUNT=/themis
directory=/themis
check "directories for the files" limit 30 themis mkdir themis:/plain themis:/prefix
EXTRA_PRELOAD=$T/yield_shim.so:$THEMIS_PREFIX/lib/libthemis-posix.so
cd "$T/work" || exit 1
for where in testcases nonblocking header; do
    for name in $(programs $where); do all 4 $where "$name"; done
done
for name in cdf_type dim_cdf12; do all 4 cdf_format $name; done
all 4 C pres_temp_4D_wr pres_temp_4D.nc
all 4 C pres_temp_4D_rd pres_temp_4D.nc
# nc_test alone takes a directory.
for name in $(programs nc_test | grep -v '^nc_test$'); do all 1 nc_test "$name"; done
finish
