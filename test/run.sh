#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds Themis, with warnings as errors, and runs its tests.
#
#   sh test/run.sh [--asan|--tsan] [NAME...]     all tests, or those named
#   sh test/run.sh --clang [NAME...]             the same with clang's build
#   sh test/run.sh --direct off|revoked NAME...  with direct access off, or taken back at random moments by a second job
#   sh test/run.sh --list                        the names
#
# A NAME is a unit program (test_NAME or NAME), an integration script (test/NAME.sh), "unit" (all unit programs)
# or "clang" (compile everything with clang). Each runs under a timeout. An integration script prints "ok - text", "not ok - text" or
# "skip - text # reason" for each of its cases; a line "# timeout: SECONDS" in it gives its limit (default 300), "# on request"
# keeps it out of a run that names nothing, and "# alone" keeps others from running beside it: a run that names nothing has
# as many tests at the same time as there are processors, at most 4, or THEMIS_TEST_LANES of them.
# Closes with "N passed, N failed" or "N passed, N failed, N skipped"; logs are kept in build/test-logs.
THEMIS_SRC=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$THEMIS_SRC/test/lib/setup.sh"

# Integration scripts begin in this order, those that take longest first; the others follow by name. Then those that run
# alone.
first_scripts="layers format intents check collective random_order history watch order configure errors nth romio mount finalize many"
last_scripts="sharing cluster distcheck"
unit_timeout=300

# header_timeout SCRIPT: the limit that a script states, or the default.
header_timeout() {
    seconds=$(sed -n 's/^# timeout: *\([0-9][0-9]*\).*/\1/p' "$1" | head -n 1)
    echo $((${seconds:-300} * slower))
}

on_request() { grep -q '^# on request' "$1"; }

# runs_alone NAME: whether a script measures what others beside it would change, or uses all processors itself.
runs_alone() { grep -q '^# alone' "$THEMIS_SRC/test/$1.sh"; }

