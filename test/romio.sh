#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ROMIO's own test programs, from the source that libthemis-mpiio was built from: with the library on ufs: and on themis:
# files of 2 servers, 4 ranks where a program allows it. One that fails on ufs: runs with the MPI library alone too, to
# tell whether the failure is ours.
#
#   sh test/romio.sh --forced "METHOD PLACEMENT"...    on themis: only, all collective calls in two phases with these file
#                                                      domains and aggregators in turn, ranks as if on two nodes; without
#                                                      pairs, all 18 of them, which takes some minutes
#   sh test/romio.sh --plain                           by names below the mount point, without any prefix
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

romio=$(readlink -f "$THEMIS_BUILD/adio/romio-build/source/adio")/..
configured=$THEMIS_BUILD/adio/romio-build/test
programs=$THEMIS_BUILD/test/romio
mkdir -p "$programs"

# compile NAME SOURCE: unless the program is up to date.
compile() {
    [ "$programs/$1" -nt "$2" ] && return 0
    case $2 in
    *.f) mpifort.mpich -w -o "$programs/$1" "$2" ;;
    *) mpicc.mpich -w -O1 -o "$programs/$1" "$2" ;;
    esac >"$programs/$1.log" 2>&1 && return 0
    not_ok "$1 compiles"
    sed 's/^/# /' "$programs/$1.log"
    return 1
}

# change NAME EDIT...: a copy of a program with changes, in $T/src.
mkdir -p "$T/src"
change() {
    name=$1
    shift
    sed "$@" "$romio/test/$name.c" >"$T/src/$name.c"
    touch -r "$THEMIS_SRC/test/romio.sh" "$T/src/$name.c"
}

# The array of coll_perf has 14 GB; with 28 MB the pattern is the same.
change coll_perf -e 's/128 \* /16 * /'
# That of large_array has 4 GiB, and its ranks want 16. Here each row of 4 KiB is followed by 60 KiB that are not accessed:
# the type and the file have 5 GiB, of which 320 MiB are written and read.
change large_array -e 's/MPI_Datatype newtype;/MPI_Datatype newtype, row;/' -e 's/\(gsizes\[0\] =\) 1024;/\1 256;/' \
    -e 's/\(gsizes\[1\] =\) 1024;/\1 320;/' -e 's/\(gsizes\[2\] =\) 4 \* 1024 .*;/\1 1;/' \
    -e 's/^\( *\)MPI_Type_create_darray/\1MPI_Type_contiguous(1024, MPI_INT, \&row);\n\1MPI_Type_create_resized(row, 0, 65536, \&row);\n&/' \
    -e 's/order, MPI_INT, &newtype/order, row, \&newtype/'
# external32 reads the bytes of its file from a local disk.
change external32 -e 's|fopen(TEST_FILENAME, "r")|popen("env -u LD_PRELOAD themis cat themis:/" TEST_FILENAME, "r")|' -e 's/fclose(/pclose(/'
mv "$T/src/external32.c" "$T/src/external32_themis.c"
free_gib() { awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo; }
for path in "$romio"/test/*.c "$configured"/*.c "$configured"/*.f "$T/src/external32_themis.c"; do
    case $path in
    */coll_perf.c | */large_array.c) path=$T/src/$(basename "$path") ;;
    esac
    name=$(basename "$path" | sed 's/\.[cf]$//')
    compile "$name" "$path"
done

# Ranks outnumber the processors here: a poll that finds nothing gives the processor away.
cc_shim() { gcc -O2 -fPIC -shared -o "$programs/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl; }
[ "$programs/yield_shim.so" -nt "$THEMIS_SRC/test/lib/yield_shim.c" ] || cc_shim || exit 1
EXTRA_PRELOAD=$programs/yield_shim.so

# quiet NAME: programs that do not print "No Errors" on success.
quiet() { case $1 in perf | fperf | coll_perf | large_file | big_extents | external32 | external32_themis | large_array) ;; *) return 1 ;; esac }

# verdict NAME STATUS OUTPUT
verdict() {
    [ "$2" = 0 ] || return 1
    ! grep -qE 'Found +[0-9]+ +error|is wrong|should be' "$3" || return 1
    [ "$1" != large_array ] || [ "$(grep -c 'data read back is correct' "$3")" = 4 ] || return 1
    quiet "$1" || grep -q 'No Errors' "$3"
}

# program NAME RANKS ARGUMENT...
program() {
    name=$1 n=$2
    shift 2
    status=0
    limit 120 ranks "$n" "$programs/$name" "$@" </dev/null >"$T/out" 2>&1 || status=$?
    verdict "$name" "$status" "$T/out"
}

stock() {
    name=$1 n=$2
    shift 2
    status=0
    timeout -k 5 120 mpirun.mpich -n "$n" -genv LD_PRELOAD="$EXTRA_PRELOAD" "$programs/$name" "$@" </dev/null \
        >"$T/out.stock" 2>&1 || status=$?
    verdict "$name" "$status" "$T/out.stock"
}

# case_on PREFIX NAME RANKS ARGUMENT...
case_on() {
    prefix=$1 text="$2 on $1 ($3 ranks)"
    shift
    if program "$@"; then
        ok "$text"
    elif [ "$prefix" = ufs: ] && ! stock "$@"; then
        skip "$text" "fails with the MPI library alone as well"
    else
        not_ok "$text (status $status)"
        head -n 30 "$T/out" | sed 's/^/# /'
    fi
}

