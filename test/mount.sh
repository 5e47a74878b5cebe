#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Files on servers through a mount: POSIX calls and their errors, ordinary programs, MPI-IO beside it, interrupts, and
# the end of servers.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

. "$(dirname "$0")/lib/mountlib.sh"
fuse_or_finish
M=$T/m
mkdir "$M"

# refused WORDS COMMAND...: it fails and says these words.
refused() {
    words=$1
    shift
    ! "$@" >"$T/out" 2>&1 || return 1
    grep -q -e "$words" "$T/out" || { cat "$T/out" && return 1; }
}

start_servers 2

# --- mounting

check "a directory that is missing is refused" refused "No such file" themis mount "$T/none"
: >"$T/file"
check "so is a file" refused "not a directory" themis mount "$T/file"
check "so is a directory with files" refused "not empty" themis mount "$T/srv0"
check "so is an unknown option" refused "nonsense" themis mount -o nonsense "$M"
check "so is a timeout that is none" refused "not a duration" themis mount -o timeout=never "$M"
check "a mount without servers is refused" refused "127.0.0.1:1" limit 20 themis mount -o timeout=300ms -s 127.0.0.1:1 "$M"
check "umount of what is not mounted is refused" refused "not mounted" themis umount "$M"
check "mount returns when it can be used" limit 20 themis mount --log "$T/mount.log" "$M"
check "it is there" grep -q " $M fuse.themis " /proc/mounts
check "a second one is refused" refused "mounted there already" themis mount "$M"

# --- calls

# call CASE TEXT: in a directory of its own.
call() {
    mkdir "$M/$1"
    check "$2" limit 100 python3 "$THEMIS_SRC/test/mount/calls.py" "$1" "$M/$1"
}
call errors "calls that fail have the errno of POSIX"
call attributes "modes, sizes, times, numbers of files, space"
call unlinked "files that are removed or replaced stay as long as they are open"
check "and are removed from the servers then" sh -c 'found=$(themis find themis:/unlinked) && ! printf "%s" "$found" | grep themis_hidden'
call append_flag "fcntl sets and clears O_APPEND"
call append_lines "8 processes append lines, and none is torn"
call directories "3,000 names in a directory, and a tree that is renamed"
check "two ends of a rename in one directory" sh -c 'echo a >"$1/a" && mv "$1/a" "$1/b" && mv -n "$1/b" "$1/c" && [ "$(cat "$1/c")" = a ] && rm "$1/c"' sh "$M"
seconds=${MOUNT_SECONDS:-30}
random() { limit $((seconds + 60)) python3 "$THEMIS_SRC/test/mount/exercise.py" "$@"; }
mkdir "$M/random" "$M/mixed"
check "random operations are as in a model" random "$M/random" $((seconds / 3))
mount_at "$T/mixed" -o directory_timeout=0
case $THEMIS_VARIANT in
asan | tsan) check "so they are by the command, too" random --command themis:/mixed "$T/mixed/mixed" "$seconds" ;;
*)
    check "so they are by a preloaded library, the command and MPI-IO, too" random --preload "$THEMIS_PREFIX/lib/libthemis-posix.so" \
        /themis/mixed --command themis:/mixed --mpi "$(preload)" "$THEMIS_BUILD/test/mount/mpi_door" themis:/mixed "$T/mixed/mixed" "$seconds"
    ;;
esac
themis umount "$T/mixed"

# --- with other clients

check "what themis writes is seen at once" sh -c 'for i in 1 2 3 4 5; do echo $i | themis cp - themis:/number && [ "$(cat "$1/number")" = $i ] || exit 1; done' sh "$M"
check "what is written is seen by themis" sh -c 'echo there >"$1/there" && [ "$(themis cat themis:/there)" = there ]' sh "$M"
check "what themis removes is gone" sh -c 'themis rm themis:/there && ! [ -e "$1/there" ]' sh "$M"
themis cp "$T/file" themis:/doors
check "MPI-IO and the mount see each other's bytes at once" limit 60 ranks 2 "$THEMIS_BUILD/test/mount/doors" themis:/doors "$M/doors"

# --- programs

