#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Files on servers by ordinary names, through the library that themis run --posix preloads: single calls, ordinary programs,
# MPI-IO by plain names, and servers that go away.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

case $THEMIS_VARIANT in
asan | tsan)
    skip "files below the mount point" "the sanitizer intercepts the same calls, and starts after them"
    finish
    ;;
esac
export THEMIS_MOUNT=/themis
posix=$THEMIS_PREFIX/lib/libthemis-posix.so
programs=$THEMIS_BUILD/test/preload
program=$programs/calls
M=/themis/$(basename "$T") # which is nowhere but on the servers

# in_posix COMMAND...: with the library in front.
in_posix() { env LD_PRELOAD="$posix" "$@"; }
# refused WORDS COMMAND...: it fails and says these words.
refused() {
    words=$1
    shift
    ! "$@" >"$T/out" 2>&1 || return 1
    grep -q -e "$words" "$T/out" || { cat "$T/out" && return 1; }
}
# case_run CASE TEXT: of $program, below the mount point, and on a local file system as the control.
case_run() {
    mkdir "$T/$1"
    in_posix mkdir "$M/$1"
    check "$2" limit 60 env LD_PRELOAD="$posix" "$program" "$1" "$M/$1"
    check "$2: likewise on a local file system" limit 60 "$program" "$1" "$T/$1"
}

start_servers 2

# --- what costs nothing

