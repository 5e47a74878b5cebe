#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs on mounts, beyond those of mount.sh: what keeps links and extended attributes, locks between two mounts, what
# one mount and MPI-IO write as another sees it, and checks of data by rsync, fio and HDF5's tools.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
. "$(dirname "$0")/lib/mountlib.sh"
fuse_or_finish

# with PROGRAM TEXT COMMAND...: a case that needs a program.
with() {
    program=$1
    shift
    if command -v "$program" >/dev/null; then check "$@"; else skip "$1" "$program is not installed"; fi
}

start_servers 2
A=$T/a B=$T/b
mount_at "$A"
mount_at "$B"

# --- symbolic links

mkdir "$T/tree" "$T/tree/d"
echo data >"$T/tree/d/f"
ln -s d/f "$T/tree/to_file"
ln -s d "$T/tree/to_directory"
ln -s nowhere "$T/tree/to_nothing"
ln -s /etc/passwd "$T/tree/absolute"
ln -s ../.. "$T/tree/d/up"
touch -h -d @1000000000 "$T/tree/to_file"
links() { (cd "$1" && find . -type l -printf '%p %l %T@\n' | sort); }
same_tree() { [ "$(links "$1")" = "$(links "$2")" ] && diff -r --no-dereference "$1" "$2"; }
check "cp -a keeps links" cp -a "$T/tree" "$A/cp"
check "with targets and times" same_tree "$T/tree" "$A/cp"
check "another mount sees them" same_tree "$T/tree" "$B/cp"
check "they are followed" [ "$(cat "$B/cp/to_file" "$B/cp/to_directory/f")" = "data
data" ]
check "tar keeps them" sh -c 'tar -C "$1" --format=posix -cf "$2.tar" . && mkdir "$3" && tar -C "$3" -xf "$2.tar"' sh "$A/cp" "$T/links" "$A/tar"
check "all of them" same_tree "$T/tree" "$A/tar"
with rsync "rsync keeps them" rsync -a "$T/tree/" "$A/rsync"
with rsync "and finds nothing to do then" sh -c '[ -z "$(rsync -ain --checksum "$1/" "$2")" ]' sh "$T/tree" "$A/rsync"
with git "git keeps them" sh -c 'cd "$1" && git init -q g && cp -a "$2" g/t && cd g && git config user.email a@b && git config user.name n && git add . && git commit -qm links && git clone -q . ../clone && [ "$(readlink ../clone/t/to_file)" = d/f ] && [ -z "$(git status --porcelain)" ]' sh "$A" "$T/tree"
check "rm -r removes links, and not what they lead to" sh -c 'rm -r "$1/cp/to_directory" && [ -f "$1/cp/d/f" ] && rm -r "$1/cp" "$1/tar"' sh "$A"

# --- the same through the command

themis mkdir themis:/l
echo one >"$T/one"
themis cp -q "$T/one" themis:/l/file
check "themis ln -s" themis ln -s file themis:/l/link
check "another one is refused" sh -c '! themis ln -s other themis:/l/link 2>&1 && themis ln -s -f file themis:/l/link'
check "themis cat follows it" [ "$(themis cat themis:/l/link)" = one ]
check "the mount as well" [ "$(cat "$A/l/link")" = one ]
check "themis ls -l shows where it leads" sh -c 'themis ls -l themis:/l | grep "^l.* link -> file$"'
check "themis stat and ls --json" sh -c 'themis stat themis:/l/link | grep "target *file" && themis ls --json themis:/l | grep "\"target\": *\"file\""'
check "themis find -type l" [ "$(themis find themis:/l -type l)" = themis:/l/link ]
themis ln -s ../l themis:/l/self
check "cp -r copies links as links, and does not go in circles" limit 20 sh -c 'themis cp -r -q themis:/l "$1/out" && [ "$(readlink "$1/out/self")" = ../l ] && [ "$(readlink "$1/out/link")" = file ] && cmp "$1/out/file" "$1/one"' sh "$T"
check "and back" limit 20 sh -c 'themis cp -r -q "$1/out" themis:/back && [ "$(readlink "$2/back/self")" = ../l ]' sh "$T" "$A"
check "with -L it follows, and names what leads back" limit 20 sh -c '! themis cp -rL -q themis:/l "$1/followed" 2>"$1/err" && grep "leads back" "$1/err" && cmp "$1/followed/link" "$1/one" && ! [ -L "$1/followed/link" ]' sh "$T"
check "a copy to a link is written where it leads" sh -c 'echo two >"$1/two" && themis cp -q "$1/two" themis:/l/link && [ "$(themis cat themis:/l/file)" = two ] && [ -L "$2/l/link" ]' sh "$T" "$A"
check "through links of links, and .. of a link" sh -c 'themis ln -s self/self/link themis:/l/far && themis ln -s self/../l/file themis:/l/up && [ "$(themis cat themis:/l/far)$(themis cat themis:/l/up)" = twotwo ]'
check "a circle is an error" sh -c 'themis ln -s circle themis:/l/circle && ! themis cat themis:/l/circle 2>"$1/err" && grep "too many levels" "$1/err"' sh "$T"
check "mv and rm are of the link" sh -c 'themis mv themis:/l/link themis:/l/moved && [ "$(readlink "$1/l/moved")" = file ] && themis rm themis:/l/moved && [ "$(themis cat themis:/l/file)" = two ]' sh "$A"
check "rm -r does not follow" sh -c 'themis ln -s ../back themis:/l/other && themis rm -r themis:/l && themis ls themis:/back | grep file'
mkdir "$A/swap" "$A/swap/d" "$A/swap/elsewhere"
check "a link that has come in place of a directory leads nothing elsewhere" sh -c 'cd "$1/swap/d" && themis rmdir themis:/swap/d && themis ln -s elsewhere themis:/swap/d && ! (echo x >new) 2>/dev/null && ! [ -e "$2/swap/elsewhere/new" ]' sh "$A" "$B"

# --- extended attributes

if command -v setfattr >/dev/null; then
    echo x >"$A/x"
    check "setfattr and getfattr" sh -c 'setfattr -n user.origin -v "run 7" "$1/x" && [ "$(getfattr --only-values -n user.origin "$2/x")" = "run 7" ]' sh "$A" "$B"
    check "cp -a keeps them" sh -c 'cp -a "$1/x" "$1/y" && [ "$(getfattr --only-values -n user.origin "$1/y")" = "run 7" ]' sh "$A"
    check "mv and chmod as well" sh -c 'mkdir "$1/xd" && mv "$1/y" "$1/xd/z" && chmod 600 "$1/xd/z" && themis mv themis:/xd themis:/xe && [ "$(getfattr --only-values -n user.origin "$1/xe/z")" = "run 7" ]' sh "$A"
    check "other spaces are refused" sh -c '! setfattr -n trusted.x -v 1 "$1/x" 2>&1' sh "$A"
    check "the layout of a file" sh -c '[ "$(getfattr --only-values -n user.themis.stripe_count "$1/x")" = 2 ] && ! getfattr -d "$1/x" | grep "user[.]themis"' sh "$A"
    check "of a directory: new files and directories get it" sh -c '
        mkdir "$1/striped" && setfattr -n user.themis.stripe_size -v 8192 "$1/striped" && setfattr -n user.themis.stripe_count -v 1 "$1/striped" &&
        mkdir "$1/striped/below" && echo 1 >"$1/striped/below/f" && echo one | themis cp -q - themis:/striped/g &&
        [ "$(getfattr --only-values -n user.themis.stripe_size "$2/striped/below/f")" = 8192 ] && [ "$(getfattr --only-values -n user.themis.stripe_count "$2/striped/g")" = 1 ] &&
        themis stat themis:/striped | grep "stripes of 8192"' sh "$A" "$B"
    check "removed again, the servers choose" sh -c 'setfattr -x user.themis.stripe_count "$1/striped" && echo 1 >"$1/striped/h" && [ "$(getfattr --only-values -n user.themis.stripe_count "$1/striped/h")" = 2 ]' sh "$A"
    check "of an empty file, not of another, not what is no layout" sh -c '
        : >"$1/empty" && chmod 640 "$1/empty" && setfattr -n user.themis.stripe_size -v 65536 "$1/empty" && echo bytes >"$1/empty" &&
        [ "$(getfattr --only-values -n user.themis.stripe_size "$1/empty")" = 65536 ] && [ "$(stat -c %a "$1/empty")" = 640 ] && [ "$(cat "$2/empty")" = bytes ] &&
        ! setfattr -n user.themis.stripe_size -v 4096 "$1/empty" 2>/dev/null && ! setfattr -n user.themis.stripe_size -v 5000 "$1/striped" 2>/dev/null' sh "$A" "$B"
    check "attributes outlive the servers' memory of them" sh -c 'themis stat themis:/xe/z >/dev/null'
else
    skip "extended attributes" "setfattr is not installed"
fi

# --- between mounts

cat >"$T/locks.py" <<'P'
import fcntl, os, struct, sys, time
a, b = (os.open(os.path.join(d, "locked"), os.O_RDWR | os.O_CREAT) for d in sys.argv[1:3])
def lock(fd, kind, start, length):
    try:
        fcntl.fcntl(fd, fcntl.F_SETLK, struct.pack("hhqqi4x", kind, 0, start, length, 0))
        return True
    except BlockingIOError:
        return False
assert lock(a, fcntl.F_WRLCK, 0, 100)
assert not lock(b, fcntl.F_RDLCK, 50, 1) and lock(b, fcntl.F_WRLCK, 100, 10)
found = struct.unpack("hhqqi4x", fcntl.fcntl(b, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 50, 1, 0)))
assert found[0] == fcntl.F_WRLCK, found
assert lock(a, fcntl.F_RDLCK, 0, 100) and lock(b, fcntl.F_RDLCK, 50, 1) and not lock(a, fcntl.F_WRLCK, 0, 100)
os.close(os.open(os.path.join(sys.argv[2], "locked"), os.O_RDONLY))  # releases b's
assert lock(a, fcntl.F_WRLCK, 0, 0)
child = os.fork()
if child == 0:
    begin = time.monotonic()
    fcntl.lockf(b, fcntl.LOCK_EX)  # waits
    os._exit(0 if time.monotonic() - begin > 0.4 else 1)
