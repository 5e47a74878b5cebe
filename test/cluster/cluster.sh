#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# An emulated cluster on one machine: racks of hosts below one root switch, with real IP between them.
#
#   cluster.sh up DIR RACKS HOSTS UPLINK_MBIT ACCESS_MBIT IO_HOSTS
#   cluster.sh exec DIR HOST COMMAND...    runs it on a host
#   cluster.sh hosts DIR                   names of the compute hosts, in rack order
#   cluster.sh bytes DIR                   for each rack: bytes sent and received over its uplink so far
#   cluster.sh retransmitted DIR           bytes that TCP of all hosts has sent again so far, in whole frames
#   cluster.sh down DIR
#
# Compute hosts are r0n0, r0n1, ..; I/O hosts io0, .. hang on the root switch, as does login. A host or switch is a
# sleeping process with network, host name, IPC and mount namespaces of its own: the IPC namespace and a /dev/shm of its
# own keep "hosts" from sharing memory. The machine's own network is not touched. Needs root and iproute2. DIR holds one
# file with the process id of each host, and the hosts file.
set -eu
dir=$2

# on HOST COMMAND...
on() {
    host=$1
    shift
    nsenter -t "$(cat "$dir/$host.pid")" -n -u -i -m env -C "$PWD" "$@"
}

# node NAME: starts the process that stands for a host or a switch, and waits until it is set up.
node() {
    setsid unshare --net --uts --ipc --mount --propagation private sh -c '
        hostname "$1"
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /dev/shm
        ip link set dev lo up
        : >"$2/$1.up"
        exec sleep 86400' node "$1" "$dir" </dev/null >"$dir/$1.log" 2>&1 &
    echo $! >"$dir/$1.pid"
    tries=500
    until [ -e "$dir/$1.up" ]; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || {
            cat "$dir/$1.log" >&2
            exit 1
        }
        sleep 0.01
    done
}

switch() {
    node "$1"
    on "$1" ip link add name br0 type bridge
    on "$1" ip link set dev br0 up
}

# limit HOST DEVICE MBIT: a token bucket; a burst above 64 kB would let short messages run above line rate.
limit() { on "$1" tc qdisc add dev "$2" root tbf rate "$3mbit" burst 64kb limit 512kb; }

# cable A DEVICE_A B DEVICE_B MBIT
cable() {
    ip link add "$2" netns "$(cat "$dir/$1.pid")" type veth peer name "$4" netns "$(cat "$dir/$3.pid")"
    on "$1" ip link set dev "$2" up
    on "$3" ip link set dev "$4" up
    limit "$1" "$2" "$5"
    limit "$3" "$4" "$5"
}

# host NAME ADDRESS SWITCH MBIT
host() {
    node "$1"
    cable "$1" eth0 "$3" "to-$1" "$4"
    on "$3" ip link set dev "to-$1" master br0
    on "$1" ip addr add "$2/16" dev eth0
    # BBR, the usual default, shares a token bucket unfairly among connections; not every kernel has a choice here.
    on "$1" sysctl -q -w net.ipv4.tcp_congestion_control=reno 2>/dev/null || true
    echo "$2 $1" >>"$dir/etc-hosts"
}

up() {
    racks=$1 hosts=$2 uplink=$3 access=$4 io=$5
    mkdir -p "$dir"
    echo "127.0.0.1 localhost" >"$dir/etc-hosts"
    switch root
    rack=0
    while [ "$rack" -lt "$racks" ]; do
        switch "leaf$rack"
        cable "leaf$rack" uplink root "down$rack" "$uplink"
        on "leaf$rack" ip link set dev uplink master br0
        on root ip link set dev "down$rack" master br0
        n=0
        while [ "$n" -lt "$hosts" ]; do
            host_name=r${rack}n$n
            host "$host_name" "10.77.$rack.$((n + 1))" "leaf$rack" "$access"
            echo "$host_name" >>"$dir/compute"
            n=$((n + 1))
        done
        rack=$((rack + 1))
    done
    n=0
    while [ "$n" -lt "$io" ]; do
        host "io$n" "10.77.100.$((n + 1))" root "$access"
        n=$((n + 1))
    done
    host login 10.77.101.1 root "$access"
    for pid in "$dir"/*.pid; do on "$(basename "$pid" .pid)" mount --bind "$dir/etc-hosts" /etc/hosts; done
}

# The namespaces, and with them links and mounts, go with the last process in them.
down() {
    for pid in "$dir"/*.pid; do
        [ -e "$pid" ] || continue
        for member in $(lsns_members "$(cat "$pid")"); do kill -9 "$member" 2>/dev/null || true; done
    done
    rm -rf "$dir"
}

# lsns_members PID: all processes in its network namespace, it included.
lsns_members() {
    space=$(readlink "/proc/$1/ns/net") || return 0
    [ "$space" != "$(readlink /proc/self/ns/net)" ] || return 0
    for other in /proc/[0-9]*; do
        [ "$(readlink "$other/ns/net" 2>/dev/null)" != "$space" ] || basename "$other"
    done
}

bytes() {
    rack=0
    while [ -e "$dir/leaf$rack.pid" ]; do
        echo "rack$rack $(on "leaf$rack" cat /sys/class/net/uplink/statistics/tx_bytes) $(on "leaf$rack" cat /sys/class/net/uplink/statistics/rx_bytes)"
        rack=$((rack + 1))
    done
}

# retransmitted: each segment taken for a full frame.
retransmitted() {
    for pid in "$dir"/r[0-9]*n[0-9]*.pid "$dir"/io[0-9]*.pid; do
        on "$(basename "$pid" .pid)" cat /proc/net/snmp
    done | awk '$1 == "Tcp:" && $2 == "RtoAlgorithm" { for (i = 2; i <= NF; i++) if ($i == "RetransSegs") column = i }
        $1 == "Tcp:" && $2 != "RtoAlgorithm" { sum += $column }
        END { print sum * 1514 }'
}

verb=$1
shift 2
case $verb in
up) up "$@" ;;
exec) on "$@" ;;
hosts) cat "$dir/compute" ;;
bytes) bytes ;;
retransmitted) retransmitted ;;
down) down ;;
*) exit 2 ;;
esac
