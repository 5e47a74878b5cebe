#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The examples for Slurm: burst_buffer.lua and themis_bb.sh, whose functions are called in the order in which Slurm does, and the other
# scripts.
#   sh test/slurm.sh --slurm     on request: with slurmctld and two slurmd on an emulated cluster (slurm-wlm, munge), in a job
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"
unset THEMIS_SERVERS THEMIS_CONFIG
examples=$THEMIS_SRC/examples/slurm
user=daemon
site=$T/etc

# tells STATUS WORDS COMMAND...: it ends so, and has these words in its answer to Slurm or in what it logs.
tells() {
    status=$1 words=$2
    shift 2
    outcome "$status" "$@" && { grep -q -e "$words" "$T/out" "$T/err" || answer "other words"; }
}
# settings KEY=VALUE...: an installation of the burst buffer in $site.
settings() {
    mkdir -p "$site"
    cp "$examples/burst_buffer.lua" "$examples/themis_bb.sh" "$site"
    chmod 755 "$site/themis_bb.sh"
    printf '%s\n' "bin=$THEMIS_PREFIX/bin" "state=$T/state" "$@" >"$site/themis_bb.conf"
}
# directory OF MODE NAME...: below $T
directory() {
    owner=$1 mode=$2
    shift 2
    for name in "$@"; do install -d -o "$owner" -m "$mode" "$T/$name"; done
}
# as_user COMMAND...
as_user() { setpriv --reuid "$(id -u "$user")" --regid "$(id -g "$user")" --clear-groups "$@"; }

if [ "${1-}" = --slurm ]; then
    . "$(dirname "$0")/slurm/cluster.sh"
fi

# --- servers for a job: the scripts of slurm.conf, without a batch system

allocation_scripts() {
    start_servers 2
    printf '[servers]\nservers = %s\nnodes_per_server = 1\nserver_bandwidth = 2\nnode_bandwidth = 1\n' "$(echo "$THEMIS_SERVERS" | tr , ' ')" >"$T/site.ini"
    # shellcheck disable=SC2086 # a list
    end_pids $testlib_servers
    testlib_servers=
    allocating=$THEMIS_SERVERS
    for i in 0 1; do
        rm -f "$T/srv$i/port"
        # shellcheck disable=SC2046 # words of a command
        (cd "$T/srv$i" && exec themisd $(server_options $i "$allocating") $([ $i = 1 ] || echo "--allocate $T/site.ini")) </dev/null >>"$T/srv$i/log" 2>&1 &
        testlib_servers="$testlib_servers $!"
    done
    await_files 60 "$T/srv0/port" "$T/srv1/port"
    slurm_job() { env THEMIS_KEPT="$T/kept" SLURM_JOB_ID=77 SLURM_JOB_UID="$(id -u)" SLURM_JOB_NAME='an app' SLURM_JOB_NODELIST='node[1]' timeout 60 sh "$examples/$1"; }
    check "the prolog allocates" slurm_job prolog.sh
    check "for the job" json '.allocations | map([.job, .application, .servers[0]]) == [["slurm:77", "an app", "'"${allocating#*,}"'"]]' themis allocate --list --json
    check "once for all of its nodes" slurm_job prolog.sh
    check "which is one allocation" json '.allocations | length == 1' themis allocate --list --json
    check "tasks get it" shows "^export THEMIS_PLACEMENT=${allocating#*,}\$" slurm_job task_prolog.sh
    echo THEMIS_SERVERS=x >>"$T/kept/77"
    slurm_job task_prolog.sh >"$T/tasks"
    check "and nothing else that was kept" sh -c '! grep -q SERVERS "$1"' sh "$T/tasks"
    THEMIS_PLACEMENT=x:1 THEMIS_DRIVER=/none slurm_job task_prolog.sh >"$T/placed"
    check "not where they have a placement" sh -c '! [ -s "$1" ]' sh "$T/placed"
    epilog() { env -u SLURM_JOB_UID THEMIS_KEPT="$T/kept" SLURM_JOB_ID=77 timeout 60 sh "$examples/epilog.sh"; }
    THEMIS_SERVERS=127.0.0.1:1 epilog
    check "an epilog that cannot release keeps the file" test -e "$T/kept/77"
    epilog
    check "the epilog releases" json '.allocations == []' themis allocate --list --json
    check "and keeps nothing" sh -c '! [ -e "$1/kept/77" ]' sh "$T"
    check "without a service the prolog succeeds" env THEMIS_SERVERS=127.0.0.1:1 SLURM_JOB_ID=78 SLURM_JOB_UID=1 THEMIS_KEPT=/dev/null/x timeout 60 sh "$examples/prolog.sh"
    check "the lease is that of the job" env SLURM_JOB_END_TIME=$(($(date +%s) + 3000)) THEMIS_KEPT="$T/kept" SLURM_JOB_ID=79 SLURM_JOB_UID="$(id -u)" timeout 60 sh "$examples/prolog.sh"
    check "and ten minutes" json '.allocations | length == 1 and (.[0].expires - .[0].made | . > 3500 and . < 3602)' themis allocate --list --json
    rm "$T/kept/79"
    env -u SLURM_JOB_UID THEMIS_KEPT="$T/kept" SLURM_JOB_ID=79 timeout 60 sh "$examples/epilog.sh"
    check "what the prolog has not kept is released, too" json '.allocations == []' themis allocate --list --json
    stop_servers
    unset THEMIS_SERVERS
}
allocation_scripts

