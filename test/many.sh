#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A directory with many files: 20,000, or THEMIS_MANY_FILES (1000000 takes some minutes).
# timeout: 1800
. "$(dirname "$0")/lib/testlib.sh"

count=${THEMIS_MANY_FILES:-20000}
# Seconds for a step: half a millisecond per file, where an idle machine takes some 20 µs.
step_limit=$((30 + count / 2000))

start_servers 2
limit 20 themis mkdir themis:/many || exit 1
began=$(date +%s)
check "$count files are created" limit $step_limit "$THEMIS_BUILD/test/client/many" /many "$count"
echo "# $(($(date +%s) - began)) s"
listed() {
    limit $step_limit themis ls themis:/many >"$T/names" || return 1
    echo "$(wc -l <"$T/names") names, $(sort -u "$T/names" | wc -l) of them different"
    [ "$(wc -l <"$T/names")" = "$count" ] && [ "$(sort -u "$T/names" | grep -c '^file-[0-9]*$')" = "$count" ]
}
check "ls has each of them once" listed
listed_long() { [ "$(limit $step_limit themis ls --json themis:/many | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" = "$count" ]; }
check "ls --json has each of them once" listed_long
in_order() {
    limit $step_limit "$THEMIS_BUILD/test/client/many" /many list >"$T/list" || return 1
    grep -q "^$count names" "$T/list" || return 1
    awk '/^parts/ { sub(/.*median /, ""); exit $1 > 10 }' "$T/list" # so long a server would do nothing else, if it had one thread
}
check "they are listed in order, and half of the parts take less than 10 ms" in_order
sed 's/^/# /' "$T/list"
check "the last one is found by its name" limit 20 themis stat "themis:/many/file-$((count - 1))"
check "a name that exists cannot be created again" sh -c '! timeout 60 "$1" /many 1 2>"$2" && grep -q exists "$2"' sh \
    "$THEMIS_BUILD/test/client/many" "$T/said"
check "the directory cannot be removed while it has entries" sh -c '! timeout 60 themis rm themis:/many'
check "rm -r removes them" limit $((2 * step_limit)) themis rm -r themis:/many
empty() { [ -z "$(limit 20 themis ls themis:/)" ]; }
check "nothing is left" empty
finish