check "programs that use no such file load nothing" sh -c '! LD_PRELOAD=$1 cat /proc/self/maps | grep -E "posix-core|libuc[pt]"' sh "$posix"
check "those that do load the core" sh -c 'LD_PRELOAD=$1 python3 -c "
import os
os.stat(\"/themis\")
print(open(\"/proc/self/maps\").read())" | grep posix-core' sh "$posix"
check "it is small" [ "$(ldd "$posix" | grep -cvE 'linux-vdso|libc\.so|ld-linux')" = 0 ]

# --- calls

in_posix mkdir "$M"
in_posix mkdir "$M/errors"
mkdir "$T/errors"
limit 60 env LD_PRELOAD="$posix" "$programs/errors" "$M/errors" >"$T/errors.there" 2>&1
limit 60 "$programs/errors" "$T/errors" >"$T/errors.here" 2>&1
check "$(grep -c : "$T/errors.here") calls have the results that they have on a local file system" \
    diff "$T/errors.here" "$T/errors.there"
case_run plain "bytes, sizes, modes"
case_run duplicates "duplicated descriptors"
case_run streams "streams of stdio"
case_run standard "standard streams, system and popen"
case_run children "descriptors that children and programs inherit"
case_run vforked "the directory, umask and descriptors of a child of vfork"
case_run unseen "a fork by a system call"
case_run numbers "descriptors that the library needs for itself"
case_run cancelled "threads that are cancelled"
case_run remembered "standard streams that a library remembers"
case_run ends "a program that ends while a thread reads its input"
in_posix mkdir "$M/refused"
check "memory that processes would share is refused" limit 60 env LD_PRELOAD="$posix" "$programs/calls" refused "$M/refused"
case_run offset "an offset that processes share"
case_run threads "threads, and forks among them"
case_run directories "directories"
case_run working "the working directory"
case_run maps "maps"
case_run locks "locks"
case_run copies "copies into and out of files"
case_run ready "poll, select, and names of descriptors"
case_run removed "files that are removed while they are open"
program=$programs/syscalls
case_run bytes "by syscall(2): bytes"
case_run descriptors "by syscall(2): descriptors"
case_run names "by syscall(2): names"
case_run attributes "by syscall(2): attributes"
case_run listing "getdents64, also by syscall(2)"
program=$programs/others
case_run proc "names of descriptors in /proc, also of another process"
case_run linked "local links to the standard input"
case_run names_themselves "descriptors' names are not removed or renamed with the file"
case_run passed "descriptors that come by a socket"
case_run by_number "messages and close by number"
case_run aio "aio_read, aio_write, aio_fsync and their notices"
case_run aio_lists "lio_listio of files there and elsewhere"
case_run described "locks of open file descriptions"
case_run kinds "beside record locks"
case_run waits "a fork while a thread waits for a lock"
case_run trees "nftw and ftw"
case_run skipped "nftw that skips, and that follows links"
case_run elsewhere "walks elsewhere that change the directory"
case_run hierarchies "fts"
case_run replaced "maps over maps"
case_run lowest "the lowest free number for each descriptor"
case_run exhausted "no more descriptors"
for each in errors attributes unlinked append_flag append_lines directories; do
    in_posix mkdir "$M/py-$each"
    check "what a mount does: $each" limit 60 env LD_PRELOAD="$posix" python3 "$THEMIS_SRC/test/mount/calls.py" $each "$M/py-$each"
done
in_posix mkdir "$M/random"
check "random operations are as in a model" limit 40 env LD_PRELOAD="$posix" python3 "$THEMIS_SRC/test/mount/exercise.py" "$M/random" "${PRELOAD_SECONDS:-8}"

ln -s /dev/stdin "$T/standard_input"
in_posix sh -c 'echo text >"$1"' sh "$M/text"
check "a local link to the standard input that a program inherits" refused "No such file" in_posix sh -c 'cat "$1" <"$2"' sh "$T/standard_input" "$M/text"

# --- symbolic links and extended attributes

in_posix mkdir "$M/posix"
HOME=$T limit 60 env LD_PRELOAD="$posix" "$THEMIS_BUILD/test/posix/conformance" "$M/posix" >"$T/posix" 2>&1
check "what POSIX asks for is tried" [ "$(grep -c '^ok ' "$T/posix")" -gt 150 ]
# As below a mount (conformance.sh), but that the servers decide what another user may, by his groups in the user database.
data=$THEMIS_SRC/test/posix/data
sed -n 's/^differs \(.*\) # .*/\1/p' "$T/posix" | sort >"$T/posix.differs"
[ "$(id -u)" = 0 ] && cat "$data/differences" "$data/differences_of_users" | sort >"$T/posix.known" || sort "$data/differences" >"$T/posix.known"
none "and only what is documented differs" "$(diff "$T/posix.known" "$T/posix.differs" | grep '^[<>]')"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    in_posix mkdir "$M/user" && in_posix chmod 777 "$M/user"
    case_run judged "a directory that is closed to one user and not to another"
    in_posix mkdir "$M/forged"
    check "another user's descriptor is not taken for one of a file" limit 60 env LD_PRELOAD="$posix" "$programs/others" forged "$M/forged"
    check "a user's directory is closed to him by its mode, and open again at once" limit 20 env LD_PRELOAD="$posix" setpriv --reuid=65534 --regid=65534 --clear-groups \
        sh -ec 'cd "$1"; mkdir d; echo x >d/f; chmod 0 d; if cat d/f || ls d; then exit 1; fi; chmod 700 d; [ "$(cat d/f)" = x ]; ls d; rm -r d' sh "$M/user"
else
    skip "a user's directory" "not root, or no setpriv"
fi
in_posix mkdir "$M/links" "$M/swap" "$M/swap/d" "$M/swap/e"
check "a link that another client puts in the place of a directory is seen within a second" in_posix python3 -c '
import os, subprocess, sys, time
os.chdir(sys.argv[1])
open("d/f", "w").close()
open("e/g", "w").close()
os.remove("d/f")
there = "themis:" + sys.argv[1][len("/themis"):]
subprocess.run(["themis", "rmdir", there + "/d"], check=True)
subprocess.run(["themis", "ln", "-s", "e", there + "/d"], check=True)
time.sleep(1.1)
assert os.path.exists("d/g")' "$M/swap"
check "links to local files, within the mount point, and in circles" limit 60 env LD_PRELOAD="$posix" python3 "$THEMIS_SRC/test/preload/links.py" "$M/links" "$T/outside"

# --- programs

src=$THEMIS_SRC/posix
check "themis run --posix preloads it behind the driver" [ "$(env LD_PRELOAD= themis run -q --posix -- sh -c 'echo "$LD_PRELOAD"')" = "$THEMIS_PREFIX/lib/libthemis-mpiio.so:$posix" ]
check "and not without that" [ "$(env LD_PRELOAD= themis run -q -- sh -c 'echo "$LD_PRELOAD"')" = "$THEMIS_PREFIX/lib/libthemis-mpiio.so" ]
# run COMMANDS: of a shell in which $M, $T and $src are set.
run() { limit 100 themis run -q --posix -- env M="$M" T="$T" src="$src" sh -ec "$1"; }
check "cp -a, and the copy is equal" run 'cp -a "$src" "$M/copy" && diff -r "$src" "$M/copy"'
check "with its modes, sizes and times" run '[ "$(cd "$src" && find . -type f -printf "%p %m %s %T@\n" | sort)" = "$(cd "$M/copy" && find . -type f -printf "%p %m %s %T@\n" | sort)" ]'
check "ls -l, mv, rm -r" run 'ls -l "$M/copy" | grep -q " file.c$" && mv "$M/copy" "$M/moved" && mv "$M/moved/file.c" "$T/file.c" && cmp "$T/file.c" "$src/file.c" && rm -r "$M/moved" && ! [ -e "$M/moved" ]'
check "dd with fsync" run 'dd if="$(command -v themisd)" of="$M/dd" bs=100k conv=fsync && cmp "$(command -v themisd)" "$M/dd"'
check "redirections of sh" run 'cd "$M"; echo one >r; echo two >>r; cat <r >s; { echo a; /bin/echo b; } >t; wc -l <s | grep 2; [ "$(cat t)" = "$(printf "a\nb")" ]'
check "redirections of bash" run 'bash -c "cd \"$M\"; echo one >r; printf two >>r; echo err >&2 2>e; read -r x <r; [ \"\$x\" = one ]; cat <<<here >h; [ \"\$(<h)\" = here ]; for i in 1 2; do echo \$i; done >l; [ \$(ls | grep -c ^l) = 1 ]; echo *e*"'
check "sort with temporary files there" run 'seq 20000 | shuf >"$M/n" && mkdir "$M/tmp" && sort -n -S 20k -T "$M/tmp" -o "$M/sorted" "$M/n" && seq 20000 | cmp - "$M/sorted" && rmdir "$M/tmp"'
check "tar writes a tree" run 'tar -C "$src" -cf "$M/t.tar" . && mkdir "$M/tar" && tar -C "$M/tar" -xf "$M/t.tar" && diff -r "$src" "$M/tar"'
mkdir "$T/tree" "$T/tree/d"
echo data >"$T/tree/d/f"
ln -s d/f "$T/tree/to_file" && ln -s d "$T/tree/to_directory" && ln -s nowhere "$T/tree/to_nothing"
ln -s "$T/tree/d/f" "$T/tree/absolute" && ln -s ../.. "$T/tree/d/up" && touch -h -d @1000000000 "$T/tree/to_file"
listed='find . -type l -printf "%p %l %T@\n" | sort'
check "ln -s, readlink, ls -l" run 'cd "$M" && echo text >lf && ln -s lf ll && [ "$(readlink ll) $(cat ll)" = "lf text" ] && ls -l ll | grep -q "^l.* ll -> lf$" && ln -sf t ll && [ "$(readlink ll)" = t ] && [ "$(readlink -f lf)" = "$M/lf" ]'
check "cp -a of a tree with links" run 'cp -a "$T/tree" "$M/tree" && diff -r --no-dereference "$T/tree" "$M/tree" && [ "$(cat "$M/tree/to_file" "$M/tree/to_directory/f" "$M/tree/absolute" | wc -l)" = 3 ]'
check "with their targets and times" run "[ \"\$(cd \"\$T/tree\" && $listed)\" = \"\$(cd \"\$M/tree\" && $listed)\" ]"
check "tar of it, and out of it" run 'tar -C "$M/tree" -cf "$T/links.tar" . && mkdir "$M/untarred" && tar -C "$M/untarred" -xf "$T/links.tar" && diff -r --no-dereference "$T/tree" "$M/untarred"'
check "rm -r removes links, and not what they lead to" run 'rm -r "$M/tree/to_directory" "$M/tree/absolute" && [ -f "$M/tree/d/f" ] && [ -f "$T/tree/d/f" ] && rm -r "$M/tree" && ! [ -e "$M/tree" ]'
if command -v setfattr >/dev/null; then
    check "setfattr and getfattr" run 'cd "$M" && echo x >xa && setfattr -n user.origin -v "run 7" xa && [ "$(getfattr --only-values -n user.origin xa)" = "run 7" ] && getfattr -d xa | grep -q "^user.origin=" && ! setfattr -n trusted.x -v 1 xa'
    check "cp -a keeps them" run 'cd "$M" && cp -a xa xb && [ "$(getfattr --only-values -n user.origin xb)" = "run 7" ] && setfattr -x user.origin xb && ! getfattr -n user.origin xb'
    check "the layout of files and directories" run 'cd "$M" && [ "$(getfattr --only-values -n user.themis.stripe_count xa)" = 2 ] && mkdir striped && setfattr -n user.themis.stripe_size -v 8192 striped && echo 1 >striped/f && [ "$(getfattr --only-values -n user.themis.stripe_size striped/f)" = 8192 ]'
else
    skip "setfattr and getfattr" "not installed"
fi
if command -v rsync >/dev/null; then
    check "rsync writes a tree, and finds it equal" run 'rsync -a "$src/" "$M/rsync/" && diff -r "$src" "$M/rsync" && [ -z "$(rsync -aci "$src/" "$M/rsync/")" ]'
else
    skip "rsync" "not installed"
fi
check "find, grep, sed -i, head, tail" run 'cd "$M/tar"; [ "$(find . -name "*.c" | wc -l)" = "$(ls "$src"/*.c | wc -l)" ]; grep -rl themis_posix_open . | grep -q file.c; sed -i s/themis/THEMIS/ file.c; head -n 5 file.c | grep -q SPDX; [ "$(tail -c 3 file.c | wc -c)" = 3 ]'
check "gcc compiles and links there" run 'cd "$M" && printf "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n" >hello.c && gcc -g -c hello.c && gcc -o hello hello.o && cp hello "$T/hello" && [ "$("$T/hello")" = hello ]'
check "python3: pathlib, shutil, mmap" run 'python3 -c "
import mmap, pathlib, shutil, sys
m = pathlib.Path(sys.argv[1])
(m / \"pp\" / \"q\").mkdir(parents=True)
(m / \"pp\" / \"q\" / \"x\").write_text(\"text\" * 3000)
shutil.copytree(m / \"pp\", m / \"rr\")
assert (m / \"rr\" / \"q\" / \"x\").read_text() == \"text\" * 3000
with open(m / \"rr\" / \"q\" / \"x\", \"r+b\") as f, mmap.mmap(f.fileno(), 0) as a:
    assert a[:4] == b\"text\"
    a[4:8] = b\"TEXT\"
assert (m / \"rr\" / \"q\" / \"x\").read_bytes()[:12] == b\"textTEXTtext\"
shutil.move(m / \"rr\" / \"q\", m / \"ss\")
assert sorted(x.name for x in m.glob(\"ss/*\")) == [\"x\"]
shutil.rmtree(m / \"pp\"); shutil.rmtree(m / \"rr\"); shutil.rmtree(m / \"ss\")
assert not (m / \"pp\").exists()" "$M"'
if command -v git >/dev/null; then
    check "git init, commit, fsck, clone" run 'cd "$M" && mkdir g && cd g && git init -q . && git config user.email a@b && git config user.name n && cp "$src"/*.c . && git add . && git commit -qm first && git mv file.c elif.c && git commit -qm second && git fsck --strict && [ -z "$(git status --porcelain)" ] && git clone -q . ../g2 && diff elif.c ../g2/elif.c'
else
    skip "git" "not installed"
fi
if command -v sqlite3 >/dev/null; then
    check "sqlite3 with a rollback journal" run 'cd "$M" && sqlite3 db "create table t(a integer primary key, b text); begin; $(for i in $(seq 300); do echo "insert into t values($i, hex(randomblob(50)));"; done) commit; begin; delete from t where a > 200; rollback; vacuum;" && [ "$(sqlite3 db "pragma integrity_check; select count(*) from t" | tr "\n" " ")" = "ok 300 " ]'
else
    skip "sqlite3" "not installed"
fi
check "what themis writes is seen, and the other way round" run 'echo a | themis cp - "themis:$M/x" && [ "$(cat "$M/x")" = a ] && echo b >"$M/y" && [ "$(themis cat "themis:${M#/themis}/y")" = b ]'

# --- MPI-IO

# mpi N PROGRAM...: both libraries in front.
mpi() {
    number=$1
    shift
    timeout -k 5 60 mpirun.mpich -n "$number" -genv LD_PRELOAD "$(preload):$posix" "$@"
}
check "MPI-IO by a plain name is the file of POSIX calls" mpi 3 "$programs/stripped" "$M/plain.nc"
check "so it is with the prefix in front" mpi 3 "$programs/stripped" "themis:$M/prefix.nc"
check "and in the working directory" in_posix sh -c 'cd "$1" && shift && exec "$@"' sh "$M" timeout 60 mpirun.mpich -n 2 -genv LD_PRELOAD "$(preload):$posix" "$programs/stripped" relative.nc
check "files elsewhere are local, as before" mpi 2 "$programs/stripped" "$T/local.nc"
check "one file by both doors at once" mpi 2 "$THEMIS_BUILD/test/mount/doors" "$M/doors" "$M/doors"

# --- the mount point

check "a relative path from above it" in_posix sh -c 'echo above >"$1/above" && cd / && [ "$(cat "${1#/}/above")" = above ] && [ "$(cat "./${1#/}/above")" = above ] && [ "$(cat "tmp/../${1#/}/above")" = above ]' sh "$M"
check "and one from the descriptor of a directory" in_posix python3 -c '
import os, sys
root = os.open("/", os.O_PATH)
below = os.open("themis", os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
name = sys.argv[1][len("/themis/"):] + "/above"
assert os.read(os.open(name, os.O_RDONLY, dir_fd=below), 10) == os.read(os.open("themis/" + name, os.O_RDONLY, dir_fd=root), 10) == b"above\n"' "$M"
in_posix ln -s . "$M/self" && in_posix ln -s "$T" "$M/local"
check "a child of vfork may be the first who goes there, also through links" in_posix python3 -c '
import os, subprocess, sys
assert subprocess.run(["pwd", "-P"], cwd=sys.argv[1] + "/self", capture_output=True, text=True).stdout == sys.argv[1] + "\n"
assert subprocess.run(["pwd", "-P"], cwd=sys.argv[1] + "/local", capture_output=True, text=True).stdout == os.path.realpath(sys.argv[2]) + "\n"
assert subprocess.run(["cat", "above"], cwd=sys.argv[1], capture_output=True, text=True).stdout == "above\n"
try:
    subprocess.run(["true"], cwd=sys.argv[1] + "/none")
except FileNotFoundError:
    pass
else:
    raise SystemExit("there is none")
assert open(sys.argv[1] + "/above").read() == "above\n"
assert subprocess.run(["cat", "above"], cwd=sys.argv[1], capture_output=True, text=True).stdout == "above\n"' "$M" "$T"
check "python starts programs in directories there and elsewhere" in_posix python3 -c '
import os, subprocess, sys
os.chdir(sys.argv[1])
assert subprocess.run(["pwd", "-P"], cwd="/tmp", capture_output=True, text=True).stdout == "/tmp\n"
assert os.getcwd() == sys.argv[1]
os.chdir("/tmp")
assert subprocess.run(["cat", "above"], cwd=sys.argv[1], capture_output=True, text=True).stdout == "above\n"
assert os.getcwd() == "/tmp" and not os.path.exists("above")' "$M"

check "another mount point" sh -c 'THEMIS_MOUNT=/else/where LD_PRELOAD=$1 sh -c "echo x >/else/where/moved && cat /else/where/moved" && [ "$(themis cat themis:/moved)" = x ]' sh "$posix"
check "none" sh -c 'THEMIS_MOUNT=off LD_PRELOAD=$1 cat /themis/moved 2>&1 | grep "No such file"' sh "$posix"
mkdir "$T/home" && printf '[client]\nservers = %s\nmount = /of/file\n' "$THEMIS_SERVERS" >"$T/home/conf"
check "themis run takes that of the configuration" env -u THEMIS_MOUNT -u THEMIS_SERVERS THEMIS_CONFIG="$T/home/conf" timeout 30 themis run -q --posix -- cat /of/file/moved
printf '[client]\nmount = relative\n' >"$T/home/bad"
check "and refuses one that is none" refused "absolute path" env -u THEMIS_SERVERS THEMIS_CONFIG="$T/home/bad" timeout 30 themis run -q -- true

# --- the end

check "without servers in the configuration calls fail with EIO, and say why" refused "THEMIS_SERVERS" env -u THEMIS_SERVERS HOME="$T" LD_PRELOAD="$posix" cat /themis/moved
check "themis find lists all names" limit 60 sh -c 'themis find themis:/ >"$1"' sh "$T/found"
none "nothing is left hidden" "$(grep themis_hidden "$T/found")"
stop_servers
began=$(date +%s)
check "when the servers are gone, calls fail with EIO" refused "Input/output error" env THEMIS_TIMEOUT=2s LD_PRELOAD="$posix" timeout 30 ls "$M"
check "after the timeout" [ $(($(date +%s) - began)) -le 15 ]
finish