src=$THEMIS_SRC/client
check "cp -a" cp -a "$src" "$M/copy"
check "the copy is equal" diff -r "$src" "$M/copy"
listed() { (cd "$1" && find . -type f -printf '%p %m %s\n' | sort); }
check "with its modes and sizes" [ "$(listed "$src")" = "$(listed "$M/copy")" ]
dated() { (cd "$1" && find . -type f -printf '%p %T@\n' | sort); }
check "and its times" [ "$(dated "$src")" = "$(dated "$M/copy")" ]
check "mv of a directory, and out of the mount" sh -c 'mv "$1/copy" "$1/copy2" && mv "$1/copy2/io.c" "$2/io.c" && cmp "$2/io.c" "$3/io.c"' sh "$M" "$T" "$src"
check "tar writes a tree" sh -c 'tar -C "$1" --format=posix -cf "$3/t.tar" . && mkdir "$2/tar" && tar -C "$2/tar" -xf "$3/t.tar" && diff -r "$1" "$2/tar"' sh "$src" "$M" "$T"
check "with its times" [ "$(dated "$src")" = "$(dated "$M/tar")" ]
check "touch -d sets a time" sh -c 'touch -d @1000000000.25 "$1/tar/io.c" && [ "$(stat -c %.2Y "$1/tar/io.c")" = 1000000000.25 ]' sh "$M"
check "dd with fsync" dd if="$THEMIS_BUILD/server/themisd" of="$M/dd" bs=1M conv=fsync
check "its bytes are equal" cmp "$THEMIS_BUILD/server/themisd" "$M/dd"
seq 200000 | shuf >"$T/numbers"
check "sort with temporary files there" sh -c 'mkdir "$1/tmp" && sort -n -S 200k -T "$1/tmp" -o "$1/sorted" "$2/numbers" && seq 200000 | cmp - "$1/sorted" && rmdir "$1/tmp"' sh "$M" "$T"
: >"$M/followed"
timeout 20 tail -f "$M/followed" >"$T/tail" 2>&1 &
tail_pid=$!
for i in 1 2 3; do
    echo "line $i" >>"$M/followed"
    sleep 1.2
done
check "tail -f shows what others add" await 10 sh -c '[ "$(wc -l <"$1/tail")" = 3 ]' sh "$T"
kill $tail_pid
wait $tail_pid 2>/dev/null
cat >"$M/hello.c" <<'C'
#include <stdio.h>
int main(void)
{
    puts("hello");
    return 0;
}
C
check "gcc builds a program there, which runs" sh -c 'cd "$1" && gcc -g -o hello hello.c && [ "$(./hello)" = hello ]' sh "$M"
if command -v git >/dev/null; then
    check "git init, commit, fsck, clone" sh -c 'cd "$1" && mkdir g && cd g && git init -q . && git config user.email a@b && git config user.name n && cp "$2"/*.c . && git add . && git commit -qm first && git mv io.c oi.c && git commit -qm second && git gc -q && git fsck --strict && git status --porcelain >../st && ! [ -s ../st ] && git clone -q . ../g2 && diff oi.c ../g2/oi.c' sh "$M" "$src"
else
    skip "git" "not installed"
fi
if command -v sqlite3 >/dev/null; then
    check "sqlite3 with a rollback journal" sh -c 'cd "$1" && sqlite3 db "create table t(a integer primary key, b text); begin; $(for i in $(seq 500); do echo "insert into t values($i, hex(randomblob(50)));"; done) commit; begin; delete from t where a > 400; rollback; vacuum;" && [ "$(sqlite3 db "pragma integrity_check; select count(*) from t")" = "ok
500" ]' sh "$M"
else
    skip "sqlite3" "not installed"
fi
check "python3: pathlib and shutil" limit 60 python3 -c '
import pathlib, shutil, sys
m = pathlib.Path(sys.argv[1])
(m / "p" / "q").mkdir(parents=True)
(m / "p" / "q" / "x").write_text("text")
shutil.copytree(m / "p", m / "r")
assert (m / "r" / "q" / "x").read_text() == "text"
shutil.move(m / "r" / "q", m / "s")
assert sorted(x.name for x in m.glob("s/*")) == ["x"]
shutil.rmtree(m / "p"); shutil.rmtree(m / "r"); shutil.rmtree(m / "s")
assert not (m / "p").exists()' "$M"

# --- interrupts

# A process that waits for a stopped server ends with its signal, and the file may be used by whoever still works on it.
cat >"$T/fsync.py" <<'P'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(fd, b"x" * 100000)
open(sys.argv[2], "w").write("ready")
while not os.path.exists(sys.argv[3]):
    pass
