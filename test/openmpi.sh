#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library in front of programs of Open MPI, in C, Fortran and Python, which its core for Open MPI serves; of programs that
# it does not serve: without MPI, or where the core is missing. And of programs that load their MPI late.
#
#   sh test/openmpi.sh --romio    all of ROMIO's test programs, compiled with Open MPI
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"

if [ -n "${THEMIS_VARIANT-}" ]; then
    skip "programs that are not served" "a sanitizer has to come first in them"
    finish
fi
entry=$THEMIS_PREFIX/lib/libthemis-mpiio.so
# As root, with more ranks than processors, and on this machine alone.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated
OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_plm
export OMPI_MCA_btl OMPI_MCA_oob_tcp_if_include OMPI_MCA_mpi_yield_when_idle
start_servers 1

# tells N WORDS COMMAND...: it succeeds, and of what it writes N lines have these words; none has a backtrace.
tells() {
    wanted=$1 words=$2
    shift 2
    if timeout -k 5 60 "$@" </dev/null >"$T/out" 2>&1 && [ "$(grep -c -e "$words" "$T/out")" = "$wanted" ] && ! grep -i backtrace "$T/out"; then
        return 0
    fi
    cat "$T/out"
    return 1
}
run="themis run -q --"

# --- without MPI

crash() {
    status=0
    # shellcheck disable=SC2016 # expanded by the command
    timeout 20 themis run -q -- sh -c 'kill -SEGV $$' </dev/null >"$T/out" 2>&1 || status=$?
    cat "$T/out"
    [ "$status" = 139 ] && [ ! -s "$T/out" ]
}
check "a shell that crashes prints nothing of ours" crash
# shellcheck disable=SC2086,SC2016 # words of a command; expanded by the command
{
    check "a program without MPI has this library in front" sh -c "$run cat /proc/self/maps | grep -q '$entry'"
    none "and none of UCX, MPI or the core" "$($run cat /proc/self/maps | grep -E 'libuc[mpst]\.|libmpi|mpiio-mpich')"
    none "no signal handler" "$($run cat /proc/self/status | grep '^SigCgt:' | grep -v '0000000000000000$')"
}
check "no thread, and an unchanged environment" [ "$(env -i LD_PRELOAD="$entry" /usr/bin/env; env -i LD_PRELOAD="$entry" \
    /bin/ls /proc/self/task | wc -l)" = "LD_PRELOAD=$entry
1" ]

# --- MPICH

own=$T/own_io
mpicc.mpich -Wall -Werror -o "$own.mpich" "$THEMIS_SRC/test/adio/own_io.c" || exit 1
mpicc.mpich -Wall -Werror -fPIC -shared -DLATE -o "$own.mpich.so" "$THEMIS_SRC/test/adio/own_io.c" || exit 1
gcc -Wall -Werror -o "$T/late" "$THEMIS_SRC/test/adio/late.c" -ldl || exit 1
mkdir "$T/alone"
cp "$entry" "$T/alone"

check "a program that loads MPICH late is served" limit 60 ranks 2 "$T/late" "$own.mpich.so" use themis:/late
check "the file is on the server" limit 30 themis stat themis:/late
alone="mpirun.mpich -n 2 -genv LD_PRELOAD $T/alone/libthemis-mpiio.so"
# shellcheck disable=SC2086
{
    check "without the core one line names where it was looked for" \
        tells 1 "^themis: error: themis:/f: $T/alone/libthemis-mpiio-mpich.so, .* cannot be loaded: .*No such file" $alone "$own.mpich" open themis:/f "$T/local"
    check "it is looked for where the library was loaded, also from a relative name in a program that went elsewhere" \
        tells 1 "themis:/f: $T/alone/libthemis-mpiio-mpich.so, .* cannot be loaded" mpirun.mpich -n 2 -wdir "$T" \
        -genv LATE_DIRECTORY / -genv LD_PRELOAD ./alone/libthemis-mpiio.so "$T/late" "$own.mpich.so" open themis:/f "$T/local"
    check "other files are as without the library" tells 0 themis $alone "$own.mpich" use "ufs:$T/local"
}

# --- Open MPI

if ! command -v mpicc.openmpi >/dev/null || ! command -v mpirun.openmpi >/dev/null; then
    skip "programs of Open MPI" "it is not installed"
    finish
fi
mpicc.openmpi -Wall -Werror -o "$own" "$THEMIS_SRC/test/adio/own_io.c" || exit 1
mpicc.openmpi -Wall -Werror -fPIC -shared -DLATE -o "$own.so" "$THEMIS_SRC/test/adio/own_io.c" || exit 1
ompi="$run mpirun.openmpi -n 2"
line='^themis: error: themis:/f: the program runs on Open MPI v[0-9.]*, .* build the program with MPICH, or Themis with Open MPI .*$'
bare="mpirun.openmpi -n 2 -x LD_PRELOAD=$T/alone/libthemis-mpiio.so"
# shellcheck disable=SC2086 # words of a command
{
    check "without the core, a program of Open MPI works on its own files" tells 0 themis: $bare "$own" use "$T/bare"
    check "a themis: file is an error of its own, for which its handler is called; one line says why; then other files work" \
        tells 1 "$line" $bare "$own" open themis:/f "$T/local"
    check "a file cannot be removed" tells 1 "$line" env LD_PRELOAD="$T/alone/libthemis-mpiio.so" "$own" delete themis:/f
    check "so with ROMIO_FSTYPE_FORCE" tells 1 '^themis: error: /f: the program runs on Open MPI' env ROMIO_FSTYPE_FORCE=themis: \
        LD_PRELOAD="$T/alone/libthemis-mpiio.so" "$own" delete /f
    check "a program that loads Open MPI late" tells 1 "$line" $bare "$T/late" "$own.so" open themis:/f "$T/local"
}
none "it gets nothing of UCX or the cores with this library" "$(LD_PRELOAD=$entry ldd "$own" | grep -E 'libuc[mpst]\.|mpiio-')"

if [ ! -e "$THEMIS_PREFIX/lib/libthemis-mpiio-ompi.so" ]; then
    skip "programs of Open MPI on themis:" "Themis was built without Open MPI"
    finish
fi

# served TEXT RANKS COMMAND...: it succeeds, without an error of ours.
served() {
    text=$1 n=$2
    shift 2
    # shellcheck disable=SC2086
    check "$text" tells 0 '^themis: error' $run mpirun.openmpi -n "$n" "$@"
}

# build NAME SOURCE OPTION...: with the wrapper for its language. Debian's for Fortran would find what the alternative
# libmpi.so stands for, which may be MPICH.
mkdir -p "$T/bin"
build() {
    name=$1 source=$2
    shift 2
    case $source in
    # shellcheck disable=SC2046
    *.f*) mpifort.openmpi -w -fallow-argument-mismatch -J "$T" -o "$T/bin/$name" "$source" "$@" $(mpicc.openmpi --showme:libdirs | sed 's/^\| / -L/g') ;;
    *) mpicc.openmpi -w -O1 -I"$THEMIS_SRC" -I"$THEMIS_SRC/examples" -o "$T/bin/$name" "$source" "$@" ;;
    esac >"$T/out" 2>&1 && return 0
    cat "$T/out"
    return 1
}

