#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints the InfiniBand twin of the emulated cluster for ibsim: fabric.sh RACKS HOSTS IO_HOSTS
# Hosts r0n0.. hang on the switch of their rack, leaves and I/O hosts on the root switch.
awk -v racks="$1" -v hosts="$2" -v io="$3" '
    function record(kind, ports, name) {
        number++
        printf "%s%08x\n", kind == "Hca" ? "caguid=0x0002c903" : "switchguid=0x0002c902", number * 65536
        printf "%s\t%d \"%s\"\n", kind, ports, name
    }
    function cable(port, peer, peer_port) { printf "[%d]\t\"%s\"[%d]\n", port, peer, peer_port }
    BEGIN {
        for (r = 0; r < racks; r++)
            for (n = 0; n < hosts; n++) { record("Hca", 1, "r" r "n" n); cable(1, "leaf" r, n + 1); print "" }
        for (i = 0; i < io; i++) { record("Hca", 1, "io" i); cable(1, "root", racks + i + 1); print "" }
        for (r = 0; r < racks; r++) {
            record("Switch", hosts + 1, "leaf" r)
            for (n = 0; n < hosts; n++) cable(n + 1, "r" r "n" n, 1)
            cable(hosts + 1, "root", r + 1)
            print ""
        }
        record("Switch", racks + io, "root")
        for (r = 0; r < racks; r++) cable(r + 1, "leaf" r, hosts + 1)
        for (i = 0; i < io; i++) cable(racks + i + 1, "io" i, 1)
    }'
