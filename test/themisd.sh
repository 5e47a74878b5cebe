#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themisd for administrators: --check, --daemon, its files, SIGHUP, SIGTERM; and the client's configuration file.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

conf=$T/themis.conf daemon=
free_port
cat >"$conf" <<END
[server]
listen = 127.0.0.1
port = $testlib_port
[store]
size = 64m
[sharing]
policy = job-fair
[client]
servers = 127.0.0.1:$testlib_port
END
unset THEMIS_SERVERS
THEMIS_CONFIG=$conf
export THEMIS_CONFIG

# fails_with TEXT COMMAND...: the command fails and its message has TEXT.
fails_with() {
    wanted=$1
    shift
    ! "$@" >"$T/said" 2>&1 && grep -qF -- "$wanted" "$T/said" || {
        cat "$T/said"
        return 1
    }
}

check "--check accepts a good file" limit 10 themisd -c "$conf" --check
sed 's/job-fair/user-than-size-fair/' "$conf" >"$T/bad.conf"
check "--check names file, line and key of a wrong policy" fails_with "$T/bad.conf:7: [sharing] policy" limit 10 themisd -c "$T/bad.conf" --check
check "and of an option" fails_with "[sharing] policies: nonsense" limit 10 themisd -c "$conf" --policies nonsense --check
check "--check refuses an arena that is too large" fails_with "[store] size: an arena of" limit 10 themisd --size 900t --check
check "and one that is larger than memory" fails_with "of memory that th" limit 10 themisd --size 8t --check
check "which does not start either" fails_with "[store] size: 8388608 MiB are more than the" limit 10 themisd --listen 127.0.0.1 --port 0 --size 8t
check "unless it is in a file, which has to have the space" fails_with "MiB do not fit into $T" limit 10 themisd --size 8t --file "$T/huge" --check
check "-c of a directory is not an empty file" fails_with "$T: Is a directory" limit 10 themisd -c "$T" --check
printf '[stroe]\nsize = 1m\n' >"$T/bad.conf"
check "a key in a wrong section: where it belongs" fails_with "$T/bad.conf:2: [stroe] size = 1m: " limit 10 themisd -c "$T/bad.conf" --check
check "by name" grep -qF "size belongs to [store]" "$T/said"
printf '\n[stroe]\nsise = 1m\n' >"$T/bad.conf"
check "an unknown section" fails_with "$T/bad.conf:3: [stroe] sise = 1m: " limit 10 themisd -c "$T/bad.conf" --check
check "with the sections that there are" grep -qF "no such section; a server reads [server], [store]" "$T/said"
check "a server that is not in its list is named" fails_with "this server, 127.0.0.1:7711 by listen and port, is not in the list" \
    limit 10 themisd --listen 127.0.0.1 --port 7711 --servers 127.0.0.1:1,127.0.0.1:2 --check
check "several servers need a key" fails_with "[server] key: needed by several servers" \
    limit 10 themisd --listen 127.0.0.1 --port 1 --servers 127.0.0.1:1,127.0.0.1:2
check "unless rights are not to be checked" limit 10 themisd --listen 127.0.0.1 --port 1 --servers 127.0.0.1:1,127.0.0.1:2 --key none --check
check "a key that is missing" fails_with "[server] key: $T/no-key: No such file" limit 10 themisd --key "$T/no-key" --check
check "one that is long enough" limit 10 themisd --key "$T/key" --check
(umask 077 && head -c 31 /dev/urandom >"$T/bad-key")
check "one that is too short" fails_with "[server] key: $T/bad-key: a key of 31 bytes is too short" limit 10 themisd --key "$T/bad-key" --check
check "a server does not start with it" fails_with "[server] key: $T/bad-key: a key of 31 bytes is too short" \
    limit 10 themisd --listen 127.0.0.1 --port 0 --size 64m --state "$T/unmade" --key "$T/bad-key"
check "and makes no directory" [ ! -e "$T/unmade" ]
head -c 32 /dev/urandom >"$T/bad-key"
chmod 0640 "$T/bad-key"
check "one that others can read" fails_with "[server] key: $T/bad-key: mode 0640 lets other users access it" limit 10 themisd --key "$T/bad-key" --check
check "a descriptor that is none" fails_with "--key-fd x: expected the number of an open file descriptor" limit 10 themisd --key-fd x --check
check "a lifetime that is too short" fails_with "[server] capability_lifetime: expected a time from 1s" limit 10 themisd --capability-lifetime 10ms --check
check "an address of another host" fails_with "[server] listen: 192.0.2.1 is not an address of this host" limit 10 themisd --listen 192.0.2.1 --check
check "also that of the metrics" fails_with "[metrics] metrics_listen: 192.0.2.1 is not an address" \
    limit 10 themisd --metrics-listen 192.0.2.1 --metrics-port 7712 --check
