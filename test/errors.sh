#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Errors that programs see, and parts of MPI-IO that ROMIO's own programs do not test; 4 ranks, 2 servers.
# timeout: 500
. "$(dirname "$0")/lib/testlib.sh"

programs=$THEMIS_BUILD/test/adio
mkdir -p "$programs"
for name in errors hints handlers features; do
    mpicc.mpich -Wall -Werror -pthread -o "$programs/$name" "$THEMIS_SRC/test/adio/$name.c" || exit 1
done
rm -f "$programs/handlers_f"
! command -v gfortran >/dev/null || mpif90.mpich -Wall -Wno-unused-dummy-argument -Werror -J "$T" -o "$programs/handlers_f" "$THEMIS_SRC/test/adio/handlers.f90" || exit 1
gcc -O2 -fPIC -shared -o "$T/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl || exit 1
EXTRA_PRELOAD=$T/yield_shim.so

error_case() { limit 40 ranks 4 "$programs/errors" "$1" "$2"; }
hint_case() { limit 60 ranks 4 "$programs/hints" "$1" "$2"; }
feature() { limit 60 ranks 4 "$programs/features" "$1" "$2"; }

no_server() (
    # A free port; with the default timeout, also under sanitizers.
    free_port
    unset THEMIS_TIMEOUT
    THEMIS_SERVERS=127.0.0.1:$testlib_port limit 30 ranks 4 "$programs/errors" no-server themis:/f
)

check "no server: MPI_ERR_IO that names it, on all ranks within 10 s" no_server
no_servers_named() {
    ! env -u THEMIS_SERVERS HOME="$T" LD_PRELOAD="$(preload)" timeout 30 "$programs/features" modes themis:/f &&
        env -u THEMIS_SERVERS HOME="$T" LD_PRELOAD="$(preload)" timeout 30 "$programs/errors" no-file themis:/f 2>&1 |
        grep -q THEMIS_SERVERS
}
check "no servers configured: the error says how to configure them" no_servers_named

# One of two servers is stopped or killed; no open takes longer than 10 s, which errors.c checks.
half_dead() (
    unset THEMIS_TIMEOUT
    THEMIS_SERVERS=$THEMIS_SERVERS timeout 40 sh -c "$(ranks_command 4) '$programs/errors' half-dead themis:/half"
)
# pid_of INDEX: of a server of start_servers
pid_of() { echo "$testlib_servers" | tr ' ' '\n' | grep . | sed -n "$(($1 + 1))p"; }
start_servers 2
for i in 0 1; do
    kill -STOP "$(pid_of $i)"
    check "server $((i + 1)) of 2 does not answer: open ends within 10 s" half_dead
    kill -CONT "$(pid_of $i)"
done
kill -9 "$(pid_of 1)"
check "server 2 of 2 is gone: open ends within 10 s" half_dead
stop_servers
start_servers 4
for i in 0 1 2; do kill -STOP "$(pid_of $i)"; done
check "servers 1 to 3 of 4 do not answer: open ends within 10 s" half_dead
for i in 0 1 2; do kill -CONT "$(pid_of $i)"; done
stop_servers