# --- ROMIO's own programs

romio=$(readlink -f "$THEMIS_BUILD/adio/romio-build-ompi/source/adio")/../test
romio_configured=$THEMIS_BUILD/adio/romio-build-ompi/test
# romio_program NAME RANKS ARGUMENT...
romio_program() {
    name=$1 n=$2
    shift 2
    source=$romio/$name.c
    [ -e "$source" ] || source=$romio_configured/$name.c
    # The array of coll_perf has 14 GB; with 28 MB the pattern is the same.
    [ "$name" != coll_perf ] || { sed 's/128 \* /16 * /' "$source" >"$T/coll_perf.c" && source=$T/coll_perf.c; }
    build "$name" "$source" || { not_ok "ROMIO's $name compiles" && return; }
    served "ROMIO's $name, $n ranks" "$n" "$T/bin/$name" "$@"
    case $name in
    perf | coll_perf) ! grep -qiE 'error|wrong' "$T/out" ;;
    *) grep -q 'No Errors' "$T/out" ;;
    esac || not_ok "ROMIO's $name finds no errors"
}
romio_all() {
    for name in simple async async-multiple atomicity coll_test excl file_info misc shared_fp ordered_fp \
        split_coll psimple perf creat_excl; do
        romio_program "$name" 4 -fname "themis:/$name"
    done
    romio_program types_with_zeros 2 themis:/types_with_zeros
    for name in noncontig noncontig_coll noncontig_coll2 i_noncontig; do
        skip "ROMIO's $name" "it uses MPI_LB and MPI_UB, which Open MPI's mpi.h refuses"
    done
    for name in aggregation2 hindexed darray_read big_extents; do
        romio_program "$name" 4 "themis:/$name"
    done
    romio_program aggregation1 4 -h -f themis:/aggregation1
    romio_program coll_perf 2 -fname themis:/coll_perf
    for name in error status; do
        romio_program "$name" 1 -fname "themis:/$name"
    done
}
if [ "${1-}" = --romio ]; then
    romio_all
    finish
fi

# --- programs in C

