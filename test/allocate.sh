#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command `themis allocate`: decisions from a site, a history and what runs now, and what it says of wrong files.
# timeout: 60
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"

{
    echo "[servers]"
    i=0
    while [ "$i" -lt 240 ]; do
        echo "servers = io$i:1"
        i=$((i + 1))
    done
    echo "default_servers = 80"
    echo "server_bandwidth = 2500000000"
    echo "node_bandwidth = 78125000"
} >"$T/site.ini"

# record APPLICATION USER NODES IO_NODES END BYTES REQUESTS WAITING SHARING PEAK
record() {
    printf '{"application": "%s", "user": "%s", "nodes": %s, "io_nodes": %s, "start": 0, "end": %s, "read_bytes": 0, ' "$1" "$2" "$3" "$4" "$5"
    printf '"written_bytes": %s, "requests": %s, "metadata_operations": 9, "metadata_waiting": %s, "sharing": "%s", "peak_bandwidth": %s}\n' \
        "$6" "$7" "$8" "$9" "${10}"
}
{
    record flow ada 256 256 2000 200000000000 200000 1 N-N 2000000000
    record flow ada 256 8 1000 200000000000 200000 1 N-N 2000000000
    record flow bob 256 64 3000 200000000000 200000 1 N-N 2000000000
    record shared ada 256 256 1000 1000000000 1000 1 N-1 100000000
    record quiet ada 256 256 1000 1000000000 1000 1 1-1 100000000
    record numbered 0 256 256 1000 200000000000 200000 1 N-N 2000000000 | sed 's/"user": "0"/"user": 0/'
    record unknown ada 256 256 1000 200000000000 200000 1 unknown 2000000000
    record running ada 256 256 1000 200000000000 200000 1 N-N 2000000000 | sed 's/}$/, "interim": true}/'
    record metadata ada 256 256 1000 30000000000 1000 32 N-N 100000000
    record 'caf\u00e9' ada 256 256 1000 30000000000 1000 1 N-N 100000000
} >"$T/history"
echo '{"anomalous": ["io80:1"], "jobs": [{"application": "quiet", "nodes": 256, "servers": ["io0:1"]}]}' >"$T/state"

run() { timeout -k 5 20 themis allocate --site "$T/site.ini" --history "$T/history" --nodes 0-255 "$@"; }

check "a user's last run" shows '^scaled, 8 servers$' run --application flow --user ada
check "its reason has the numbers" grep -q 'moved 200 GB from 256 nodes.*256 / 32 gives 8 servers; the default is 1, 240 are idle' "$T/out"
check "its servers are spare ones" grep -q '^THEMIS_SERVERS=io80:1,io81:1,io82:1,io83:1,io84:1,io85:1,io86:1,io87:1$' "$T/out"
check "a user by name, whose runs have the uid" json '.records == 1' run --json --application numbered --user root
check "where sharing is not known" json '.records == 1' run --json --application unknown
check "not a run that has not ended" json '.records == 0' run --json --application running
check "a user by uid" json '.records == 1' run --json --application numbered --user 0
check "not another user's" json '.records == 0' run --json --application numbered --user 1
check "the last run of any user" json '.decision == "scaled" and .wanted_servers == 2 and .records == 3' run --json --application flow
check "another number of nodes is new" json '.decision == "default" and .eligibility == "new" and .servers == ["io0:1"]' run --json --application flow --nodes 0-254
check "nodes of several servers" json '.nodes == 3 and .servers == ["io0:1", "io1:1", "io79:1"]' run --json --application flow --nodes 5,512,40959
check "bound by metadata" shows 'bound by metadata, 32 operations' run --application metadata
check "little volume" json '.decision == "default" and .eligibility == "volume" and .neighbours == 0' run --json --application shared
check "an anomalous server is not given" json '.servers[0] == "io81:1" and .idle_servers == 238' run --json --application flow --state "$T/state"
check "a job with a shared file goes elsewhere" json \
    '.decision == "dedicated" and .servers == ["io81:1"] and .disturbing_job == 1 and .classes == "N-1 file"' run --json --application shared --state "$T/state"