start_servers 2 size=3g
check "no such file: MPI_ERR_NO_SUCH_FILE" error_case no-file themis:/missing
check "MPI_MODE_EXCL on a file that is there: MPI_ERR_FILE_EXISTS" error_case exclusive themis:/exclusive
check "a file used as a directory: MPI_ERR_BAD_FILE" error_case not-directory themis:/plain
check "names that are too long: MPI_ERR_BAD_FILE" error_case long-name themis:/
check "impossible and differing modes: MPI_ERR_AMODE, MPI_ERR_NOT_SAME" error_case bad-amode themis:/amode
check "writes to a file opened for reading: MPI_ERR_READ_ONLY" error_case read-only themis:/read-only
check "invalid hints, one by one: the defaults are in force" hint_case nonsense themis:/hints
nonsense_rows() {
    sed -n '/^static void nonsense(/,/};/s/^ *{"\([^"]*\)", "\([^"]*\)", .*/\1 = "\2"/p' "$THEMIS_SRC/test/adio/hints.c"
}
# one_warning: among all ranks' messages, for each value.
one_warning() {
    limit 60 ranks 4 "$programs/hints" nonsense themis:/hints >"$T/warnings" 2>&1
    nonsense_rows >"$T/rows"
    [ "$(wc -l <"$T/rows")" -ge 25 ] || return 1
    while read -r row; do
        [ "$(grep -cF "hint $row " "$T/warnings")" = 1 ] || { echo "$row" && grep -F "hint $row" "$T/warnings" && return 1; }
    done <"$T/rows"
}
check "with one warning each" one_warning
check "all of them at once" hint_case much-nonsense themis:/hints
check "ranks with different hints use those of rank 0" hint_case differing-hints themis:/hints
late_hints() {
    hint_case late-hints themis:/hints >"$T/late" 2>&1 || { cat "$T/late" && return 1; }
    ! grep 'is ignored' "$T/late"
}
check "hints after the open change nothing; those that get_info shows can be passed to the next open" late_hints
visibility() {
    for n in 4 1; do
        limit 60 ranks $n "$programs/hints" visibility themis:/hints >"$T/visibility" 2>&1 || { cat "$T/visibility" && return 1; }
        ! grep 'is ignored' "$T/visibility" || return 1
    done
}
check "themis_cache: off but for on, and romio_visibility_immediate says what that means" visibility
check "romio_cb_write, romio_cb_read, romio_no_indep_rw and themis_collective" hint_case buffering themis:/hints
delete_hint() { HINT_SERVERS=$THEMIS_SERVERS THEMIS_SERVERS=127.0.0.1:1 limit 40 ranks 2 "$programs/hints" delete-hint themis:/f; }
check "MPI_File_delete uses themis_servers" delete_hint

check "a wrong buffer or type on one rank: no rank hangs" error_case wrong-buffer themis:/wrong-buffer
check "an invalid view on one rank: no rank hangs" error_case wrong-view themis:/wrong-view
check "the same in a sequential file" error_case sequential-view themis:/sequential-view
check "wrong or differing arguments of other collective calls: no rank hangs" error_case wrong-argument themis:/wrong-argument
check "unmapped memory: MPI_ERR_BUFFER" error_case wrong-address themis:/wrong-address
# An address may be written with any number of leading zeros.
long_list() {
    name=$(seq -s / 101 139 | sed 's/[0-9]*/&'"$(printf '%096d' 0)"'/g') list=$(echo "$THEMIS_SERVERS" | sed "s/127\./$(printf '%0300d' 177)./g")
    limit 20 themis mkdir -p "themis:/$name" &&
        LONG_LIST=$list THEMIS_SERVERS=127.0.0.1:1 limit 40 ranks 4 "$programs/errors" long-list "themis:/$name/file" || return 1
    left=$(limit 20 themis ls "themis:/$name")
    [ -z "$left" ] || { echo "$left" && return 1; }
}
check "a list of servers that is too long for ROMIO's name" long_list

for where in themis: "ufs:$T"; do
    name=${where%%:*}:
    check "a handler of the program's own on $name" limit 30 ranks 2 "$programs/handlers" own "$where/own"
    check "the handler of MPI_FILE_NULL on $name" limit 30 ranks 2 "$programs/handlers" default "$where/default"
    is_fatal() {
        ! limit 30 ranks 2 "$programs/handlers" fatal "$where/fatal" >"$T/fatal" 2>&1 &&
            ! grep -q 'came back' "$T/fatal" && grep -qi 'fatal error' "$T/fatal"
    }
    check "MPI_ERRORS_ARE_FATAL on $name" is_fatal
    if [ -x "$programs/handlers_f" ]; then
        check "a Fortran program's handler on $name" limit 30 ranks 2 "$programs/handlers_f" own "$where/own_f"
        check "MPI_ERRORS_RETURN and the classes in Fortran on $name" limit 30 ranks 2 "$programs/handlers_f" return "$where/return_f"
    else
        skip "handlers in Fortran on $name" "no Fortran compiler here"
    fi
