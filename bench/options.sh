# SPDX-License-Identifier: BSD-3-Clause
# Options of a benchmark's script; sourced.
#
#   bench_options "NAME..." "$@"    sets variable NAME for each option --NAME VALUE; on anything else prints the comment at
#                                   the script's head, and ends it
bench_options() {
    bench_known=" $1 "
    shift
    while [ $# -gt 1 ]; do
        case $bench_known in *" ${1#--} "*) ;; *) break ;; esac
        case $1 in --*) eval "${1#--}=\$2" ;; *) break ;; esac
        shift 2
    done
    [ $# = 0 ] || {
        sed -n '3,${/^#/!q;p;}' "$0"
        exit 2
    }
}