check "two harmless ones stay together" shows 'No interference is expected (default servers: 1; jobs on them: 1)' run --application quiet --state "$T/state"
check "a name that is written with escapes" json '.records == 1' run --json --application café

printf '{"application": "flow", "us' >>"$T/history"
check "a last line that is just being written does not count" json '.records == 3' run --json --application flow
echo >>"$T/history"
check "but one with an end does" refuses 2 'history:11: not a JSON object on one line' run --application flow
sed -i '$d' "$T/history"

# wrong WORDS EDIT: the history changed by sed is refused with these words.
wrong() {
    cp "$T/history" "$T/good"
    sed "$2" "$T/good" >"$T/history"
    wrong_status=0
    refuses 2 "$1" run --application flow || wrong_status=1
    cp "$T/good" "$T/history"
    return $wrong_status
}
check "a negative volume" wrong 'history:3: written_bytes is missing, or not a number from 0 on' '3s/"written_bytes": /&-/'
check "a missing field" wrong 'history:2: io_nodes is missing' '2s/io_nodes/nodes_io/'
check "more nodes with I/O than nodes" wrong 'history:1: .*io_nodes at most nodes' '1s/"io_nodes": /&9/'
check "an unknown sharing" wrong 'history:1: sharing is not' '1s/N-N/N-2/'
check "a number that is too large" wrong 'history:1: volume is 2e+299' '1s/"written_bytes": /&2e299, "x": /'
check "a line of another application that is cut" wrong 'history:4: not a JSON object on one line' '4s/.$//'
check "a line that is not JSON" wrong 'history:1: ' '1s/"user": /&,/'

echo '{"jobs": [{"application": "quiet", "nodes": 256, "servers": ["elsewhere:1"]}]}' >"$T/bad"
check "a server that the site does not have" refuses 2 "bad: 'elsewhere:1' is not a server" run --application flow --state "$T/bad"
echo '{"jobs": [' >"$T/bad"
check "a state that is not JSON" refuses 2 'bad:[0-9]*: ' run --application flow --state "$T/bad"
echo '{"jobs": [{"application": "quiet", "nodes": 256, "servers": ["io0:1"], "now": {"duration": 5, "bytes": -1}}]}' >"$T/bad"
check "a negative observation" refuses 2 'bad: running job 1: bytes is not a number from 0 on' run --application flow --state "$T/bad"
echo '{"jobs": [{"application": "quiet", "nodes": 256, "servers": ["io0:1"], "now": {"duration": 5, "shared_file": true}}]}' >"$T/bad"
check "a neighbour that shares a file in this run" json '.decision == "dedicated" and .disturbing_classes == "N-1 file"' run --json --application quiet --state "$T/bad"
check "nodes in no order" refuses 2 'ascending order' run --application flow --nodes 5,4
check "nodes that are no numbers" refuses 2 'ascending order' run --application flow --nodes 0-x
check "too large a node" refuses 2 'ascending order' run --application flow --nodes 0-4294967295
sed 's/^node_bandwidth.*/node_bandwidth = fast/' "$T/site.ini" >"$T/bad"
check "a wrong bandwidth" refuses 2 'bad:244: .*wanted: bytes' run --application flow --site "$T/bad"
sed 's/io7:1/io6:1/' "$T/site.ini" >"$T/bad"
check "a server named twice" refuses 2 'bad:9: .*named twice' run --application flow --site "$T/bad"
sed 's/^default_servers.*/default_servers = 241/' "$T/site.ini" >"$T/bad"
check "more default servers than servers" refuses 2 'bad: default_servers is 241' run --application flow --site "$T/bad"
echo 'speed = 1' >>"$T/site.ini"
check "an unknown key" refuses 2 'site.ini:245: .*no such key' run --application flow
check "no application" refuses 2 usage run
finish
