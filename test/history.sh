#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The history of jobs: what servers record of real MPI jobs, and what `themis history` makes of it.
# timeout: 240
unset THEMIS_TEST_DIRECT # another job would be in the history, too
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"

history=$T/history
fast="history=$history history_interval=100ms history_update=1s"

run() { limit 20 themis history --directory "$history" "$@"; }

# checkpoints NAME COUNT SECONDS MIB: a job with a checkpoint of so many MiB from each of 4 ranks, so many seconds apart.
checkpoints() {
    THEMIS_APPLICATION=$1 THEMIS_JOB=$1-job limit 100 ranks 4 "$THEMIS_BUILD/examples/checkpoint" "$2" "$3" "$4" "themis:/$1" >"$T/$1.out"
}

# recorded NAME COUNT MIB SERVERS: the record of that job, against what it says that it did.
recorded() {
    apart=$(sed -n 's/.* every \([0-9.]*\) s$/\1/p' "$T/$1.out")
    all=$(($2 * 4 * $3 * 1048576))
    await 10 json 'length == 1 and .[0].interim == false' run --json --application "$1"
    check "$1: all bytes" json ".[0].written_bytes == $all and .[0].read_bytes == 0" run --json --job "$1-job"
    check "$1: all bytes over time" json "(.[0].series.written_bytes | add) == $all" run --json "$1"
    check "$1: its period within 5 % of $apart s" json "(.[0].phases.period / $apart - 1) | fabs <= 0.05" run --json "$1"
    check "$1: the volume of a phase within 2 %" json "(.[0].phases.volume / ($all / $2) - 1) | fabs <= 0.02" run --json "$1"
    check "$1: it is periodic" json ".[0].phases.count == $2 and .[0].phases.confidence >= 0.5" run --json "$1"
    check "$1: who and how" json ".[0] | .sharing == \"N-1\" and .clients == 4 and .servers == $4 and .nodes == 1 and
        .io_nodes == 1 and .files == 1 and .user == $(id -u)" run --json "$1"
}

# shellcheck disable=SC2086 # words
start_servers 2 $fast store_bandwidth=64m
checkpoints queued 10 1.5 2
recorded queued 10 2 2
check "requests and their sizes" json '.[0] | .requests > .metadata_operations and .metadata_operations > 0 and
    (.request_sizes | add) == .requests - .metadata_operations' run --json queued
stop_servers

# shellcheck disable=SC2086
free_port
metrics=$testlib_port
# shellcheck disable=SC2086
start_servers 1 $fast direct=on "metrics_port=$metrics"
checkpoints direct 10 1.5 8
recorded direct 10 8 1
THEMIS_APPLICATION='caf\xc3\xa9 "1", <b>' THEMIS_JOB=own limit 60 ranks 4 "$THEMIS_BUILD/examples/btio" -n 32 themis:/own >/dev/null
await 10 json 'length == 1' run --json --job own
curl -s --max-time 10 "http://127.0.0.1:$metrics/metrics" >"$T/metrics"
check "metrics count the records" grep -E '^themis_history_records_total [1-9]' "$T/metrics"
check "their bytes" grep -E '^themis_history_written_bytes_total [1-9]' "$T/metrics"
check "and those that are lost" grep -x 'themis_history_dropped_records_total 0' "$T/metrics"