time.sleep(0.8)
os.close(a)
assert os.waitpid(child, 0)[1] == 0
a = os.open(os.path.join(sys.argv[1], "locked"), os.O_RDWR)
assert lock(a, fcntl.F_RDLCK, 0, 10)
child = os.fork()
if child == 0:  # keeps its lock for reading while it waits for that for writing
    if not lock(b, fcntl.F_RDLCK, 0, 10):
        os._exit(1)
    fcntl.lockf(b, fcntl.LOCK_EX, 10)
    os._exit(0)
time.sleep(0.8)
found = struct.unpack("hhqqi4x", fcntl.fcntl(a, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 10, 0)))
assert found[0] == fcntl.F_RDLCK, found
os.close(a)
assert os.waitpid(child, 0)[1] == 0
a = os.open(os.path.join(sys.argv[1], "locked"), os.O_RDONLY)
fcntl.flock(b, fcntl.LOCK_EX)
try:
    fcntl.flock(a, fcntl.LOCK_SH | fcntl.LOCK_NB)
    raise SystemExit("flock of two mounts")
except BlockingIOError:
    pass
os.close(b)
for attempt in range(50):  # the kernel tells of the last close later
    try:
        fcntl.flock(a, fcntl.LOCK_SH | fcntl.LOCK_NB)
        break
    except BlockingIOError:
        time.sleep(0.1)
