#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themis run with servers on the hosts of its job: on an emulated cluster of 2 racks of 2 hosts, with a launcher like ssh.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
unset THEMIS_SERVERS THEMIS_CONFIG UCX_NET_DEVICES
HOME=$T XDG_RUNTIME_DIR=$T
export HOME XDG_RUNTIME_DIR
launch="$THEMIS_SRC/test/cluster/launch.sh"
hello=$THEMIS_BUILD/examples/hello_mpiio
. "$THEMIS_SRC/test/lib/clusterlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
cluster_or_finish "servers on the hosts of a job" "sanitizers are too slow for four hosts"

sh "$cluster" up "$CLUSTER_DIR" 2 2 1000 1000 0 >"$T/up" 2>&1 || {
    not_ok "the cluster starts"
    cat "$T/up"
    end
}
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
# run HOSTS [OPTION...] COMMAND...: themis run on the first host of the first rack.
first=r0n0
run() {
    hosts=$1
    shift
    on $first timeout 60 themis run --size 64m --hosts "$hosts" --launcher "sh $launch" "$@"
}
# left WORDS: processes with these words on their command line.
left() { pgrep -f -a -- "$1"; }
# gone WORDS: within SECONDS no such process is left.
gone() {
    for _ in $(seq $(($1 * 10))); do
        [ -n "$(left "$2")" ] || return 0
        sleep 0.1
    done
    left "$2"
    return 1
}
# --- where they are

check "one server a host, at addresses that all reach" says 0 \
    'themis run: 2 servers of its own, 10.77.0.1:[0-9]*,10.77.1.2:[0-9]*: what they hold' run r0n0,r1n1 -- true
check "N of them, spread over the hosts" says 0 '3 servers of its own, 10.77.0.1:[0-9]*,10.77.0.1:[0-9]*,10.77.1.1' run 'r0n0,r1n0' -s 3 -- true
check "fewer than hosts" says 0 '2 servers of its own, 10.77.0.1:[0-9]*,10.77.1.1:' run 'r[0-1]n[0-1]' -s 2 -- true
check "some on each" says 0 '4 servers of its own, 10.77.0.2:[0-9]*,10.77.0.2:[0-9]*,10.77.1.2' run 'r0n1,r1n1' -s 2/node -- true
printf 'r1n0 slots=2\nr1n1:2\n' >"$T/hostfile"
check "hosts from a file" says 0 ' 10.77.1.1:[0-9]*,10.77.1.2:' run "$T/hostfile" -- true
check "as from PBS" says 0 ' 10.77.1.1:[0-9]*,10.77.1.2:' on $first env "PBS_NODEFILE=$T/hostfile" timeout 60 themis run --size 64m --launcher "sh $launch" -- true
check "localhost: loopback" says 0 '1 server of its own, 127.0.0.1:' run localhost -- true
check "an interface" says 0 ' 10.77.1.1:' run r1n0 --network eth0 -- true
check "a network" says 0 ' 10.77.1.1:' run r1n0 --network 10.77.0.0/16 -- true

# --- what they do

# all_hosts: each host writes a file and reads those of the others.
cat >"$T/all_hosts" <<'END'
#!/bin/sh
set -e
head -c 3000000 /dev/urandom >"$1/block"
for host in r0n0 r0n1 r1n0 r1n1; do sh "$2" "$host" themis cp "$1/block" "themis:/$host" || exit 1; done
for host in r0n0 r0n1 r1n0 r1n1; do sh "$2" "$host" themis cat themis:/r1n0 | cmp - "$1/block" || exit 1; done
themis ls | tr '\n' ' '
END
check "every host reads what another has written" [ "$(run 'r[0-1]n[0-1]' -q -- sh "$T/all_hosts" "$T" "$launch" 2>"$T/err")" = "r0n0 r0n1 r1n0 r1n1 " ] || cat "$T/err"
check "who does not have the job's secret is not served" says 1 'secret' run r1n0 -q -- env -u THEMIS_SECRET -u THEMIS_AUTH THEMIS_TIMEOUT=5s themis ls
preload_shim=$THEMIS_BUILD/test/cluster/finalize_shim.so
check "an MPI program on two hosts" run r0n0,r1n0 -q -- mpirun.mpich -launcher ssh -launcher-exec "$launch" -hosts r0n0,r1n0 -n 2 \
    -genv LD_PRELOAD "$preload_shim" "$hello" themis:/f
check "files are copied in and out" sh -c '[ -d "$1/in" ] || mkdir "$1/in"; echo hello >"$1/in/f"' sh "$T"
check "of several hosts" run r0n1,r1n1 -q --stage-in "$T/in" --stage-out "/in:$T/back" --verify -- true
check "all of them" diff -r "$T/in" "$T/back"

# --- errors that name the cause

