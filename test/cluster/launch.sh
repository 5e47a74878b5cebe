#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Stands in for ssh when mpirun starts its proxies on the hosts of cluster.sh: launch.sh [OPTION...] HOST COMMAND...
# CLUSTER_DIR is the directory of the cluster.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec nsenter -t "$(cat "$CLUSTER_DIR/$host.pid")" -n -u -i -m env -C "$PWD" sh -c "exec $*"