else:
    raise SystemExit("flock after close")
P
check "locks of fcntl and flock hold between mounts" limit 30 python3 "$T/locks.py" "$A" "$B"
check "and between a mount and the library of file calls" limit 30 themis run -q --posix -- python3 "$T/locks.py" "$A" /themis
check "and the other way round" limit 30 themis run -q --posix -- python3 "$T/locks.py" /themis "$A"
cat >"$T/wait.py" <<'P'
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
open(sys.argv[2], "w").write("x")
fcntl.lockf(fd, fcntl.LOCK_EX)
P
python3 -c 'import fcntl, os, sys, time; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); fcntl.lockf(fd, fcntl.LOCK_EX); open(sys.argv[2], "w").write("x"); time.sleep(60)' "$A/held" "$T/held" >/dev/null 2>&1 &
holder=$!
await_files 20 "$T/held"
python3 "$T/wait.py" "$B/held" "$T/waits" >/dev/null 2>&1 &
waiter=$!
await_files 20 "$T/waits"
sleep 0.3
kill -TERM $waiter
check "who waits for a lock can be ended" sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.5; kill -0 "$1" 2>/dev/null || exit 0; grep -q "^State:.Z" "/proc/$1/status" && exit 0; done; exit 1' sh $waiter
kill -KILL $holder
wait $holder $waiter 2>/dev/null
check "a process that was killed has no locks, nor who has given up waiting" limit 20 python3 "$T/wait.py" "$A/held" "$T/waits2"