lua=
for name in lua5.3 lua5.4 lua5.1 lua; do ! command -v $name >/dev/null || lua="$lua $name"; done
case ${THEMIS_VARIANT-} in
asan | tsan)
    skip "burst_buffer.lua" "what it runs for a user has no environment, and so no options for sanitizers"
    finish
    ;;
esac
if [ -z "$lua" ] || [ "$(id -u)" != 0 ] || ! as_user test -x "$THEMIS_PREFIX/bin/themis"; then
    skip "burst_buffer.lua" "it needs lua5.3, root, and a tree that other users can read"
    finish
fi
chmod 711 "$T"
all_lua=$lua
for lua in $all_lua; do check "burst_buffer.lua is $lua" "$lua" -e "assert(loadfile('$examples/burst_buffer.lua'))"; done
lua=${all_lua# }
lua=${lua%% *}

# bb FUNCTION ARGUMENT...
bb() {
    function=slurm_bb_$1
    shift
    "$lua" "$THEMIS_SRC/test/slurm/call.lua" "$site/burst_buffer.lua" "$function" "$@"
}
# script LINE...: a job script with these lines at its top is $T/script.
script() { printf '%s\n' '#!/bin/sh' '#SBATCH -n 2' "$@" 'echo "#BB_LUA"' >"$T/script"; }
# wrong WORDS LINE...: such a script is refused with these words.
wrong() {
    words=$1
    shift
    script "$@"
    tells 1 "$words" bb job_process "$T/script" 1 1
}

start_servers 2
settings "servers=$THEMIS_SERVERS" capacity=10
site_servers=$THEMIS_SERVERS
unset THEMIS_SERVERS
directory root 755 data
directory "$user" 755 data/in data/results
directory root 755 data/closed
as_user sh -c 'mkdir "$1/in/deep"; head -c 3000000 /dev/urandom >"$1/in/deep/block"; echo hello >"$1/in/hello"' sh "$T/data"

# --- what is refused, when the job is submitted

good="#BB_LUA pool=themis capacity=1G"
check "no pool" wrong 'pool= and capacity= are needed' '#BB_LUA capacity=1G'
check "no capacity" wrong 'pool= and capacity= are needed' '#BB_LUA pool=themis'
check "a word that is unknown" wrong 'stage-in=/a: the words are pool=' "$good stage-in=/a"
check "another pool" wrong 'the pools are themis and nodes' '#BB_LUA pool=x capacity=1G'
check "a size that is none" wrong 'it has to be a size' '#BB_LUA pool=themis capacity=lots'
check "a key twice" wrong 'capacity occurs twice' "$good" '#BB_LUA capacity=2G'
check "stage_out without a target" wrong 'SRC:DST' "$good stage_out=/a"
check "a relative path" wrong 'only absolute paths' "$good stage_in=a:/b"
check "a path upwards" wrong 'may not have' "$good stage_out=/x/../../etc:$T/data/results/x"
check "three paths" wrong 'SRC:DST' "$good stage_in=/a:/b:/c"
check "servers= on the site's servers" wrong 'servers= is for pool=nodes' "$good servers=2"
check "a number of servers that is none" wrong 'from 1 to 256' '#BB_LUA pool=nodes capacity=1G servers=1000'
check "pool=nodes where it is not set up" wrong 'no pool=nodes' '#BB_LUA pool=nodes capacity=1G'
check "a script that is not there" tells 1 'cannot be read' bb job_process "$T/none" 1 1
# shellcheck disable=SC2016 # not to be expanded
for evil in '/a;touch${IFS}was-here' '/$(touch${IFS}was-here)' '/`touch${IFS}was-here`' "/a'|touch\${IFS}was-here;'" '/a&touch${IFS}was-here' \
    '/a\b' '/a"b' '/a*' '/../etc/shadow' '/a/./b' '-rf' '/a|b' '/a>b' "/$(printf 'a\001b')" "/$(printf '\303\244')" "/a$(printf '%01100d' 0)"; do
    check "stage_in=$(printf %.40s "$evil" | tr -c '[:print:]' '?') is refused" wrong '#BB_LUA: ' "$good stage_in=$evil:/b"
    check "and as a target" wrong '#BB_LUA: ' "$good stage_out=/b:$evil"
done
script "$good" "echo" "#BB_LUA stage_in=wrong"
check "what comes after the first command is no directive" bb job_process "$T/script" 1 1
script "$good \\" "#BB_LUA stage_in=/a"
check "a line that is continued" bb job_process "$T/script" 1 1

# --- a job on the site's servers, in Slurm's order

uid=$(id -u "$user") gid=$(id -g "$user")
script "$good stage_in=$T/data/in:/input" "#BB_LUA stage_out=/input/deep:$T/data/results/deep stage_out=/new:$T/data/results/new"
# before JOB [POOL]: what comes before data_in.
before() { bb job_process "$T/script" "$uid" "$gid" && bb setup "$1" "$uid" "$gid" "${2-themis}" 134217728 "$T/script"; }
env_of() { : >"$T/path" && bb paths "$1" "$T/script" "$T/path" "$uid" "$gid" && cat "$T/path"; }
# of JOB COMMAND...: with the environment of the job, as its user.
of() {
    env_of "$1" >/dev/null || return 1
    shift
    # shellcheck disable=SC2046 # words
    as_user env $(cat "$T/path") sh -c "$@"
}
check "pools are JSON" sh -c '"$@" | python3 -c "import json, sys; assert [p[\"id\"] for p in json.load(sys.stdin)[\"pools\"]] == [\"themis\", \"nodes\"]"' sh \
    "$lua" "$THEMIS_SRC/test/slurm/call.lua" "$site/burst_buffer.lua" slurm_bb_pools
check "the job is taken" before 71
check "data_in" bb data_in 71 "$T/script" "$uid" "$gid"
check "test_data_in: they have ended" [ -z "$(bb test_data_in 71 "$T/script" "$uid" "$gid")" ]
check "real_size" bb real_size 71 "$uid" "$gid"
check "paths: servers, and the directory of the job" [ "$(env_of 71)" = "
THEMIS_SERVERS=$site_servers
THEMIS_BB_DIR=themis:/slurm-71" ]
check "pre_run" bb pre_run 71 "$T/script" "$uid" "$gid"
# shellcheck disable=SC2016 # expanded there
check "what was staged in is there" of 71 'themis cat "$THEMIS_BB_DIR/input/deep/block" | cmp - "$0"' "$T/data/in/deep/block"
# shellcheck disable=SC2016
check "its directory is closed to others" [ "$(($(of 71 'themis stat --json "$THEMIS_BB_DIR"' | jq '.[0].mode') & 0777))" = $((0700)) ]
# shellcheck disable=SC2016
check "the job writes" of 71 'echo result | themis cp - "$THEMIS_BB_DIR/new"'
check "post_run" bb post_run 71 "$T/script" "$uid" "$gid"
check "data_out" bb data_out 71 "$T/script" "$uid" "$gid"
check "what was staged out is what it was" cmp "$T/data/results/deep/block" "$T/data/in/deep/block"
check "and what the job has written" grep -qx result "$T/data/results/new"
check "it belongs to the user" [ "$(stat -c %U "$T/data/results/new" "$T/data/results/deep/block" | sort -u)" = "$user" ]
check "teardown" bb job_teardown 71 "$T/script" false "$uid" "$gid"
check "nothing is left on the servers" [ -z "$(THEMIS_SERVERS=$site_servers themis ls themis:/)" ]
check "nor in the state directory" [ -z "$(ls "$T/state")" ]
check "teardown again" bb job_teardown 71 "$T/script" true "$uid" "$gid"
check "status" sh -c '"$@" | grep -q "$0"' "${site_servers%%,*}" "$lua" "$THEMIS_SRC/test/slurm/call.lua" "$site/burst_buffer.lua" slurm_bb_get_status 1 1

# --- what goes wrong, and who may not

script "$good stage_in=$T/key:/key" # of root, mode 600
before 72 >/dev/null
check "what the user may not read is not staged in, and named" tells 1 "$T/key cannot be read" bb data_in 72 "$T/script" "$uid" "$gid"
bb job_teardown 72 "$T/script" true >/dev/null
script "$good stage_out=/a:$T/data/closed/a"
before 72 >/dev/null
check "a directory that the user may not write" tells 1 "data/closed cannot be written to" bb data_in 72 "$T/script" "$uid" "$gid"
bb job_teardown 72 "$T/script" true >/dev/null
script "$good stage_out=/none:$T/data/results/none"
before 72 >/dev/null
check "a job without input" bb data_in 72 "$T/script"
check "a result that is not there: which" tells 1 "/none" bb data_out 72 "$T/script"
bb job_teardown 72 "$T/script" false >/dev/null
check "root is refused" tells 1 "user, group, pool or size" bb setup 73 0 0 themis 1 "$T/script"
rmdir "$T/state/73"
check "a job without user" tells 1 "user of the job" bb data_in 74 "$T/script"
check "a job id that is none" tells 1 "job id" bb setup '7;touch was-here' "$uid" "$gid" themis 1 "$T/script"
# The text of a script that has changed since it was submitted is looked at again.
script "$good stage_in=$T/data/in:/input"
before 75 >/dev/null
# shellcheck disable=SC2016
script "$good" '#BB_LUA stage_in=/x$(touch${IFS}was-here)'
check "each function looks at the script" tells 1 'only absolute paths' bb data_in 75 "$T/script"
bb job_teardown 75 "$T/script" true >/dev/null
check "no injected command has run" sh -c '[ -z "$(find "$1" . -maxdepth 3 -name "*was-here*")" ]' sh "$T"

script "$good stage_in=$T/data/in:/input"
before 77 >/dev/null
check "a job whose stage_in was cut short does not begin" tells 1 'not come to its end' bb pre_run 77 "$T/script"
bb job_teardown 77 "$T/script" true >/dev/null

# Where SlurmUser is not root, sudo runs what is done for a user.
mkdir "$T/bin"
cat >"$T/bin/sudo" <<'END'
#!/bin/sh
[ "$1 $2 $3" = "-n -u #$(id -u)" ] && [ "$(basename "$4")" = themis_bb.sh ] || exit 1
shift 3
exec env -i "$@"
END
chmod 755 "$T/bin" "$T/bin/sudo"
directory "$user" 755 state
script "$good stage_in=$T/data/in/hello:/hello"
check "by sudo, where slurmctld does not run as root" as_user env "PATH=$T/bin:$PATH" "$lua" "$THEMIS_SRC/test/slurm/call.lua" "$site/burst_buffer.lua" \
    slurm_bb_setup 79 "$uid" "$gid" themis 1 "$T/script"
check "data_in by it" as_user env "PATH=$T/bin:$PATH" "$lua" "$THEMIS_SRC/test/slurm/call.lua" "$site/burst_buffer.lua" slurm_bb_data_in 79 "$T/script"
# shellcheck disable=SC2016
check "the bytes are there" of 79 'themis cat "$THEMIS_BB_DIR/hello" | cmp - "$0"' "$T/data/in/hello"
bb job_teardown 79 "$T/script" true >/dev/null

# A cancelled job whose input is a FIFO, which would be read for ever.
as_user mkfifo "$T/data/in/fifo"
script "$good stage_in=$T/data/in/fifo:/fifo"
before 76 >/dev/null
spawn bb data_in 76 "$T/script" >/dev/null 2>&1
staging=$!
sleep 1.5
kill -0 "$staging" && check "teardown ends a copy that is under way" bb job_teardown 76 "$T/script" true
wait "$staging"
check "and nothing is left" [ -z "$(THEMIS_SERVERS=$site_servers themis ls themis:/)$(ls "$T/state")" ]
stop_servers

# --- servers of the job's own, on this host

directory root 1777 shared
settings "shared=$T/shared" "export UCX_NET_DEVICES=lo"
# It answers for nodes; for states that a job is cancelled, if it is 84.
cat >"$T/bin/squeue" <<'END'
#!/bin/sh
case "$*" in *" 84 -o %T") echo CANCELLED ;; *%T) echo RUNNING ;; *) echo localhost ;; esac
END
chmod 755 "$T/bin/squeue"
PATH=$T/bin:$PATH
rm -rf "$T/data/results"
directory "$user" 755 data/results
begun() { before "$1" nodes && bb data_in "$1" "$T/script" && bb pre_run "$1" "$T/script" "$uid" "$gid"; }
script "#BB_LUA pool=nodes capacity=128M servers=2 stage_in=$T/data/in/deep:/deep" "#BB_LUA stage_out=/deep:$T/data/results/deep stage_out=/new:$T/data/results/new"
check "pool=nodes: pre_run starts servers and copies in" begun 81
check "the nodes are in use" [ -e "$T/shared/81/serving" ]
# shellcheck disable=SC2016
check "the job finds them, and its input" of 81 'themis cat "$THEMIS_BB_DIR/deep/block" | cmp - "$0"' "$T/data/in/deep/block"
# shellcheck disable=SC2016
check "there are two" [ "$(of 81 'themis status' | grep -c '^ *[0-9]  *127')" = 2 ]
# shellcheck disable=SC2016
check "the job writes there" of 81 'echo result | themis cp - "$THEMIS_BB_DIR/new"'
check "data_out copies out" bb data_out 81 "$T/script" "$uid" "$gid"
check "the bytes" cmp "$T/data/results/deep/block" "$T/data/in/deep/block"
check "and the job's" grep -qx result "$T/data/results/new"
check "the nodes are free" [ ! -e "$T/shared/81/serving" ]
check "teardown of it" bb job_teardown 81 "$T/script" false "$uid" "$gid"
check "leaves nothing" [ ! -e "$T/shared/81" ]
check "another" begun 82
rm -rf "$T/data/results/deep" "$T/data/results/new"
check "a job that is given up: teardown ends its servers" bb job_teardown 82 "$T/script" true
check "without copies" [ -z "$(ls "$T/data/results")" ]
check "leaves nothing of it" [ -z "$(ls "$T/shared"; pgrep -f "own_keep 82 ")" ]
check "and another" begun 83
kill -KILL "$(pgrep -o -f "themis run .*own_hold 83\$")"
check "servers that have died: data_out says so" tells 1 'status 137' bb data_out 83 "$T/script"
check "and teardown cleans up" bb job_teardown 83 "$T/script" false
check "all of it" [ -z "$(ls "$T/shared")" ]
check "a job whose teardown Slurm has ended" begun 84
check "a job after it" begun 85
check "clears up after it, and after it alone" [ "$(find "$T/shared" "$T/state" -mindepth 1 -maxdepth 1 | grep -c "/8[45]\$")$(ls "$T/shared")" = 285 ]
bb job_teardown 85 "$T/script" true >/dev/null
finish