check "a server whose name cannot be resolved" fails_with "[server] servers: no-such-host.invalid" \
    limit 30 themisd --servers no-such-host.invalid:7711 --check
check "a directory above that is missing" fails_with "[server] state: $T/none: No such file" limit 10 themisd --state "$T/none/state" --check
: >"$T/plain"
check "one that is a file" fails_with "[server] state: $T/plain is not a directory" limit 10 themisd --state "$T/plain" --check
mkdir -m 0755 "$T/mine"
says_owner() { limit 10 themisd --state "$T/mine" --check | grep -q "^state = $T/mine: of $(id -un), mode 0755, [0-9]* MiB free\$"; }
check "--check tells whose a directory is, and its space" says_owner
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 0755 "$T"
    check "a directory in which the user may not write" fails_with "belongs to root, mode 0755: user nobody cannot write there" \
        limit 10 setpriv --reuid=65534 --clear-groups "$(command -v themisd)" --state "$T/mine" --check
else
    skip "a directory in which the user may not write" "not root, or no setpriv"
fi
sed 's/^servers = .*/servers = junk/' "$conf" >"$T/client.conf"
check "a client names file, line and key of a wrong list" fails_with "$T/client.conf:9: [client] servers = junk" \
    env THEMIS_CONFIG="$T/client.conf" timeout 20 themis ls themis:/
sed 's/^servers = /server = /' "$conf" >"$T/client.conf"
check "and of an unknown key" fails_with "$T/client.conf:9: [client] server = " \
    env THEMIS_CONFIG="$T/client.conf" timeout 20 themis ls themis:/

check "-V is --version" [ "$(themisd -V)" = "$(themisd --version)" ]
check "an arena that does not fit onto its disk" fails_with "do not fit into $T/data, which has" \
    limit 10 themisd --store arena --size 10000g --state "$T/state" --directory "$T/data" --check
mkdir -p "$T/lib/objects"
sed -e "s|/etc/themis/key|$T/key|" -e "s|/var/lib/themis|$T/lib|" -e 's/node[12]:7711/127.0.0.1:771&/g; s/771node\([12]\):7711/771\1/g' \
    "$THEMIS_PREFIX/share/doc/themis/examples/themis.conf" >"$T/example.conf"
check "the example is a valid configuration" limit 10 themisd -c "$T/example.conf" --listen 127.0.0.1 --port 7711 --check

check "a log file in no directory" fails_with "[server] log_file: $T/none: No such file" limit 10 themisd --log-file "$T/none/log" --check
check "which does not start either" fails_with "log_file = $T/none/log: No such file" limit 10 themisd --listen 127.0.0.1 --port 0 --log-file "$T/none/log"
check "a start that fails says why on the terminal too" fails_with "$T/plain" \
    limit 10 themisd --listen 127.0.0.1 --port 0 --size 16m --state "$T/plain" --log-file "$T/start.log"
check "as in its log file" grep -q "error: .*$T/plain" "$T/start.log"

# unit: systemd's unit starts the installed server at the host's address.
unit() {
    program=$(sed -n 's/^ExecStart=\([^ ]*\) -c .* --listen %H$/\1/p' "$THEMIS_PREFIX/lib/systemd/system/themisd.service")
    [ "$program" = "$THEMIS_PREFIX/sbin/themisd" ] && [ -x "$program" ]
}
check "the systemd unit starts the installed server" unit
check "as a user of its own, without capabilities" sh -c 'grep -qx User=themis "$1" && grep -qx CapabilityBoundingSet= "$1" && grep -qx ProtectSystem=strict "$1"' \
    sh "$THEMIS_PREFIX/lib/systemd/system/themisd.service"

# --- under a service manager: what it is told, and levels of messages in its journal

cat >"$T/manager.py" <<'END'
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1].replace("@", "\0", 1) if sys.argv[1][0] == "@" else sys.argv[1])
open(sys.argv[2] + ".ready", "w").write("ready")
while True:
    open(sys.argv[2], "a").write(manager.recv(4096).decode() + "\n--\n")
