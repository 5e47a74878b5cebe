#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library in front of programs that it does not serve: of Open MPI, in C, Fortran and Python; without MPI; and of MPICH,
# where its core is missing. And of programs that load their MPI late.
# timeout: 200
. "$(dirname "$0")/lib/testlib.sh"

if [ -n "${THEMIS_VARIANT-}" ]; then
    skip "programs that are not served" "a sanitizer has to come first in them"
    finish
fi
entry=$THEMIS_PREFIX/lib/libthemis-mpiio.so
# As root, with more ranks than processors, and on this machine alone.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated
OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_plm
export OMPI_MCA_btl OMPI_MCA_oob_tcp_if_include
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
mpicc.openmpi -o "$T/hello" "$THEMIS_SRC/examples/hello_mpiio.c" || exit 1
ompi="$run mpirun.openmpi -n 2"
line='^themis: error: themis:/f: the program runs on Open MPI v[0-9.]*, .* build the program with MPICH$'
# shellcheck disable=SC2086 # words of a command
{
    check "a program of Open MPI works on its own files" tells 0 themis: $ompi "$T/hello" "$T/hello.file"
    check "which are where it says" [ -s "$T/hello.file" ]
    check "a themis: file is an error of its own, for which its handler is called; one line says why; then other files work" \
        tells 1 "$line" $ompi "$own" open themis:/f "$T/local"
    check "a file cannot be removed" tells 1 "$line" $run "$own" delete themis:/f
    check "so with ROMIO_FSTYPE_FORCE" tells 1 '^themis: error: /f: the program runs on Open MPI' env ROMIO_FSTYPE_FORCE=themis: $run "$own" delete /f
    check "a program that loads Open MPI late" tells 1 "$line" $ompi "$T/late" "$own.so" open themis:/f "$T/local"
    check "its own files" tells 0 themis: $ompi "$T/late" "$own.so" use "$T/local"
}
none "it gets nothing of UCX or the core with this library" "$(LD_PRELOAD=$entry ldd "$own" | grep -E 'libuc[mpst]\.|mpiio-mpich')"

cat >"$T/open.f90" <<'END'
program open
    use mpi
    implicit none
    integer :: file, code, class
    character(len=200) :: name

    call MPI_Init(code)
    call get_command_argument(1, name)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR + MPI_MODE_CREATE, MPI_INFO_NULL, file, code)
    call MPI_Error_class(code, class, code)
    if (class == MPI_ERR_NO_SUCH_FILE) print *, 'absent'
    if (class == MPI_SUCCESS) print *, 'opened'
    call MPI_Finalize(code)
end program
END
# Debian's wrapper would find what the alternative libmpi.so stands for, which may be MPICH.
# shellcheck disable=SC2046,SC2086
if command -v mpifort.openmpi >/dev/null &&
    mpifort.openmpi $(mpicc.openmpi --showme:libdirs | sed 's/^\| / -L/g') -o "$T/open" "$T/open.f90" 2>"$T/out"; then
    check "a Fortran program opens its own file" tells 1 opened $run "$T/open" "$T/fortran.file"
    check "and not one of ours" tells 2 "$line\\|absent" $run "$T/open" themis:/f
else
    skip "a Fortran program" "no mpifort.openmpi that works"
fi

cat >"$T/open.py" <<'END'
import os
import sys
from mpi4py import MPI

world = MPI.COMM_WORLD


def say(word):
    """In one write: the lines of two ranks do not run into each other."""
    os.write(1, f"{word}\n".encode())


try:
    file = MPI.File.Open(world, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)
    file.Write_at_all(8 * world.rank, b"rank %3d" % world.rank)
    file.Sync()
    world.Barrier()
    other = (world.rank + 1) % world.size
    read = bytearray(8)
    file.Read_at_all(8 * other, read)
    file.Close()
    if read == b"rank %3d" % other:
        say("compared")
except MPI.Exception as error:
    if error.Get_error_class() == MPI.ERR_NO_SUCH_FILE:
        say("absent")
END
# shellcheck disable=SC2086
if /usr/bin/python3 -c 'import mpi4py.MPI as m; assert m.get_vendor()[0] == "Open MPI"' 2>/dev/null; then
    check "mpi4py on its own files" tells 2 compared $ompi /usr/bin/python3 "$T/open.py" "$T/python.file"
    check "and on one of ours: an error on each rank, one line" tells 3 "$line\\|absent" $ompi /usr/bin/python3 "$T/open.py" themis:/f
    check "the line is there once" [ "$(grep -c "$line" "$T/out")" = 1 ]
else
    skip "mpi4py" "that of Open MPI is not installed"
fi
finish