# --- what the tool makes of it
check "a list" shows "N-1 .* queued  *queued-job" run
check "of one user" shows "queued" run --user "$(id -un)"
check "of another one" json 'length == 0' run --json --user 54321
check "since an hour ago" json 'length == 3' run --json --since 1h
check "until an hour ago" json 'length == 0' run --json --until 1h
check "since a day" json 'length == 3' run --json --since "$(date +%Y-%m-%d)" --until "$(date -d '1 hour' '+%Y-%m-%d %H:%M')"
check "details" shows "one every 1\\.[45].* of 8\\.00M" run queued
check "CSV has a line for each job, and names" sh -c '[ "$(themis history --directory "$1" --csv | wc -l)" = 4 ]' sh "$history"
check "CSV quotes" shows '"caf.* ""1"", <b>",own' run --csv --job own
check "integers are integers" sh -c 'themis history --directory "$1" --json queued-job | grep -q "\"written_bytes\": 83886080,"' sh "$history"
check "a picture" limit 20 themis history plot --directory "$history" queued -o "$T/out"
check "with the phases" [ "$(grep -c 'fill="#e8e8e8"' "$T/out")" = 10 ]
check "of a name with signs of XML" limit 20 themis history plot --directory "$history" own -o "$T/own.svg"
check "which are escaped" grep -q '"1", &lt;b&gt;, job own' "$T/own.svg"
check "no such job" refuses 1 "no record of a job or application nobody" run nobody
check "no such directory" refuses 1 "No such file" limit 20 themis history --directory "$T/nowhere"
check "no directory" refuses 2 "no directory: give --directory" limit 20 themis history --json
check "a wrong time" refuses 2 "--since soon: expected" run --since soon
printf '[history]\nhistory = %s\n' "$history" >"$T/themis.conf"
check "the directory of the configuration" sh -c 'THEMIS_CONFIG=$1 themis history | grep -q queued-job' sh "$T/themis.conf"

printf '[servers]\nservers = a:1, b:1\nserver_bandwidth = 100\nnode_bandwidth = 100\n[thresholds]\nmin_volume = 1m\nmin_nodes = 1\n' >"$T/site.ini"
check "themis allocate reads the directory" sh -c 'themis allocate --site "$1" --history "$2" --application queued --nodes 7 --json |
    jq -e ".records == 1 and .eligibility == \"eligible\""' sh "$T/site.ini" "$history"

# --- broken files
log=$(grep -l '"job":"queued-job"' "$history"/*/*.jsonl | head -n 1)
mkdir -p "$T/broken/7"
{
    echo '{"version":2,"application":"new"}'
    printf '{"version":1,\000"application":"zero"}\n'
    head -c 40000 /dev/zero | tr '\000' x && echo
    sed -n 's/"application":"queued"/"application":"good"/p' "$log"
    echo '{"version":1,"application":"ha'
    sed -n 's/"application":"queued"/"application":"late"/p' "$log" | tr -d '\n' | head -c 300
} >"$T/broken/7/s-1.jsonl"
history=$T/broken
check "what is no record is skipped" json 'length == 1 and .[0].application == "good"' run --json
limit 20 themis history --directory "$history" >/dev/null 2>"$T/err"
check "the first such line is named, and its version" grep -q '4 lines are skipped; the first: .*/7/s-1.jsonl:1: .*version 2' "$T/err"
history=$T/history

# --- a server that is killed loses the last interval only
checkpoints killed 100 0.5 1 2>/dev/null &
job=$!
await 10 json '.[0].written_bytes > 8000000 and .[0].interim' run --json killed
# shellcheck disable=SC2086
kill -9 $testlib_servers
wrote=$(date +%s.%N)
wait "$job" 2>/dev/null
check "a record ends an interval before the server was killed, at most" json ".[0].interim and .[0].end > $wrote - 2 * $testlib_slower" run --json killed
stop_servers
running() { ls "$history"/*/*.running; }
check "it is one of a running job" running
# shellcheck disable=SC2086
start_servers 2 $fast "name=other"
bytes=$(themis history --directory "$history" --json killed | jq '.[0].written_bytes')
stop_servers
check "a server of another name leaves it alone" running
for file in $(running); do
    name=$(basename "$file" | sed 's/\.[0-9]*\.running$//')
    start_servers 1 "history=$history" "name=$name"
    stop_servers
done
if running >/dev/null 2>&1; then not_ok "the next server takes it over"; else ok "the next server takes it over"; fi
check "and nothing is lost" json ".[0].written_bytes == $bytes" run --json killed

# --- a directory that cannot be written
: >"$T/file"
start_servers 1 "history=$T/file" history_interval=100ms
check "a job does not notice that there is no history" checkpoints unwritten 2 0.2 1
check "its server says so" await 10 grep -q 'file/[0-9]*: .*records of jobs are lost' "$T/srv0/log"
stop_servers
start_servers 1
checkpoints unasked 2 0.2 1
stop_servers
check "without a directory there is no history" json 'length == 0' run --json --application unasked

# --- who may read
as() {
    user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
}
if [ "$(id -u)" = 0 ] && as 12345 test -x "$THEMIS_PREFIX/bin/themis"; then
    chmod 711 "$T"
    # shellcheck disable=SC2086
    start_servers 1 $fast
    as 12345 env THEMIS_JOB=private themis mkdir themis:/private
    await 10 json 'length == 1' run --json --job private
    check "the owner of a record reads it" sh -c "[ \"\$($(command -v setpriv) --reuid=12345 --regid=12345 --clear-groups themis history --directory '$history' --csv | wc -l)\" = 2 ]"
    as 12346 themis history --directory "$history" >"$T/out" 2>"$T/err"
    check "others do not" grep -q 'no records that you may read' "$T/err"
    stop_servers
    # shellcheck disable=SC2086
    start_servers 1 $fast history_public=yes
    chmod 755 "$history"
    as 12346 themis history --directory "$history" --job private >"$T/out" 2>"$T/err"
    check "unless the history is public" grep -q private "$T/out"
else
    skip "users see their own records" "needs root and an installation that others can read"
fi
# --- several names in one job
history=$T/names
mkdir "$history"
start_servers 1 "history=$history" history_interval=100ms history_update=1s
# staged: what the tool copies for a job does not name it
staged() {
    THEMIS_JOB=staged-job themis mkdir themis:/staged &&
        THEMIS_JOB=staged-job limit 60 ranks 1 "$THEMIS_BUILD/examples/hello_mpiio" themis:/staged/file &&
        await 10 json 'length == 1 and .[0].interim == false and .[0].application == "hello_mpiio"' run --json --job staged-job
}
check "a command of themis before the program does not name the job" staged
stop_servers
finish
