#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Files that are still open when MPI_Finalize is called, and are closed there by a library, or never.
# timeout: 500
. "$(dirname "$0")/lib/testlib.sh"

program=$THEMIS_BUILD/test/adio/finalize
mkdir -p "$THEMIS_BUILD/test/adio"
mpicc.mpich -Wall -Werror -o "$program" "$THEMIS_SRC/test/adio/finalize.c" || exit 1
gcc -O2 -fPIC -shared -o "$T/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || exit 1
EXTRA_PRELOAD=$T/yield_shim.so

# letters FIRST COUNT: blocks of letters as the program writes them; the first letter has the code FIRST.
letters() {
    for code in $(seq "$1" $(($1 + $2 - 1))); do
        head -c 100000 /dev/zero | tr '\0' "\\$(printf %o "$code")"
    done
}
# same RANKS PARTS COMMAND...: the command prints the blocks of the first part, or of both
same() {
    letters 65 "$1" >"$T/expected"
    [ "$2" = 1 ] || letters 97 "$1" >>"$T/expected"
    shift 2
    "$@" >"$T/found" && cmp "$T/expected" "$T/found"
}
# verify RANKS PARTS READER FILE...: the bytes of the files; with PARTS "own" each rank has a file with one block.
verify() {
    n=$1 parts=$2 reader=$3
    shift 3
    for file in "$@"; do
        if [ "$parts" = own ]; then
            for rank in $(seq 0 $((n - 1))); do same 1 1 $reader "$file.$rank" || return 1; done
        else
            same "$n" "$parts" $reader "$file" || return 1
        fi
    done
}

# on_themis RANKS CASE PARTS: two files on the servers, and one on another server, that is, in another session
on_themis() {
    limit 20 themis rm -r themis:/d "themis://$other/d" 2>/dev/null
    limit 20 themis mkdir themis:/d && limit 20 themis mkdir "themis://$other/d" || return 1
    set -- "$1" "$2" "$3" themis:/d/a themis:/d/b "themis://$other/d/c"
    limit 40 ranks "$1" "$program" "$2" "$4" "$5" "$6" && verify "$1" "$3" "themis cat" "$4" "$5" "$6"
}
# sessions: the number of sessions of the servers, including that of themis status
sessions() { limit 20 themis status --json | awk '/"sessions":/ { sum += $2 } END { print sum + 0 }'; }
# sessions_end: a program that closes no file leaves no session, which would stay until its lease ends. A very busy server
# may miss the end of a session, but not each time.
sessions_end() {
    for _ in 1 2 3 4; do
        before=$(sessions)
        limit 40 ranks 2 "$program" never themis:/never || return 1
        after=$(sessions)
        echo "sessions: $before before, $after after"
        [ "$after" -gt "$before" ] || return 0
    done
    return 1
}
# on_ufs RANKS CASE PARTS [LIBRARY]: two local files, with LIBRARY preloaded or without
on_ufs() {
    rm -rf "$T/d" && mkdir "$T/d" && limit 40 mpirun.mpich -n "$1" -genv LD_PRELOAD "${4-}" "$program" "$2" "ufs:$T/d/a" "ufs:$T/d/b" &&
        verify "$1" "$3" cat "$T/d/a" "$T/d/b"
}

# closes TEXT COMMAND...: files that are closed in MPI_Finalize, or never; COMMAND RANKS CASE PARTS runs a case and
# verifies the parts.
closes() {
    label=$1
    shift
    for n in 1 2 4; do
        check "$label, $n ranks: closed by a library initialized before the first file" "$@" "$n" closed 1
        check "$label, $n ranks: closed by a library initialized later" "$@" "$n" closed-late 1
        check "$label, $n ranks: written, synced and read before" "$@" "$n" used 2
        check "$label, $n ranks: the same, library initialized later" "$@" "$n" used-late 2
        check "$label, $n ranks: never closed" "$@" "$n" never 1
    done
}
# more TEXT COMMAND...: other calls, in which MPICH's own library aborts, crashes or hangs.
more() {
    label=$1
    shift
    for n in 1 2 4; do
        check "$label, $n ranks: the shared file pointer" "$@" "$n" shared 1
        check "$label, $n ranks: closed by Fortran's handle" "$@" "$n" fortran 1
        check "$label, $n ranks: opened after all others were closed" "$@" "$n" opened 2
        check "$label, $n ranks: opened as the first file" "$@" "$n" opened-first 2
        check "$label, $n ranks: files of each rank's own" "$@" "$n" opened-own own
        check "$label, $n ranks: files of each rank's own are the first" "$@" "$n" opened-own-first own
    done
}

case ${THEMIS_VARIANT-} in
"") closes "ufs: with MPICH alone" on_ufs ;;
esac
ours_on_ufs() { on_ufs "$1" "$2" "$3" "$(preload)"; }
closes "ufs:" ours_on_ufs
more "ufs:" ours_on_ufs

# Another server with a list of its own.
free_port
other=127.0.0.1:$testlib_port
spawn themisd --listen 127.0.0.1 --port "$testlib_port" --size 1g --port-file "$T/other"
await_files 60 "$T/other" || exit 1

# gone RANKS CASE: the servers are killed in MPI_Finalize. Unwritten data is lost, but the program ends in time.
gone() {
    SERVER_PIDS=$testlib_servers THEMIS_TIMEOUT=8s limit 60 ranks "$1" "$program" "$2" themis:/gone
}
for servers in 1 2; do
    label="themis:, $servers servers"
    start_servers $servers
    closes "$label" on_themis
    more "$label" on_themis
    check "$label: sessions end though no file is closed" sessions_end
    for n in 1 4; do
        check "$label, $n ranks: closed when the servers are lost" gone "$n" gone
        stop_servers
        start_servers $servers
        check "$label, $n ranks: never closed, and the servers are lost" gone "$n" never-gone
        stop_servers
        start_servers $servers
    done
    stop_servers
done
finish
