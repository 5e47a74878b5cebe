# SPDX-License-Identifier: BSD-3-Clause
# For integration scripts on an emulated cluster (test/cluster/cluster.sh); sourced after testlib.sh. The cluster of
# $CLUSTER_DIR is taken down with the script.
#
# cluster_or_finish TEXT WHY       ends the script where there can be no cluster, TEXT skipped; WHY: under sanitizers
# end                              finish, and the cluster taken down
# on HOST COMMAND...               on a host of the cluster
export CLUSTER_DIR="$T/cluster"
cluster=$THEMIS_SRC/test/cluster/cluster.sh

skip_all() {
    skip "$1" "$2"
    finish
}
cluster_or_finish() {
    [ "$(id -u)" = 0 ] || skip_all "$1" "it needs root"
    command -v ip >/dev/null 2>&1 || skip_all "$1" "iproute2 is not installed"
    unshare --net --uts --ipc --mount true 2>/dev/null || skip_all "$1" "namespaces are not allowed here"
    case $THEMIS_VARIANT in asan | tsan) skip_all "$1" "$2" ;; esac
}

cluster_clean() {
    sh "$cluster" down "$CLUSTER_DIR" 2>/dev/null
    testlib_clean
}
trap cluster_clean EXIT
trap 'cluster_clean; exit 130' INT TERM HUP

# finish ends testlib's things only.
end() {
    sh "$cluster" down "$CLUSTER_DIR"
    finish
}

on() { sh "$cluster" exec "$CLUSTER_DIR" "$@"; }
