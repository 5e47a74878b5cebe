# SPDX-License-Identifier: BSD-3-Clause
# What a command prints; sourced after testlib.sh by scripts that define run ARGUMENT..., which leaves the command's
# output in $T/out and $T/err.

# prints WORDS ARGUMENT...: it succeeds and prints these words.
prints() {
    words=$1
    shift
    run "$@" && grep -q -e "$words" "$T/out" && return 0
    cat "$T/out" "$T/err"
    return 1
}

# refuses [STATUS] WORDS ARGUMENT...: that status (2), nothing on standard output, these words on standard error.
refuses() {
    wanted=2 got=0
    case $1 in [0-9]) wanted=$1 && shift ;; esac
    words=$1
    shift
    run "$@" || got=$?
    [ "$got" = "$wanted" ] && [ ! -s "$T/out" ] && grep -q -e "$words" "$T/err" && return 0
    echo "status $got"
    cat "$T/out" "$T/err"
    return 1
}

# holds FILTER ARGUMENT...: the JSON is such that the filter of jq holds.
holds() {
    filter=$1
    shift
    run --json "$@" && jq -e "$filter" "$T/out" >/dev/null && return 0
    cat "$T/out" "$T/err"
    return 1
}