# overlaps NAME: programs whose ranks write the same bytes concurrently.
overlaps() { case $1 in misc | fmisc) ;; *) return 1 ;; esac }
# all_on PREFIX FILE
all_on() {
    for name in simple async async-multiple atomicity coll_test excl file_info noncontig_coll2 misc shared_fp ordered_fp \
        split_coll psimple perf creat_excl fmisc fcoll_test pfcoll_test fperf; do
        if [ "$THEMIS_VARIANT$1" = tsanthemis: ] && overlaps "$name"; then
            skip "$name on $1" "its ranks write the same bytes concurrently, which the thread sanitizer reports as a race in the server"
        else
            case_on "$1" "$name" 4 -fname "$2.$name"
        fi
    done
    for name in noncontig i_noncontig noncontig_coll; do
        case_on "$1" "$name" 2 -fname "$2.$name"
    done
    for name in aggregation2 hindexed darray_read big_extents; do
        case_on "$1" "$name" 4 "$2.$name"
    done
    case_on "$1" aggregation1 4 -h -f "$2.aggregation1"
    case_on "$1" types_with_zeros 2 "$2.types_with_zeros"
    case_on "$1" coll_perf 2 -fname "$2.coll_perf"
    for name in error status; do
        case_on "$1" "$name" 1 -fname "$2.$name"
    done
}

# local_dir: a directory with room for 4 GiB.
local_dir() {
    if [ "$(df -BG --output=avail /dev/shm 2>/dev/null | tail -n 1 | tr -dc 0-9)" -ge 5 ] && [ "$(free_gib)" -ge 8 ]; then
        echo /dev/shm
    else
        echo "$T"
    fi
}

forced() {
    printf 'themis_collective twophase\nthemis_fd_method %s\nthemis_placement %s\nstriping_unit 4096\n' "$1" "$2" >"$T/hints"
    echo "# two phases, $1, $2"
    all_on themis: "themis:/$1.$2"
}

if [ "${1-}" = --forced ]; then
    shift
    [ $# -gt 0 ] || for method in even aligned stripe-size static-cyclic group-cyclic transpose; do
        set -- "$@" "$method default" "$method locality" "$method topology"
    done
    start_servers 2
    ROMIO_HINTS=$T/hints THEMIS_FAKE_NODES=2
    export ROMIO_HINTS THEMIS_FAKE_NODES
    for pair in "$@"; do
        # shellcheck disable=SC2086 # two words
        forced $pair
    done
    finish
fi

# plain_begin: file calls of the programs below the mount point are those of the servers, too.
plain_begin() {
    EXTRA_PRELOAD=$EXTRA_PRELOAD:$THEMIS_PREFIX/lib/libthemis-posix.so
    export THEMIS_MOUNT=/themis
}
if [ "${1-}" = --plain ]; then
    start_servers 2 size=3g
    plain_begin
    all_on /themis /themis/f
    case_on /themis large_array 4 -fname /themis/large
    finish
fi

ufs=$(mktemp -d "$(local_dir)/themis-romio.XXXXXX")
trap 'rm -rf "$ufs"; testlib_clean' EXIT

all_on ufs: "ufs:$ufs/f"
case_on ufs: large_file 1 -fname "ufs:$ufs/large"
case_on ufs: large_array 4 -fname "ufs:$ufs/large"
case_on ufs: external32 1
(cd "$ufs" && cp "$romio/test/test_hintfile" hints && chmod u+w hints)
case_on ufs: syshints 1 "$ufs/hints"
rm -rf "$ufs"

start_servers 2 size=3g
all_on themis: themis:/f
if [ "$THEMIS_VARIANT" != tsan ] || [ "$(free_gib)" -ge 24 ]; then
    case_on themis: large_file 1 -fname themis:/large
else
    skip "large_file on themis:" "the thread sanitizer needs four bytes for each of the 4 GiB in the servers"
fi
case_on themis: large_array 4 -fname themis:/large
# These two open names without a prefix.
ROMIO_FSTYPE_FORCE=themis:
export ROMIO_FSTYPE_FORCE
case_on themis: external32_themis 1
check "native, external32 and internal are represented as they should be" sh -c 'grep -c LITTLE "$1" | grep -qx 2 && grep -q "external32 datarep is BIG" "$1"' \
    sh "$T/out"
cp "$romio/test/test_hintfile" "$T/hints"
limit 20 themis mkdir -p "themis:$T" && limit 20 themis cp "$T/hints" "themis:$T/hints"
case_on themis: syshints 1 "$T/hints"
unset ROMIO_FSTYPE_FORCE
remove_all() { themis ls themis:/ | while read -r name; do limit 20 themis rm -r "themis:/$name" || return 1; done; }
check "all remaining files can be removed" remove_all
case $THEMIS_VARIANT in
asan | tsan) skip "plain names" "the sanitizer intercepts the same calls" ;;
*)
    plain_begin
    for name in simple coll_test shared_fp excl misc; do case_on /themis $name 4 -fname "/themis/plain.$name"; done
    ;;
esac
finish
