#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs on files on servers through the library that themis run --posix preloads, beyond those of preload.sh: what calls
# the kernel by numbers, checks of data by fio, HDF5, netCDF and numpy on what MPI-IO wrote and on what they write
# themselves, and the examples by names without any prefix.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"

case $THEMIS_VARIANT in
asan | tsan)
    skip "programs below the mount point" "the sanitizer intercepts the same calls, and starts after them"
    finish
    ;;
esac
export THEMIS_MOUNT=/themis
posix=$THEMIS_PREFIX/lib/libthemis-posix.so
M=/themis/$(basename "$T") # which is nowhere but on the servers
src=$THEMIS_SRC/posix
bin=$THEMIS_BUILD/examples

# with PROGRAM TEXT COMMAND...: a case that needs a program.
with() {
    program=$1
    shift
    if command -v "$program" >/dev/null; then check "$@"; else skip "$1" "$program is not installed"; fi
}
# run COMMANDS: of a shell in which $M, $T and $src are set.
run() { limit 100 themis run -q --posix -- env M="$M" T="$T" src="$src" sh -ec "$1"; }
# mpi N PROGRAM...: both libraries in front.
mpi() {
    number=$1
    shift
    timeout -k 5 100 mpirun.mpich -n "$number" -genv LD_PRELOAD "$(preload):$posix" "$@"
}

start_servers 2
env LD_PRELOAD="$posix" mkdir "$M"

# --- programs that call the kernel by numbers

with patch "patch changes a file in place, and back" run 'cd "$M" && cp "$src/file.c" p.c && sed s/themis/THEMIS/ p.c >q.c && ! diff -u p.c q.c >p.diff && patch p.c p.diff && cmp p.c q.c && patch -R -b p.c p.diff && cmp p.c "$src/file.c" && cmp p.c.orig q.c'
cat >"$T/fs.js" <<'J'
const fs = require("fs"), path = require("path"), assert = require("assert");
const top = process.argv[2], p = name => path.join(top, name);
fs.mkdirSync(p("x/y"), { recursive: true });
fs.writeFileSync(p("a"), "hello");
assert.equal(fs.statSync(p("a")).size, 5);
assert.equal(fs.lstatSync(p("a")).isFile(), true);
fs.renameSync(p("a"), p("x/b"));
fs.copyFileSync(p("x/b"), p("c"));
fs.appendFileSync(p("c"), " world");
assert.equal(fs.readFileSync(p("c"), "utf8"), "hello world");
assert.deepEqual(fs.readdirSync(top).sort(), ["c", "x"]);
fs.truncateSync(p("c"), 5);
fs.utimesSync(p("c"), 1000, 2000);
assert.equal(fs.statSync(p("c")).mtimeMs, 2000000);
fs.symlinkSync("c", p("l"));
assert.equal(fs.realpathSync(p("l")), p("c"));
const fd = fs.openSync(p("c"), "r+");
fs.writeSync(fd, "J", 0);
assert.equal(fs.fstatSync(fd).size, 5);
fs.ftruncateSync(fd, 3);
fs.fsyncSync(fd);
fs.closeSync(fd);
(async () => {
  const f = fs.promises;
  assert.equal(await f.readFile(p("c"), "utf8"), "Jel");
  await f.cp(p("x"), p("z"), { recursive: true });
  await f.copyFile(p("c"), p("z/c"));
  await new Promise((done, failed) => fs.createReadStream(p("c")).pipe(fs.createWriteStream(p("s"))).on("finish", done).on("error", failed));
  assert.equal(fs.readFileSync(p("s"), "utf8"), "Jel");
  for (const name of ["x", "z", "s", "c", "l"]) await f.rm(p(name), { recursive: true });
  assert.deepEqual(await f.readdir(top), []);
})().catch(error => { console.error(error); process.exit(1); });
J
with node "node: stat, rename, copyFile, streams and rm" run 'mkdir "$M/node" && node "$T/fs.js" "$M/node"'
check "tail -f shows what others add" run ': >"$M/followed"
timeout 20 tail -f "$M/followed" >"$T/tail" &
for i in 1 2 3; do sleep 1; echo "line $i" >>"$M/followed"; done
for i in $(seq 40); do [ "$(wc -l <"$T/tail")" = 3 ] && break; sleep 0.25; done
kill $!
[ "$(wc -l <"$T/tail")" = 3 ]'

# --- checks of data

# verified ENGINE OPTION...: random writes, which fio reads again and compares.
verified() {
    engine=$1
    shift
    limit 60 env LD_PRELOAD="$posix" fio --name="$engine" --directory="$M" --ioengine="$engine" --verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 --fallocate=none --minimal "$@"
}
with fio "fio: random writes with verification, psync" verified psync --rw=randrw --bsrange=512-64k --size=4m --fsync=16 --numjobs=2
with fio "fio: the same by mmap" verified mmap --rw=randwrite --bs=4k --size=2m
with fio "fio: the same by posixaio" verified posixaio --rw=randwrite --bsrange=512-64k --size=4m --iodepth=8
if [ -x "$bin/hdf5_slab" ]; then
    check "HDF5 writes by MPI-IO, by a name without prefix" mpi 2 "$bin/hdf5_slab" "$M/slab.h5" 60 40 8
    with h5dump "h5dump reads it" run '[ "$(h5dump -d /chunked -s 59,39 -c 1,1 -m %.0f "$M/slab.h5" | sed -n "s/^ *([0-9,]*): //p")" = 2399 ]'
    with h5diff "h5diff and h5repack" run 'h5repack "$M/slab.h5" "$M/packed.h5" && h5diff "$M/slab.h5" "$M/packed.h5"'