# script_names: all integration scripts in order, one a line.
script_names() {
    for name in $first_scripts; do
        [ ! -e "$THEMIS_SRC/test/$name.sh" ] || echo "$name"
    done
    for path in "$THEMIS_SRC"/test/*.sh; do
        name=$(basename "$path" .sh)
        case " run $first_scripts $last_scripts " in
        *" $name "*) ;;
        *) on_request "$path" || echo "$name" ;;
        esac
    done
    for name in $last_scripts; do
        [ ! -e "$THEMIS_SRC/test/$name.sh" ] || echo "$name"
    done
}

# check_programs: paths of all programs of tests, relative to the build tree, one a line; unit_programs: of the unit programs.
check_programs() { make -s -C "$THEMIS_BUILD" print-check-programs | tr ' ' '\n'; }
unit_programs() { check_programs | grep '/test_[^/]*$'; }

# unit_program NAME: the path of the one that a NAME means; nothing if there is none.
unit_program() { unit_programs | grep -E "/(test_)?$1\$" | head -n 1; }

# programs_needed NAME...: what to build for these tests, or for all: the unit programs that are named, and what scripts run.
programs_needed() {
    case " $* " in
    "  " | *" unit "*) check_programs && return ;;
    esac
    check_programs | grep -v '/test_[^/]*$'
    for name in "$@"; do unit_program "$name"; done
}

# tell PASSED FAILED SKIPPED NAME LOG STARTED: counts; one line a test, the whole log if something failed, and what was
# skipped. What runs at the same time waits with its lines.
tell() {
    took=$(($(date +%s) - $6))
    {
        flock 9
        echo "$1 $2 $3 $4" >&9
        if [ "$2" -gt 0 ]; then printf '%s\n' "---- $4: log" && cat "$5" && printf '%s\n' "---- $4: end of log"; fi
        printf '%-28s %5d passed %3d failed %3d skipped %5d s\n' "$4" "$1" "$2" "$3" "$took"
        ! grep '^skip - ' "$5" || :
    } 9>>"$scratch/counts"
}

# limited NAME SECONDS LOG COMMAND...: runs it so that `stop_all` can stop it.
limited() {
    running=$scratch/running.$1 seconds=$2 output=$3
    shift 3
    # A shell's background processes ignore these two signals, which tests send.
    env --default-signal=INT,QUIT timeout -k 30 "$seconds" "$@" </dev/null >"$output" 2>&1 &
    echo $! >"$running"
    wait $! || status=$?
    rm -f "$running"
}

stop_all() {
    : >"$scratch/names"
    for running in "$scratch"/running.*; do
        [ ! -e "$running" ] || kill "$(cat "$running")" 2>/dev/null
    done
}

# run_unit PROGRAM: adds up the summary lines of check; a program that dies without one is one failure.
run_unit() {
    name=$(basename "$1") log=$logs/$(basename "$1").log started=$(date +%s) status=0
    limited "$name" $((unit_timeout * slower)) "$log" env -C "$THEMIS_BUILD" TMPDIR="$scratch" CK_VERBOSITY=normal CK_TIMEOUT_MULTIPLIER="$slower" "./$1"
    if [ "$status" = 77 ]; then
        tell 0 0 1 "$name" "$log" "$started"
        return
    fi
    counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" |
        awk '{ all += $1; bad += $2 + $3 } END { print all - bad, bad + 0 }')
    good=${counts% *} bad=${counts#* }
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
        bad=1
        echo "$name ended with status $status" >>"$log"
    elif [ "$good$bad" = 00 ]; then
        bad=1
        echo "$name ran no test" >>"$log"
    fi
    tell "$good" "$bad" 0 "$name" "$log" "$started"
}

# run_script NAME: counts the lines of an integration script; an end without "not ok" but with a bad status is one failure.
run_script() {
    script=$THEMIS_SRC/test/$1.sh log=$logs/$1.log started=$(date +%s) status=0 shell=sh
    ! head -n 1 "$script" | grep -q bash || shell=bash
    limit=$(header_timeout "$script")
    limited "$1" "$limit" "$log" $shell "$script"
    good=$(grep -c '^ok - ' "$log") bad=$(grep -c '^not ok - ' "$log") left=$(grep -c '^skip - ' "$log")
    if [ "$bad" = 0 ] && [ "$status" != 0 ]; then
        bad=1
        case $status in
        124 | 137) echo "$1 did not end within $limit s" >>"$log" ;;
        *) echo "$1 ended with status $status" >>"$log" ;;
        esac
    elif [ "$good$bad$left" = 000 ]; then
        bad=1
        echo "$1 ran no test" >>"$log"
    fi
    tell "$good" "$bad" "$left" "$1" "$log" "$started"
}

# compile_with_clang: everything, test programs included, for its warnings; ROMIO is that of the normal build.
compile_with_clang() {
    romio=$THEMIS_BUILD/adio/romio-build
    themis_tree --clang --enable-werror CFLAGS=-O0
    themis_borrow_romio
    set -- "ROMIO_BUILD=$romio" "ROMIO_OMPI_BUILD=$romio-ompi"
    themis_make "$@" all
    # shellcheck disable=SC2046 # a list of words
    themis_make "$@" $(check_programs)
}

run_clang() {
    log=$logs/clang.log started=$(date +%s)
    if (compile_with_clang) >"$log" 2>&1; then
        tell 1 0 0 clang "$log" "$started"
    else
        tell 0 1 0 clang "$log" "$started"
    fi
}

# take_name: the first of the names that are left, which is taken from them; fails if there is none.
take_name() {
    (
        flock 9
        name=$(head -n 1 "$scratch/names")
        [ -n "$name" ] && sed -i 1d "$scratch/names" && echo "$name"
    ) 9>"$scratch/names.lock"
}

# lane COMMAND NUMBER: each lane has ports of its own (test/lib/testlib.sh).
lane() {
    export THEMIS_TEST_LANE="$2"
    while name=$(take_name); do "$1" "$name"; done
}

# at_once COMMAND: runs it for each of the names in $scratch/names, `lanes` of them at the same time. One that does not tell
# how it ended has failed.
at_once() {
    touch "$scratch/counts"
    expected=$(($(wc -l <"$scratch/names") + $(wc -l <"$scratch/counts")))
    for i in $(seq "$lanes"); do lane "$1" "$i" & done
    wait
    lost=$((expected - $(wc -l <"$scratch/counts")))
    [ "$lost" = 0 ] || {
        echo "$lost tests did not tell how they ended"
        echo "0 $lost 0 lost" >>"$scratch/counts"
    }
}

run_units() {
    unit_programs >"$scratch/names"
    at_once run_unit
}

# run_named NAME: a script, a group or a unit program.
run_named() {
    case $1 in
    unit) run_units && return ;;
    clang) run_clang && return ;;
    esac
    if [ -e "$THEMIS_SRC/test/$1.sh" ] && [ "$1" != run ]; then
        run_script "$1"
        return
    fi
    program=$(unit_program "$1")
    [ -n "$program" ] || themis_die "No test is called $1; sh test/run.sh --list names them."
    run_unit "$program"
}

run_all() {
    run_units
    case $THEMIS_VARIANT in
    "") run_clang ;;
    esac
    for name in $(script_names); do runs_alone "$name" || echo "$name"; done >"$scratch/names"
    at_once run_script
    for name in $(script_names); do ! runs_alone "$name" || run_script "$name"; done
}

# Sanitizer options: noise of MPICH and UCX is suppressed, each entry with its reason, in test/lib.
sanitizer_options() {
    supp=$THEMIS_SRC/test/lib
    case $THEMIS_VARIANT in
    asan)
        # The driver may come before the runtime in LD_PRELOAD; both come before the C library, which is what counts.
        export ASAN_OPTIONS="suppressions=$supp/asan.supp:verify_asan_link_order=0:detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1:${ASAN_OPTIONS-}"
        export LSAN_OPTIONS="suppressions=$supp/lsan.supp:print_suppressions=0:${LSAN_OPTIONS-}"
        export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS-}"
        ;;
    tsan)
        # UCX patches mmap and its like in memory to see what they do; under TSan, which intercepts them, it crashes.
        export UCX_MEM_EVENTS=n
        export TSAN_OPTIONS="suppressions=$supp/tsan.supp:halt_on_error=0:second_deadlock_stack=1:history_size=4:${TSAN_OPTIONS-}"
        ;;
    esac
}

variant=
case ${1-} in
--asan | --tsan | --clang)
    variant=$1
    shift
    ;;
--direct)
    case ${2-} in
    off) export THEMIS_DIRECT=off ;;
    revoked) export THEMIS_TEST_DIRECT=revoked ;;
    *) themis_die "usage: sh test/run.sh --direct off|revoked NAME..." ;;
    esac
    shift 2
    ;;
--list)
    script_names
    exit 0
    ;;
-*) themis_die "usage: sh test/run.sh [--asan|--tsan|--clang|--direct MODE|--list] [NAME...]" ;;
esac
export UCX_NET_DEVICES=lo
# shellcheck disable=SC2086 # empty or one word
themis_setup $variant --enable-werror
themis_make print-check-programs # so that a change of the makefiles is settled before its output is read
# Sanitizers make everything a few times slower; so all limits are longer there.
case $THEMIS_VARIANT in asan | tsan) slower=4 ;; *) slower=1 ;; esac
sanitizer_options
logs=$THEMIS_BUILD/test-logs
mkdir -p "$logs"
# For the files of unit programs, which may be killed.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/themis-run.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'stop_all; exit 130' INT TERM HUP
# Most of a test is waiting: for leases, for ranks that start, for servers that come back.
lanes=$(nproc)
[ "$lanes" -le 4 ] || lanes=4
lanes=${THEMIS_TEST_LANES:-$lanes}
# shellcheck disable=SC2046 # a list of words
themis_make $(programs_needed "$@")
if [ $# -gt 0 ]; then
    for name in "$@"; do run_named "$name"; done
else
    run_all
fi

failures=$(awk '$2 > 0 { printf " %s", $4 }' "$scratch/counts")
[ -z "$failures" ] || printf '%s\n' "failed:$failures"
awk '{ good += $1; bad += $2; left += $3 }
    END { printf "%d passed, %d failed", good, bad; if (left) printf ", %d skipped", left; print ""; exit bad > 0 }' "$scratch/counts"
