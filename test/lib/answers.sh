# SPDX-License-Identifier: BSD-3-Clause
# What commands answer; sourced after testlib.sh. Each leaves the output in $T/out and $T/err, and prints it where the
# answer is another one.

# outcome STATUS COMMAND...: the command ends with that status.
outcome() {
    wanted=$1 got=0
    shift
    "$@" </dev/null >"$T/out" 2>"$T/err" || got=$?
    [ "$got" = "$wanted" ] || answer "status $got, not $wanted"
}

answer() {
    echo "$*"
    cat "$T/out" "$T/err"
    return 1
}

# prints LINES COMMAND...: it succeeds, with this output.
prints() {
    lines=$1
    shift
    outcome 0 "$@" && { [ "$(cat "$T/out")" = "$lines" ] || answer "another output"; }
}

# shows WORDS COMMAND...: it succeeds, and these words are in its output.
shows() {
    words=$1
    shift
    outcome 0 "$@" && { grep -q -e "$words" "$T/out" || answer "not shown"; }
}

# json FILTER COMMAND...: it succeeds, and its output is JSON for which the filter of jq holds.
json() {
    filter=$1
    shift
    outcome 0 "$@" && { jq -e "$filter" "$T/out" >/dev/null || answer "other values"; }
}

# refused STATUS WORDS COMMAND...: it ends with that status, and these words are in its errors.
refused() {
    status=$1 words=$2
    shift 2
    outcome "$status" "$@" && { grep -q -e "$words" "$T/err" || answer "other words"; }
}

# refuses STATUS WORDS COMMAND...: the same, and it prints nothing else.
refuses() {
    refused "$@" && { [ ! -s "$T/out" ] || answer "an output"; }
}

# says STATUS WORDS COMMAND...: it ends with that status, and one line of its errors has these words.
says() {
    status=$1 words=$2
    shift 2
    outcome "$status" "$@" && { [ "$(grep -c -e "$words" "$T/err")" = 1 ] || answer "other words, or more than once"; }
}
