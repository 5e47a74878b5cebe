#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# PnetCDF and its own tests, from the distribution's source: with the library in front, on ufs: and on themis: files of 2
# servers.
#
# PnetCDF looks at a file with open(2) and access(2) before it opens it with MPI, and there is nothing under that path. The
# programs for which this matters are listed below with what they miss; their failure is no failure of the script, and they
# run once more with test/lib/posix_shim.c, which lets those calls find the file where it only has to be looked at.
# on request: fetches and builds PnetCDF, which takes minutes
# timeout: 3000
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/adio/romio/source.sh"

opened="ncmpi_open looks at the file with open(2)"
asked="ncmpi_create asks access(2) whether the file is there"
made="it makes its file with fopen(3)"
# known PROGRAM: prints why it cannot work on themis:, or fails.
known() {
    case $1 in
    alignment_test | column_wise | dim_cdf12 | erange_fill | error_precedence | flexible | header_consistency | interleaved | \
        ivarn | mcoll_perf | mix_collectives | nonblocking | one_record | pres_temp_4D_rd | redef1 | scalar | t_nc | test_vard | \
        test_vard_rec | test_varm | tst_atts | tst_atts3 | tst_def_var_fill | tst_dimsizes | tst_free_comm | tst_info | \
        tst_names | tst_nofill | tst_norm | tst_small | vectors) echo "$opened" ;;
    noclobber) echo "$asked" ;;
    tst_misc) echo "$made" ;;
    *) return 1 ;;
    esac
}

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
for shim in yield_shim posix_shim; do
    gcc -O2 -fPIC -shared -o "$T/$shim.so" "$THEMIS_SRC/test/lib/$shim.c" -ldl || exit 1
done

# program RANKS PATH ARGUMENT...: a failure is an exit status, or the words of PnetCDF's tests.
program() {
    status=0
    limit 200 ranks "$@" </dev/null >"$T/out" 2>&1 || status=$?
    [ "$status" = 0 ] && ! grep -aq 'fail with' "$T/out"
}

# with_posix RANKS PATH ARGUMENT...
with_posix() {
    EXTRA_PRELOAD=$T/yield_shim.so:$T/posix_shim.so
    POSIX_SHIM_DIRECTORY=$directory
    export POSIX_SHIM_DIRECTORY
    program "$@" && with_posix=0 || with_posix=1
    unset POSIX_SHIM_DIRECTORY
    EXTRA_PRELOAD=$T/yield_shim.so
    return "$with_posix"
}

# tell TEXT: what a program that failed has said.
tell() {
    not_ok "$1 (status $status)"
    grep -a -v '^ *$' "$T/out" | cut -c1-200 | head -n 20 | sed 's/^/# /'
}

on_ufs() {
    if program "$1" "$2" "ufs:$T/ufs/$3"; then ok "$4 on ufs: ($1 ranks)"; else tell "$4 on ufs: ($1 ranks)"; fi
}

on_themis() {
    text="$4 on themis: ($1 ranks)"
    if program "$1" "$2" "themis:$directory/$3"; then
        ok "$text"
        return
    elif ! why=$(known "$4"); then
        tell "$text"
        return
    fi
    skip "$text" "$why"
    [ "$why" != "$made" ] || return 0
    text="$4 on themis: ($1 ranks), those calls finding the file"
    if with_posix "$1" "$2" "themis:$directory/$3"; then ok "$text"; else tell "$text"; fi
}

# both RANKS DIRECTORY PROGRAM [FILE]: the file's name is the program's if it is not given.
both() {
    on_ufs "$1" "$build/test/$2/$3" "${4:-$3.nc}" "$3"
    on_themis "$1" "$build/test/$2/$3" "${4:-$3.nc}" "$3"
}

# programs DIRECTORY: the names of those that were built there.
programs() {
    find "$build/test/$1" -maxdepth 1 -type f -perm -u+x ! -name '*.sh' -exec basename {} \; | sort
}

start_servers 2
directory=/pnetcdf-of-themis # not to be found here
check "a directory for the files" limit 30 themis mkdir "themis:$directory"
EXTRA_PRELOAD=$T/yield_shim.so
cd "$T/work" || exit 1
for where in testcases nonblocking header; do
    for name in $(programs $where); do both 4 $where "$name"; done
done
for name in cdf_type dim_cdf12; do both 4 cdf_format $name; done
both 4 C pres_temp_4D_wr pres_temp_4D.nc
both 4 C pres_temp_4D_rd pres_temp_4D.nc
# nc_test alone takes a directory.
for name in $(programs nc_test | grep -v '^nc_test$'); do both 1 nc_test "$name"; done
finish