os.fsync(fd)
P
python3 "$T/fsync.py" "$M/synced" "$T/ready" "$T/go" >/dev/null 2>&1 &
sync_pid=$!
await_files 20 "$T/ready"
# shellcheck disable=SC2086 # a list
kill -STOP $testlib_servers
echo go >"$T/go"
sleep 0.5
kill -INT $sync_pid 2>/dev/null
kill -TERM $sync_pid
check "a process that waits for stopped servers can be ended" sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.5; kill -0 "$1" 2>/dev/null || exit 0; grep -q "^State:.Z" "/proc/$1/status" && exit 0; done; exit 1' sh $sync_pid
# shellcheck disable=SC2086
kill -CONT $testlib_servers
wait $sync_pid 2>/dev/null
sleep 0.5
check "the mount works as before" sh -c '[ "$(wc -c <"$1/synced")" = 100000 ] && echo more >"$1/more" && [ "$(cat "$1/more")" = more ]' sh "$M"

# --- users

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 0711 "$T"
    as_user() { limit 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    mkdir "$T/all"
    themis mount -o allow_other --log "$T/all.log" "$T/all"
    mkdir "$T/all/open" && chmod 1777 "$T/all/open"
    check "allow_other: a user makes files of his own" as_user sh -c 'echo mine >"$1/open/f" && [ "$(stat -c %u:%g "$1/open/f")" = 65534:65534 ]' sh "$T/all"
    echo secret >"$T/all/secret" && chmod 600 "$T/all/secret"
    check "and cannot read what he may not" refused "ermission" as_user cat "$T/all/secret"
    check "nor change its mode" refused "not permitted" as_user chmod 644 "$T/all/secret"
    check "without it no one else gets in" refused "ermission" as_user ls "$M"
    check "allow_other is for root" refused "root only\|for root" as_user themis mount -o allow_other "$M/none"
    themis umount "$T/all"

    # A file of root, in a directory of the user, open in the user's mount: it may be removed, but not renamed.
    cat >"$T/user.sh" <<'U'
mknod "$T/fuse" c 10 229 && chmod 666 "$T/fuse" && mount --bind "$T/fuse" /dev/fuse || exit 1
as_user() { timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
as_user themis mount "$T/user" || exit 1
as_user mkdir "$T/user/theirs"
echo roots >"$M/theirs/r" && chmod 666 "$M/theirs/r"
as_user sh -c 'exec 3<"$1/r" && rm -f "$1/r" && ! [ -e "$1/r" ] && [ -z "$(ls -A "$1")" ]' sh "$T/user/theirs" && echo removed
echo roots >"$M/theirs/r" && chmod 666 "$M/theirs/r"
as_user sh -c 'echo mine >"$1/m" && exec 3<"$1/r" && mv -f "$1/m" "$1/r" && [ "$(cat "$1/r")" = mine ]' sh "$T/user/theirs" && echo replaced
echo roots >"$M/theirs/x" && chmod 666 "$M/theirs/x"
as_user sh -c 'echo mine >"$1/m" && exec 3<"$1/m" && ! mv -f "$1/x" "$1/m" 2>/dev/null && [ "$(cat "$1/m") $(cat <&3) $(cat "$1/x")" = "mine mine roots" ] && [ "$(ls -A "$1" | tr "\n" " ")" = "m r x " ]' sh "$T/user/theirs" && echo kept
as_user themis umount "$T/user" && echo unmounted
U
    mkdir "$T/user" && chown 65534 "$T/user"
    if limit 60 env T="$T" M="$M" unshare -m --propagation private sh "$T/user.sh" >"$T/user.log" 2>&1 || grep -q removed "$T/user.log"; then
        check "an open file of another user is removed" grep -x removed "$T/user.log"
        check "or replaced" grep -x replaced "$T/user.log"
        check "one that could not be replaced has its name" grep -x kept "$T/user.log"
        check "a user ends his mount" grep -x unmounted "$T/user.log"
        sed 's/^/# /' "$T/user.log" | grep -vE '(removed|replaced|kept|unmounted)$'
    else
        skip "an open file of another user is removed" "users cannot mount here: $(head -1 "$T/user.log")"
    fi
else
    skip "users" "not root, or no setpriv"
fi

# --- mount(8)

if [ "$(id -u)" = 0 ]; then
    mkdir "$T/by8"
    check "mount.themis takes what mount(8) gives" limit 20 mount.themis "$THEMIS_SERVERS" "$T/by8" -v -o rw,_netdev,nofail,x-systemd.automount,attr_timeout=1,entry_timeout=1
    check "with listings that have attributes" sh -c '[ "$(ls -l "$1/g" | grep -c "^-.* [a-z_]*\.c$")" -gt 20 ] && [ "$(cat "$1/more")" = more ]' sh "$T/by8"
    umount "$T/by8"
    check "read-only" sh -c 'themis mount -o ro "$1" && ! touch "$1/x" 2>"$1.err" && grep -q "Read-only" "$1.err"' sh "$T/by8"
    themis umount "$T/by8"
    check "through the page cache, with shared maps" sh -c 'themis mount -o cache "$1" && python3 -c "
import mmap, sys
f = open(sys.argv[1], \"w+b\"); f.write(bytes(10000)); f.flush()
m = mmap.mmap(f.fileno(), 10000); m[5000:5005] = b\"hello\"; m.flush(); m.close(); f.close()
" "$1/mapped" && themis cat themis:/mapped | grep -qa hello' sh "$T/by8"
    check "random operations through it" limit 30 python3 "$THEMIS_SRC/test/mount/exercise.py" "$T/by8/$(mkdir "$T/by8/random2" && echo random2)" 5
    themis umount "$T/by8"
fi

# --- its process

mkdir "$T/process"
themis mount -f "$T/process" >"$T/foreground" 2>&1 &
foreground=$!
check "-f stays in the foreground" sh -c 'for i in $(seq 50); do grep -q " $1 fuse.themis " /proc/mounts && break; sleep 0.1; done; kill -0 "$2" && ls "$1/more"' sh "$T/process" $foreground
kill -HUP $foreground
check "until SIGHUP, SIGINT or SIGTERM" sh -c 'for i in $(seq 50); do grep -q " $1 fuse.themis " /proc/mounts || exit 0; sleep 0.1; done; exit 1' sh "$T/process"
wait $foreground
check "and says nothing" [ $? = 0 -a ! -s "$T/foreground" ]
themis mount "$T/process"
kill -KILL "$(ps ax -o pid=,args= | awk -v m="$T/process" '$2 == "themis" && $3 == "mount" && $NF == m { print $1 }')"
sleep 0.3
check "where it was killed, calls fail" refused "not connected" ls "$T/process"
check "and umount works" themis umount "$T/process"

# --- the end

check "umount of a mount in use is refused" sh -c 'cd "$1" && themis umount "$1" 2>&1 | grep "in use"' sh "$M"
echo hidden >"$M/h"
sleep 100 3<"$M/h" &
holder=$!
sleep 0.2
rm "$M/h"
pid=$(ps ax -o pid=,args= | awk -v m="$M" '$2 == "themis" && $3 == "mount" && $NF == m { print $1 }')
check "there is a hidden file" sh -c 'themis ls themis:/ | grep -q themis_hidden_'
kill -TERM "$pid"
check "SIGTERM ends the mount" sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; kill -0 "$1" 2>/dev/null || exit 0; done; exit 1' sh "$pid"
check "and removes the hidden file" sh -c '! themis ls themis:/ | grep themis_hidden_'
kill $holder
wait $holder 2>/dev/null
check "it is no longer mounted" sh -c '! grep " $1 " /proc/mounts' sh "$M"
check "it can be mounted again" limit 20 themis mount -o timeout=2s --log "$T/mount2.log" "$M"
check "the files are there" [ "$(cat "$M/more")" = more ]
stop_servers
check "without servers, calls fail with EIO after the timeout" refused "Input/output error" limit 30 ls -la "$M/g"
check "umount works without servers" limit 10 themis umount "$M"
check "the process that served it ends" sh -c 'for i in $(seq 20); do sleep 0.5; ! ps ax -o args= | grep -q "^themis mount.*$1\$" && exit 0; done; exit 1' sh "$M"
none "nothing was logged" "$(grep -v 'themis: info' "$T/mount.log")"
unmount_all

# --- rights that expire while a file has another name

stop_servers
start_servers 2 "capability-lifetime 1s"
themis mount "$M"
check "rights of a file that was renamed, or its directory, and of one that was removed, are renewed" limit 30 python3 -c '
import os, sys, time
os.chdir(sys.argv[1])
os.mkdir("d")
files = [open(name, "w+b", buffering=0) for name in ("one", "d/two", "three")]
log = open("log", "ab", buffering=0)
for f in files + [log]:
    f.write(b"first")
os.rename("one", "other")
os.rename("d", "e")
os.remove("three")
os.rename("log", "log.1")
time.sleep(3)
log.write(b"second")
assert os.fstat(log.fileno()).st_size == 11
for f in files:
    assert os.pread(f.fileno(), 5, 0) == b"first"
time.sleep(3)
for f in files:
    os.pwrite(f.fileno(), b"second", 5)
    os.fsync(f.fileno())
    os.ftruncate(f.fileno(), 8)
    assert os.fstat(f.fileno()).st_size == 8
' "$M"
themis umount "$M"

finish