else
    skip "h5dump of what MPI-IO wrote" "no parallel HDF5 here"
fi
# That of Debian is of Open MPI: as root, with more ranks than processors, and on this machine alone.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated
OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_plm
export OMPI_MCA_btl OMPI_MCA_oob_tcp_if_include OMPI_MCA_mpi_yield_when_idle
if [ -e /usr/include/pnetcdf.h ] && mpicc.openmpi -o "$T/slab" "$THEMIS_SRC/test/adio/pnetcdf_slab.c" -lpnetcdf >"$T/log" 2>&1; then
    check "PnetCDF writes by a name without prefix, and reads it" timeout -k 5 60 mpirun.openmpi -n 2 -x LD_PRELOAD="$(preload):$posix" "$T/slab" "$M/slab.nc"
    with ncdump "ncdump reads it" run 'ncdump "$M/slab.nc" >"$T/slab.cdl" && grep -q "columns = 211 ;" "$T/slab.cdl" && grep -q " 0, 1, 2, 3," "$T/slab.cdl"'
else
    skip "ncdump of what PnetCDF wrote" "it is not installed, or not that of Open MPI"
fi

# --- Python

python=python3
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3 # modules are that one's
if "$python" -c 'import numpy' 2>/dev/null; then
    check "numpy: save, load, memmap, tofile" env LD_PRELOAD="$posix" timeout 60 "$python" -c '
import sys, numpy
m = sys.argv[1]
a = numpy.arange(30000, dtype="f8").reshape(100, 300)
numpy.save(m + "/a.npy", a)
assert (numpy.load(m + "/a.npy") == a).all()
b = numpy.load(m + "/a.npy", mmap_mode="r+")
b[50] *= 2
b.flush()
del b
a[50] *= 2
assert (numpy.load(m + "/a.npy", mmap_mode="r") == a).all()
c = numpy.memmap(m + "/c", dtype="i4", mode="w+", shape=(1000, 17))
c[:] = numpy.arange(17000).reshape(1000, 17)
del c
assert (numpy.fromfile(m + "/c", dtype="i4") == numpy.arange(17000)).all()
a.tofile(m + "/d")
assert (numpy.fromfile(m + "/d") == a.ravel()).all()' "$M"
else
    skip "numpy" "not installed"
fi
if "$python" -c 'import h5py' 2>/dev/null; then
    check "h5py, serial: writes, appends, reads" env LD_PRELOAD="$posix" timeout 60 "$python" -c '
import sys, h5py, numpy
name = sys.argv[1] + "/py.h5"
with h5py.File(name, "w") as f:
    f.create_dataset("x", data=numpy.arange(10000), chunks=(100,), compression="gzip", maxshape=(None,))
    f.attrs["run"] = 7
with h5py.File(name, "a") as f:
    f["x"].resize((10100,))
    f["x"][10000:] = 5
    f.create_group("g")["y"] = numpy.ones((30, 40))
with h5py.File(name, "r") as f:
    assert (f["x"][:10000] == numpy.arange(10000)).all() and (f["x"][10000:] == 5).all()
    assert f["g/y"][:].sum() == 1200 and f.attrs["run"] == 7' "$M"
    [ ! -x "$bin/hdf5_slab" ] || check "h5py reads what MPI-IO wrote" env LD_PRELOAD="$posix" timeout 60 "$python" -c '
import sys, h5py, numpy
with h5py.File(sys.argv[1], "r") as f:
    for name in ("contiguous", "chunked"):
        assert (f[name][:] == numpy.arange(2400).reshape(60, 40)).all()' "$M/slab.h5"
else
    skip "h5py" "not installed"
fi

# --- the examples

check "hello by a name without prefix" mpi 4 "$bin/hello_mpiio" "$M/hello"
check "cube" mpi 4 "$bin/cube" --keep --size 48 "$M/cube"
check "btio" mpi 4 "$bin/btio" --keep --size 37 "$M/btio"
check "checkpoint" mpi 2 "$bin/checkpoint" 2 0.01 1 "$M/checkpoint"
check "their files are there" run 'ls -l "$M" && [ "$(stat -c %s "$M/cube")" -gt 0 ] && [ -s "$M/hello" ] && [ -s "$M/btio" ] && [ -s "$M/checkpoint" ]'
check "themis find lists all names" limit 60 sh -c 'themis find themis:/ >"$1"' sh "$T/found"
none "nothing is left hidden" "$(grep themis_hidden "$T/found")"
finish