END
# served SOCKET: a server that has that in NOTIFY_SOCKET is started, reloads and ends; $T/told and $T/journal get what it says.
served() {
    rm -f "$T/told" "$T/told.ready" "$T/notify.port"
    python3 "$T/manager.py" "$1" "$T/told" &
    manager=$!
    testlib_spawned="$testlib_spawned $manager"
    await_files 20 "$T/told.ready" || return 1
    : >"$T/journal"
    JOURNAL_STREAM=$(stat -c %d:%i "$T/journal") NOTIFY_SOCKET=$1 themisd --listen 127.0.0.1 --port 0 --size 16m \
        --port-file "$T/notify.port" 2>>"$T/journal" &
    pid=$!
    testlib_spawned="$testlib_spawned $pid"
    await_files 20 "$T/notify.port" && await 10 grep -qs "^STATUS=listens at port $(cat "$T/notify.port")\$" "$T/told" && kill -HUP "$pid" &&
        await 10 grep -q '^RELOADING=1$' "$T/told" && kill -TERM "$pid" && await 10 grep -q '^STOPPING=1$' "$T/told" && wait "$pid"
    status=$?
    kill "$manager"
    [ "$(grep -xE 'READY=1|RELOADING=1|STOPPING=1' "$T/told" | tr '\n' ' ')" = "READY=1 RELOADING=1 READY=1 STOPPING=1 " ] && [ $status = 0 ] && return 0
    cat "$T/told" "$T/journal"
    return 1
}
check "it tells a service manager that it is ready, reloads and stops" served "$T/notify"
check "which knows the process" grep -q '^MAINPID=[0-9]*$' "$T/told"
check "the unit waits for that" grep -qx Type=notify "$THEMIS_PREFIX/lib/systemd/system/themisd.service"
check "a name in the abstract name space" served "@themis-test-$$"
check "messages to the journal begin with their level, not with the time" sh -c '[ -s "$1" ] && ! grep -v "^<[346]>themisd: " "$1"' sh "$T/journal"
unmanaged() {
    NOTIFY_SOCKET=$T/nobody timeout 5 themisd --listen 127.0.0.1 --port 0 --size 16m 2>"$T/journal"
    grep -q "warning: NOTIFY_SOCKET $T/nobody: No such file or directory" "$T/journal" && grep -q '^[0-9-]*T[0-9:.]* themisd: info: stopped' "$T/journal"
}
check "without a manager there it goes on" unmanaged

# The daemon is not a child of this shell; it is killed by its process id in any case.
start_daemon() {
    limit 30 themisd -c "$conf" --daemon --pid-file "$T/pid" --port-file "$T/port" "$@" 2>>"$T/daemon.log" && daemon=$(cat "$T/pid")
}
end_daemon() {
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
    testlib_clean
}
trap end_daemon EXIT

gone() { ! kill -0 "$daemon" 2>/dev/null; }

# A program that reads all output of the daemon, such as ssh, comes to an end.
piped() {
    pid_file=$T/piped.$#.pid
    limit 30 sh -c 'themisd --listen 127.0.0.1 --port 0 --size 16m --daemon --pid-file "$@" 2>&1 | cat' sh "$pid_file" "$@"
    status=$?
    kill "$(cat "$pid_file")" 2>/dev/null
    return $status
}
check "--daemon closes the pipe that it was started with" piped
check "also if messages go to a file" piped --log-file "$T/piped.log"
check "--daemon returns when the server is ready" start_daemon --file "$T/arena"
check "--pid-file and --port-file have the process id and the port" \
    sh -c 'kill -0 "$(cat "$1/pid")" && [ "$(cat "$1/port")" = "$2" ]' sh "$T" "$testlib_port"
check "the log says that files in an arena end with the server" grep -q "as long as this process" "$T/daemon.log"
check "a client finds it in the configuration file" limit 20 themis mkdir themis:/here

sed -i 's/job-fair/size-fair/' "$conf"
kill -HUP "$daemon"
policy_is() { timeout 20 themis policy get 2>/dev/null | grep -q "$1"; }
check "SIGHUP sets the new policy" await 10 policy_is size-fair
timeout 20 themis policy set user-fair >/dev/null
kill -HUP "$daemon"
sleep 0.5
check "one with the same policy leaves what was set since, as for a log file that is rotated" policy_is user-fair
sed -i 's/policy = size-fair/policy = size-unfair/' "$conf"
kill -HUP "$daemon"
check "a wrong file is reported with its line" await 10 grep -q "$conf:7: \[sharing\] policy.*old configuration stays" "$T/daemon.log"
check "and the old policy stays" policy_is user-fair
sed -i -e 's/policy = size-unfair/policy = fifo/' -e 's/size = 64m/size = 65m/' "$conf"
kill -HUP "$daemon"
check "SIGHUP with a key that needs a restart applies the others" await 10 policy_is fifo
check "and names that key" grep -q "restart: size" "$T/daemon.log"
kill -TERM "$daemon"
check "SIGTERM ends it" await 10 gone
check "and removes its files" sh -c '[ ! -e "$1/pid" ] && [ ! -e "$1/port" ]' sh "$T"