with sqlite3 "sqlite3 in two mounts: 2 x 100 transactions, none is lost" limit 100 sh -c '
    sqlite3 "$1/db" "create table t(who, n); create table total(n); insert into total values(0)"
    for mount in "$1" "$2"; do
        for i in $(seq 100); do echo "begin immediate; insert into t values(\"$mount\", $i); update total set n = n + 1; commit;"; done |
            sqlite3 -cmd ".timeout 60000" "$mount/db" >"$3.$(basename "$mount")" 2>&1 &
    done
    wait
    cat "$3".a "$3".b | grep -v "^$" | head -5
    [ "$(sqlite3 "$2/db" "pragma integrity_check; select n from total; select count(*) from t")" = "ok
200
200" ]' sh "$A" "$B" "$T/sqlite"

cat >"$T/log.py" <<'P'
import os, sys
processes, lines = 8, 100
children = []
for number in range(processes):
    child = os.fork()
    if child == 0:
        fd = os.open(os.path.join(sys.argv[1 + number % 2], "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for line in range(lines):
            os.write(fd, f"{number} {line} {'x' * (number * 37 + line % 50)} end\n".encode())
        os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
seen = open(os.path.join(sys.argv[1], "log")).read().split("\n")
assert seen.pop() == "" and len(seen) == processes * lines, len(seen)
for number in range(processes):
    own = [line for line in seen if line.startswith(f"{number} ")]
    assert own == [f"{number} {line} {'x' * (number * 37 + line % 50)} end" for line in range(lines)]
P
check "8 processes in two mounts append to a log, and no line is torn" limit 60 python3 "$T/log.py" "$A" "$B"

# --- what is seen when, with the kernel's caches

C=$T/c
mount_at "$C" -o cache,attr_timeout=60,entry_timeout=60
cat >"$T/close_to_open.py" <<'P'
import os, sys
cached, other = sys.argv[1:3]
for i in range(30):
    with open(os.path.join(other, "seen"), "w") as file:
        file.write(f"{i}" * 5000)
    with open(os.path.join(cached, "seen")) as file:
        assert file.read() == f"{i}" * 5000, i
P
check "close-to-open holds with the page cache" limit 60 python3 "$T/close_to_open.py" "$C" "$A"
check "and the other way round" limit 60 python3 "$T/close_to_open.py" "$A" "$C"
check "what MPI-IO wrote is seen by the next read of a file that stays open" limit 60 ranks 2 "$THEMIS_BUILD/test/mount/doors" themis:/doors2 "$A/doors2"
with fio "fio: random writes with verification, mmap" limit 60 fio --name=m --directory="$C" --ioengine=mmap --rw=randwrite --bs=4k --size=4m --verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 --fallocate=none --minimal
themis umount "$C"

# --- checks of data

with fio "fio: random writes with verification, psync" limit 60 fio --name=p --directory="$A" --ioengine=psync --rw=randrw --bsrange=512-64k --size=8m --verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 --numjobs=2 --minimal
with rsync "rsync of a tree, verified by checksums from another mount" sh -c 'rsync -a "$1/" "$2/client" && [ -z "$(rsync -ain --checksum "$1/" "$3/client")" ] && touch "$2/client/io.c" && rsync -a --delete "$1/" "$2/client" && diff -r "$1" "$3/client"' sh "$THEMIS_SRC/client" "$A" "$B"
slab=$THEMIS_BUILD/examples/hdf5_slab
if [ -x "$slab" ] && command -v h5dump >/dev/null && [ -z "${THEMIS_VARIANT-}" ]; then
    check "HDF5 writes by MPI-IO" limit 60 ranks 2 "$slab" themis:/slab.h5 60 40 8
    check "h5dump reads it below the mount" sh -c '[ "$(h5dump -d /chunked -s 59,39 -c 1,1 -m %.0f "$1/slab.h5" | sed -n "s/^ *([0-9,]*): //p")" = 2399 ]' sh "$A"
else
    skip "h5dump of what MPI-IO wrote" "no parallel HDF5 here"
fi
themis umount "$A"
themis umount "$B"
finish