done

for name in external32 sparse modes gaps views threads; do
    check "$name on themis:" feature "$name" "themis:/$name"
    check "$name on ufs:" feature "$name" "ufs:$T/$name"
done
# Slow copies of MPI_COMM_SELF: ROMIO, which starts with the first file, is not ready meanwhile.
cat >"$T/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    int (*next)(MPI_Comm, MPI_Comm *) = (int (*)(MPI_Comm, MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_dup");
    usleep(comm == MPI_COMM_SELF ? 200000 : 0);
    return next(comm, made);
}
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    int (*next)(MPI_Comm, int, int, MPI_Comm *) = (int (*)(MPI_Comm, int, int, MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_split");
    usleep(comm == MPI_COMM_SELF ? 200000 : 0);
    return next(comm, color, key, made);
}
END
mpicc.mpich -fPIC -shared -o "$T/slow.so" "$T/slow.c" -ldl || exit 1
first_files() (
    EXTRA_PRELOAD=$T/slow.so:$EXTRA_PRELOAD
    limit 40 ranks "$1" "$programs/features" first-files "$2"
)
for n in 1 2 4; do
    check "threads of $n ranks open the first files on themis:" first_files "$n" themis:/first
    check "threads of $n ranks open the first files on ufs:" first_files "$n" "ufs:$T/first"
done
check "all forms of a call show how much was moved directly" feature direct-used themis:/direct-used
check "more than 2 GiB in one call" limit 60 ranks 2 "$programs/features" large-count themis:/large
check "more than 2 GiB through functions for large counts, nothing on one rank" limit 120 ranks 2 "$programs/features" count-c themis:/large
colon_name=history.2023-03-10_15:00:00.nc
colons() { feature colons themis:/$colon_name && limit 20 themis ls themis:/ | grep -x "$colon_name" && limit 20 themis ls themis:/$colon_name; }
check "a name with colons, for programs and themis ls; ranks with nothing to read or write" colons

# request POLICY: a program with the hint themis_policy; its messages in $T/policy.err, the hints in force in $T/policy.
request() {
    echo "themis_policy $1" >"$T/hints"
    ROMIO_HINTS="$T/hints" limit 40 ranks 4 "$THEMIS_BUILD/examples/cube" --size 8 --show-hints themis:/policy >"$T/policy" 2>"$T/policy.err"
}
in_force() { tr -s ' =' ' ' <"$T/policy" | grep -q "themis_policy $1\$" || { cat "$T/policy" "$T/policy.err" && return 1; }; }
granted() { request "$1" && in_force "$1" && ! grep themis_policy "$T/policy.err"; }
# ignored POLICY IN-FORCE PATTERN: one warning that names the request, the reason, and what is in force.
ignored() {
    request "$1" && in_force "$2" && [ "$(grep -c themis_policy "$T/policy.err")" = 1 ] &&
        grep -q "themis:/policy: .*\"$1\" is ignored: .*$3.*; in force is $2\$" "$T/policy.err" || { cat "$T/policy.err" && return 1; }
}
check "themis_policy without a list of policies: a warning, and what is in force" ignored size-fair job-fair 'list of policies'
check "themis_policy with a syntax error: the warning has its position" ignored size-fairy job-fair 'character 5'
check "themis_policy that is in force already: no warning" granted job-fair
# beside OFFSET SECONDS: how many seconds a strided access in atomic mode takes while another client holds one byte.
beside() {
    spawn "$programs/holder" /atomic "$1" 1 "$2" >"$T/holder"
    await_files 30 "$T/holder" || return 1
    began=$(date +%s%N)
    feature atomic themis:/atomic || return 1
    took=$((($(date +%s%N) - began) / 1000000))
    echo "$took ms"
    rm "$T/holder"
}
# The bytes are 4096 to 4892.
not_held() { beside "$1" 300 && kill "${testlib_spawned##* }"; }
held() { beside "$1" 4 && [ "$took" -ge 2000 ]; }
check "atomic on ufs:" feature atomic "ufs:$T/atomic"
if [ -n "${THEMIS_VARIANT-}" ]; then
    skip "ranges of locks in atomic mode" "a plain program cannot link a sanitized library"
else
    gcc -Wall -Werror -I"$THEMIS_PREFIX/include" -o "$programs/holder" "$THEMIS_SRC/test/adio/holder.c" -L"$THEMIS_PREFIX/lib" \
        -Wl,-rpath,"$THEMIS_PREFIX/lib" -lthemis || exit 1
    check "atomic mode locks nothing before a strided access" not_held 4095
    check "atomic mode locks the first byte of a strided access" held 4096
    check "atomic mode locks the last byte of a strided access" held 4891
    check "atomic mode locks nothing after a strided access" not_held 4892
fi

check "the shared file pointer of a file with the longest name" feature long-name themis:/
# As root, the test opens a file of root as user nobody, who must be able to read the programs.
if [ "$(id -u)" = 0 ] && chmod 755 "$T" && setpriv --reuid 65534 --clear-groups test -x "$programs/errors" 2>/dev/null; then
    no_access() {
        error_case no-file themis:/missing && limit 20 themis cp "$THEMIS_SRC/README.md" themis:/roots &&
            HOME=$T limit 40 setpriv --reuid 65534 --clear-groups $(ranks_command 2) "$programs/errors" no-access themis:/roots
    }
    check "a read-only file: MPI_ERR_ACCESS" no_access
else
    skip "a read-only file: MPI_ERR_ACCESS" "needs root, and programs that nobody can read"
fi

# Sources of the list of servers, in order of precedence; one has the right list, and all that it overrides are wrong.
servers=$THEMIS_SERVERS wrong=127.0.0.1:1
# listed PATH HINT ENVIRONMENT FILE: a list or nothing each.
listed() (
    unset THEMIS_SERVERS
    printf '[client]\nservers = %s\n' "$4" >"$T/client.conf"
    THEMIS_CONFIG=$T/client.conf THEMIS_TIMEOUT=2s && export THEMIS_CONFIG THEMIS_TIMEOUT
    [ -z "$3" ] || { THEMIS_SERVERS=$3 && export THEMIS_SERVERS; }
    if [ -n "$2" ]; then set -- "$1" --hint "themis_servers=$2"; else set -- "$1"; fi
    path=themis:${1:+//$1}/listed
    shift
    limit 40 ranks 2 "$THEMIS_BUILD/examples/cube" --size 8 "$@" "$path"
)
check "servers from the path, before hint, environment and file" listed "$servers" "$wrong" "$wrong" "$wrong"
check "from the hint, before environment and file" listed '' "$servers" "$wrong" "$wrong"
check "from the environment, before the file" listed '' '' "$servers" "$wrong"
check "from the file" listed '' '' '' "$servers"
not_listed() { ! listed '' "$wrong" "$servers" "$servers"; }
check "a hint with servers that do not exist fails, whatever the other sources say" not_listed

# layout STRIPES FIRST UNIT HINT...: the layout of cube's file with the hints, from themis stat.
layout() {
    want="count=$1 first=$2 size=$3"
    shift 3
    limit 40 ranks 4 "$THEMIS_BUILD/examples/cube" --size 16 --keep $(printf -- '--hint %s ' "$@") themis:/layout &&
        limit 20 themis stat --json themis:/layout >"$T/stat" && cat "$T/stat" &&
        python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
layout = (found[0] if isinstance(found, list) else found)["layout"]
print("count=%d first=%d size=%d" % (layout["count"], layout["first"], layout["stripe_size_bytes"]))' \
            "$T/stat" >"$T/layout" && cat "$T/layout" && [ "$(cat "$T/layout")" = "$want" ] && limit 20 themis rm themis:/layout
}
check "striping_factor=1, start_iodevice=1" layout 1 1 1048576 striping_factor=1 start_iodevice=1
check "striping_factor=2, start_iodevice=0, striping_unit=65536, cb_nodes=2, romio_no_indep_rw" layout 2 0 65536 \
    striping_factor=2 start_iodevice=0 striping_unit=65536 cb_nodes=2 'cb_config_list=*:2' romio_no_indep_rw=true

# forms of file names
forced() { ROMIO_FSTYPE_FORCE=themis: limit 30 ranks 4 "$programs/features" gaps /forced && themis stat themis:/forced; }
check "ROMIO_FSTYPE_FORCE=themis: for fixed names" forced
explicit() {
    servers=$THEMIS_SERVERS
    env -u THEMIS_SERVERS sh -c "$(ranks_command 4 | sed 's/^/exec timeout 30 /') '$programs/features' gaps 'themis://$servers/explicit'" &&
        themis stat themis:/explicit
}
check "servers named in the path" explicit

stop_servers
start_servers 2 policies=size-fair,user-then-size-fair
check "the administrator's list grants a policy" granted user-then-size-fair
check "and another policy of the list" granted size-fair
check "and no other" ignored job-fair size-fair 'list of policies'
private() {
    echo "themis_policy group-then-user-then-size-fair" >"$T/hints"
    # shellcheck disable=SC2046 # words of a command
    env -u THEMIS_SERVERS ROMIO_HINTS="$T/hints" timeout 60 $(run_env) themis run -s 2 -- mpirun.mpich -n 2 \
        "$THEMIS_BUILD/examples/cube" --size 8 --show-hints themis:/policy >"$T/policy" 2>"$T/policy.err"
    in_force group-then-user-then-size-fair && ! grep themis_policy "$T/policy.err"
}
check "private servers grant any policy" private
stop_servers

# Servers cannot copy from a process that may not be traced: its data go by messages, as to other hosts.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    mkdir "$T/bin"
    printf '#!/bin/sh\nexec setpriv --bounding-set=-sys_ptrace %s "$@"\n' "$(command -v themisd)" >"$T/bin/themisd"
    chmod +x "$T/bin/themisd"
    # Undone at exit: the leak checker traces its own process.
    printf '%s\n' '#include <sys/prctl.h>' '__attribute__((constructor)) static void shut(void) { prctl(PR_SET_DUMPABLE, 0); }' \
        '__attribute__((destructor)) static void unshut(void) { prctl(PR_SET_DUMPABLE, 1); }' |
        gcc -O2 -fPIC -shared -x c -o "$T/shut.so" - || exit 1
    PATH=$T/bin:$PATH start_servers 2
    EXTRA_PRELOAD=$T/shut.so:$EXTRA_PRELOAD
    check "ranks that may not be traced: every byte arrives" limit 60 ranks 4 "$THEMIS_BUILD/examples/cube" --size 96 themis:/shut
    refusals() {
        grep -h 'go by messages' "$T"/srv*/log
        [ "$(grep -h 'go by messages: process [0-9]* may not be copied from and to (' "$T/srv$1/log" | wc -l)" = 1 ]
    }
    for i in 0 1; do check "and server $((i + 1)) logs it once, with the reason" refusals $i; done
    check "unmapped memory, by messages" error_case wrong-address themis:/wrong-address
    EXTRA_PRELOAD=${EXTRA_PRELOAD#*:}
    stop_servers
else
    skip "ranks that may not be traced" "only root can take the capability from the servers"
fi

start_servers 1 store_bandwidth=16m
check "MPI_Wait for a slow server uses little CPU time; writes make progress without calls" limit 120 ranks 1 "$programs/features" waiting themis:/slow
finish