check "a slow server starts" start_daemon --store-bandwidth 8m
mkdir "$T/many" && for i in 1 2 3 4 5 6 7 8; do head -c 4000000 /dev/urandom >"$T/many/$i"; done
progress() {
    limit 60 script -qec "themis cp -r '$T/many' themis:/" /dev/null >"$T/progress" 2>&1 && grep -q '[0-9] MiB/s' "$T/progress"
}
check "a long copy of short files shows its progress on a terminal" progress
# A write of 24 MiB at 8 MiB/s is under way when the server is told to stop.
head -c 25165824 /dev/urandom >"$T/data"
THEMIS_TIMEOUT=2s timeout 60 themis cp "$T/data" themis:/data >"$T/cp.log" 2>&1 &
writer=$!
is_queued() { timeout 20 themis status --json 2>/dev/null | jq -e '[.. | .queued? // empty] | max > 0' >/dev/null; }
check "requests are queued" await 10 is_queued
kill -TERM "$daemon"
draining_or_done() { await 10 gone; }
check "SIGTERM drains and stops" draining_or_done
wait "$writer" || true
check "queued requests failed for no other reason than the stop" sh -c '! grep -iE "i/o error|malformed|protocol" "$1"' sh "$T/cp.log"
daemon=
# With metrics, and a log file that is rotated.
free_port
metrics=http://127.0.0.1:$testlib_port
sed -i 's/ = 65m/ = 64m/' "$conf"
check "a server with a log file starts" start_daemon --log-file "$T/themisd.log" --metrics-port "$testlib_port" --store-bandwidth 8m
check "whose messages go there" grep -q "listens at port" "$T/themisd.log"
check "/healthz is 200" [ "$(curl -s --max-time 10 -o "$T/health" -w '%{http_code}' "$metrics/healthz")$(cat "$T/health")" = 200ok ]
version=$(themisd --version | cut -d' ' -f2)
check "metrics have the version" sh -c 'curl -s --max-time 10 "$1/metrics" | grep -q "^themis_server_info{.*,version=\"$2\","' sh "$metrics" "$version"
mv "$T/themisd.log" "$T/themisd.log.1"
kill -HUP "$daemon"
check "SIGHUP opens the log again" await 10 grep -qs "configuration reloaded" "$T/themisd.log"
check "and leaves the old one" sh -c '! grep -q reloaded "$1/themisd.log.1"' sh "$T"
mv "$T/themisd.log" "$T/themisd.log.2"
sed -i 's/policy = fifo/policy = nonsense/' "$conf"
kill -HUP "$daemon"
check "also where the configuration is wrong" await 10 grep -qs "old configuration stays" "$T/themisd.log"
sed -i 's/policy = nonsense/policy = fifo/' "$conf"
THEMIS_TIMEOUT=2s timeout 60 themis cp "$T/data" themis:/data >"$T/cp.log" 2>&1 &
writer=$!
check "requests are queued again" await 10 is_queued
kill -TERM "$daemon"
unhealthy() { [ "$(curl -s --max-time 2 -w '%{http_code}' "$metrics/healthz")" = "draining
503" ]; }
check "/healthz is 503 while it drains" await 10 unhealthy
check "it ends" await 10 gone
wait "$writer" || true
daemon=

# --- examples for administrators

examples=$THEMIS_PREFIX/share/doc/themis/examples
for file in grafana.json themis.rules.yml themisd.logrotate; do
    check "$file is installed" [ -s "$examples/$file" ]
done
if command -v promtool >/dev/null; then
    check "Prometheus accepts the alert rules" limit 30 promtool check rules "$examples/themis.rules.yml"
    cp "$examples/themis.rules.yml" "$T" && cp "$THEMIS_SRC/test/lib/alerts.yml" "$T"
    check "each alert fires when it should" limit 30 promtool test rules "$T/alerts.yml"
    check "each of them is tried" sh -c '[ "$(sed -n "s/^ *- alert: //p" "$1/themis.rules.yml" | sort)" = "$(sed -n "s/^ *alertname: //p" "$1/alerts.yml" | sort -u)" ]' sh "$T"
else
    skip "alert rules" "promtool is not installed"
fi
if command -v logrotate >/dev/null; then
    check "logrotate accepts its file" limit 30 logrotate -d "$examples/themisd.logrotate"
else
    skip "logrotate accepts its file" "logrotate is not installed"
fi
start_servers 1
check "a port in use is reported with its address" fails_with "cannot listen at $THEMIS_SERVERS: address already in use" \
    limit 30 themisd --listen 127.0.0.1 --port "${THEMIS_SERVERS##*:}" --size 64m
stop_servers
finish