check "a server on loopback that another host opens: the rank, its host and why" sh -c '
    cd "$1" && shift
    ! "$@" >out 2>&1 && grep -q "rank 1 on r1n0: .*127.0.0.1" out && exit 0
    cat out
    exit 1' sh "$T" sh "$cluster" exec "$CLUSTER_DIR" $first env UCX_NET_DEVICES=eth0,lo THEMIS_TIMEOUT=2s timeout 60 themis run --size 64m --hosts localhost -q -- \
    mpirun.mpich -launcher ssh -launcher-exec "$launch" -hosts r0n0,r1n0 -n 2 -genv LD_PRELOAD "$preload_shim" "$hello" themis:/f
check "a launcher that is not there" says 1 'launcher /no/such: No such file or directory; --launcher chooses another' \
    on $first timeout 60 themis run --size 64m --hosts r1n0 --launcher /no/such -- touch "$T/was-run"
check "a host that is not there" says 1 'r9n9: its agent has ended before its servers had started; launched was: sh .*launch.sh r9n9' run r1n0,r9n9 -- touch "$T/was-run"
check "a policy that no server knows, once" sh -c '"$@" 2>"$0.err"; [ "$(grep -c bogus "$0.err")" = 1 ]' "$T/policy" sh "$cluster" exec "$CLUSTER_DIR" $first \
    timeout 60 themis run --size 64m --hosts r0n1,r1n1 --launcher "sh $launch" -p bogus -- touch "$T/was-run"
check "a network that hosts are not in" says 1 'r1n0: no interface that is up is 10.99.0.0/16' run r1n0 --network 10.99.0.0/16 -- touch "$T/was-run"
check "too many" says 2 'more than 256 servers' run 'n[1-300]' -s 1/node -- touch "$T/was-run"
check "a wrong list" says 2 "is not the name of a host" run 'r0n0,-x' -- touch "$T/was-run"
check "servers for each task" says 2 "each of the 4 tasks" env PMI_SIZE=4 PMI_RANK=0 timeout 60 themis run -- touch "$T/was-run"
check "no command was run" [ ! -e "$T/was-run" ]
check "an agent without themis run" says 1 "this command is for 'themis run'" sh -c 'echo reserve 1 | timeout 20 themis agent'

# --- the end

nap=9$$
cat >"$T/sleeper" <<END
echo "\$THEMIS_SERVERS" >"$T/list.new"
mv "$T/list.new" "$T/list"
exec sleep $nap
END
# begin: run, with servers on two hosts and a sleeping command, is $pid; $list is what it serves.
begin() {
    rm -f "$T/list"
    setsid sh "$launch" $first themis run --size 64m --hosts r0n0,r1n0 --launcher "'sh $launch'" -- sh "$T/sleeper" >"$T/run.out" 2>&1 &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    await_files 20 "$T/list" || { cat "$T/run.out" && return 1; }
    list=$(cat "$T/list")
    [ "$(left "--servers $list " | wc -l)" = 2 ]
}
all_gone() { gone 10 "--servers $list " && gone 5 "^sleep $nap" && [ -z "$(left "--hosts r0n0,r1n0 --launcher sh $launch -- sh $T/sleeper")" ]; }
killed() { begin && kill -KILL "$1$pid" && all_gone; }
check "SIGKILL of run ends the servers on all hosts" killed ""
check "so SIGKILL of its process group" killed "-"
terminated() { begin && kill -TERM "$pid" && all_gone; }
check "SIGTERM of run" terminated
supervisor_killed() { begin && kill -KILL "$(pgrep -P "$pid")" && all_gone; }
check "SIGKILL of the supervisor" supervisor_killed
# agents: of the servers of $list.
agents() { for server in $(pgrep -f -- "--servers $list "); do ps -o ppid= -p "$server"; done; }
# said WORDS: run says so within 5 s.
said() {
    for _ in $(seq 50); do
        ! grep -q -e "$1" "$T/run.out" || return 0
        sleep 0.1
    done
    cat "$T/run.out"
    return 1
}
agent_killed() { begin && kill -KILL "$(agents | tail -1)" && said '^themis run: r[01]n0: .* has ended.*: server [01] and what is on it are gone' && kill "$pid" && all_gone; }
check "an agent that is killed: the host is named" agent_killed
server_killed() { begin && kill -KILL "$(pgrep -f -- "--servers $list --index 1")" && said '^themis run: server 1 on r1n0 has ended, by signal 9' && kill "$pid" && all_gone; }
check "a server that is killed: it and its host are named" server_killed
# shellcheck disable=SC2046 # several
signalled() { begin && kill -TERM $(agents) && sleep 1 && [ "$(left "--servers $list " | wc -l)" = 2 ] && kill "$pid" && all_gone; }
check "SIGTERM, as batch systems send it to all, leaves servers to run, which stages out" signalled
end