served "a program of Open MPI on themis:" 4 "$own" use themis:/served
check "the file is on the server" limit 30 themis stat themis:/served
served "its other files are Open MPI's" 4 "$own" use "$T/own_file"
check "which are where it says" [ -s "$T/own_file" ]
served "one that loads Open MPI late" 4 "$T/late" "$own.so" use themis:/late_too
fixed() {
    # shellcheck disable=SC2086
    ROMIO_FSTYPE_FORCE=themis: tells 0 '^themis: ' $run mpirun.openmpi -n 2 "$own" use /fixed && limit 30 themis stat themis:/fixed
}
check "fixed file names, with ROMIO_FSTYPE_FORCE" fixed
for name in hello_mpiio cube btio; do
    build "$name" "$THEMIS_SRC/examples/$name.c" "$THEMIS_SRC/examples/example.c" -lm || exit 1
done
served "the example hello_mpiio" 4 "$T/bin/hello_mpiio" themis:/hello
served "cube" 4 "$T/bin/cube" --size 48 themis:/cube
served "cube in two phases" 4 "$T/bin/cube" --size 48 --hint themis_collective=twophase themis:/cube2
served "btio" 4 "$T/bin/btio" --size 37 themis:/btio

for name in handlers features errors finalize; do
    build "$name" "$THEMIS_SRC/test/adio/$name.c" -lpthread || exit 1
done
for name in own default; do
    served "error handlers: $name" 2 "$T/bin/handlers" $name themis:/$name
done
# Open MPI 4.1.4's mpirun sometimes cannot read the text that ranks send it, and says so.
fatal() {
    # shellcheck disable=SC2086
    ! timeout -k 5 60 $ompi "$T/bin/handlers" fatal themis:/fatal >"$T/out" 2>&1 && ! grep -q 'came back' "$T/out" &&
        grep -qE 'MPI_ERRORS_ARE_FATAL|unpack would read past end of buffer in .*show_help' "$T/out" && return 0
    cat "$T/out"
    return 1
}
check "MPI_ERRORS_ARE_FATAL ends the job" fatal
for name in modes gaps views threads first-files; do
    served "features: $name" 4 "$T/bin/features" $name themis:/$name
done
for name in wrong-buffer wrong-view wrong-argument; do
    served "errors: $name" 4 "$T/bin/errors" $name themis:/$name
done
for name in closed-late fortran never; do
    served "files that are open in MPI_Finalize: $name" 3 "$T/bin/finalize" $name "themis:/$name.a" "themis:/$name.b"
done
for name in async shared_fp split_coll; do
    romio_program $name 4 -fname themis:/$name
done
romio_program error 1 -fname themis:/error
mpicc.openmpi -O1 -o "$T/bin/random_order" -I"$THEMIS_SRC" "$THEMIS_SRC"/test/order/*.c || exit 1
served "random programs" 4 "$T/bin/random_order" --seeds "$(date +%s)" 20 --rules documented themis:/order

# --- Fortran

# shellcheck disable=SC2086
if command -v mpifort.openmpi >/dev/null && build handlers_f "$THEMIS_SRC/test/adio/handlers.f90"; then
    served "a Fortran program's error handler" 2 "$T/bin/handlers_f" own themis:/own_f
    served "MPI_ERRORS_RETURN and the classes in Fortran" 2 "$T/bin/handlers_f" return themis:/return_f
else
    skip "Fortran programs" "no mpifort.openmpi that works"
fi

# --- libraries

if [ -e /usr/include/hdf5/openmpi/hdf5.h ]; then
    # shellcheck disable=SC2046
    for source in examples/hdf5_slab.c test/adio/finalize_hdf5.c; do
        build "$(basename $source .c)" "$THEMIS_SRC/$source" $(pkg-config --cflags --libs hdf5-openmpi) || exit 1
    done
    served "parallel HDF5" 4 "$T/bin/hdf5_slab" themis:/slab.h5 512 384 100
    served "a file that HDF5 closes in MPI_Finalize" 3 "$T/bin/finalize_hdf5" write themis:/finalize.h5
    served "holds what was written" 3 "$T/bin/finalize_hdf5" read themis:/finalize.h5
else
    skip "parallel HDF5" "that of Open MPI is not installed"
fi
if [ -e /usr/include/pnetcdf.h ] && build pnetcdf_slab "$THEMIS_SRC/test/adio/pnetcdf_slab.c" -lpnetcdf; then
    served "PnetCDF" 4 "$T/bin/pnetcdf_slab" themis:/slab.nc
    check "its file is complete" sh -c "themis cat themis:/slab.nc | head -c 4 | od -c | grep -q 'C   D   F 005'"
else
    skip "PnetCDF" "it is not installed, or not that of Open MPI"
fi

# --- Python

# shellcheck disable=SC2086
if /usr/bin/python3 -c 'import mpi4py.MPI as m; assert m.get_vendor()[0] == "Open MPI"' 2>/dev/null; then
    served "mpi4py: collective, non-blocking, split, shared, views, errors" 4 /usr/bin/python3 "$THEMIS_SRC/test/adio/mpi4py_io.py" themis:/python
else
    skip "mpi4py" "that of Open MPI is not installed"
fi
finish
