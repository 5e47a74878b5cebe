# SPDX-License-Identifier: BSD-3-Clause
# The sides of a comparison, for one program that runs on each; sourced after testlib.sh and options.sh.
#
#   themis   one or more servers on this machine        shm    ufs: on /dev/shm
#   huge     ufs: on a tmpfs of huge pages              floor  memcpy to and from memory that the ranks share
#
# ufs: is MPICH's own, without our library. With more ranks than processors a shim that yields is preloaded on every side:
# otherwise one measures only spinning.
#
# sides_begin N              N servers, and the baselines' directories
# sides_restart              the servers anew, so that nothing of their space has ever been written
# sides_run SIDE RANKS PROGRAM ARGUMENT...
#                            one job; FILE and PIDS among the arguments stand for the side's file and for the ids of the
#                            processes that serve it. Each line that it prints is a JSON object, and gets the side's name.
#                            A failure is reported, and the files that it left are removed
# sides_end                  ends the script; badly if a job has failed
sides_shm='' sides_huge='' sides_servers=1 sides_failed=0

sides_clean() {
    trap - EXIT INT TERM HUP
    [ -z "$sides_huge" ] || umount -l "$sides_huge"
    [ -z "$sides_shm" ] || rm -rf "$sides_shm"
    testlib_clean
}

sides_begin() {
    trap sides_clean EXIT
    trap 'sides_clean; exit 130' INT TERM HUP
    sides_servers=$1
    sides_shm=$(mktemp -d /dev/shm/themis-bench.XXXXXX)
    mkdir "$T/huge"
    if mount -t tmpfs -o huge=always,size=4g themis-bench "$T/huge" 2>/dev/null; then
        sides_huge=$T/huge
    else
        echo "No tmpfs with huge pages: mounting one needs root. What needs it stays empty." >&2
    fi
    start_servers "$sides_servers"
}

sides_restart() {
    stop_servers
    start_servers "$sides_servers"
}

# side_job RANKS PRELOAD FILE PIDS PROGRAM ARGUMENT...
side_job() {
    job_ranks=$1 job_preload=$2 job_file=$3 job_pids=$4
    shift 4
    for argument in "$@"; do
        shift
        case $argument in
        FILE) set -- "$@" "$job_file" ;;
        PIDS)
            # shellcheck disable=SC2086 # a list of process ids
            set -- "$@" $job_pids
            ;;
        *) set -- "$@" "$argument" ;;
        esac
    done
    timeout -k 5 300 mpirun.mpich -n "$job_ranks" -genv LD_PRELOAD "$job_preload" "$@" </dev/null
}

# side_start SIDE RANKS PROGRAM ARGUMENT...
side_start() {
    side=$1 side_ranks=$2 side_yield=
    shift 2
    [ "$side_ranks" -le "$(nproc)" ] || side_yield=$THEMIS_BUILD/test/lib/yield_shim.so
    case $side in
    themis)
        side_job "$side_ranks" "$(EXTRA_PRELOAD=$side_yield preload)" themis:/bench "$testlib_servers" "$@"
        ;;
    shm) side_job "$side_ranks" "$side_yield" "ufs:$sides_shm/bench" '' "$@" ;;
    huge) [ -z "$sides_huge" ] || side_job "$side_ranks" "$side_yield" "ufs:$sides_huge/bench" '' "$@" ;;
    floor) side_job "$side_ranks" "$side_yield" "memory:$sides_shm/floor" '' "$@" ;;
    *)
        echo "No side is called $side."
        return 2
        ;;
    esac
}

sides_run() {
    if side_start "$@" >"$T/job" 2>"$T/job.errors"; then
        sed "s/^{/{\"side\": \"$1\", /" "$T/job"
        cat "$T/job.errors" >&2
        return
    fi
    sides_failed=$((sides_failed + 1))
    echo "failed on $1 with $2 ranks: $3 $4" >&2
    cat "$T/job" "$T/job.errors" >&2
    rm -f "$sides_shm"/* ${sides_huge:+"$sides_huge"/*}
    [ "$1" != themis ] || sides_restart >&2
}

sides_end() {
    sides_clean
    [ "$sides_failed" = 0 ]
    exit
}
