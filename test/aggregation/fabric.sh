#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints a fabric for ibsim:
#   fabric.sh tree RACKS HOSTS UPLINKS    a leaf switch for each rack, one root, UPLINKS cables from each leaf
#   fabric.sh fat LEAVES HOSTS SPINES     every leaf has one cable to every spine
# Hosts are r<leaf>n<index>; ibsim attaches to the first record.
awk -v kind="$1" -v leaves="$2" -v hosts="$3" -v third="$4" '
    function record(type, ports, name) {
        number++
        printf "%s%08x\n", type == "Hca" ? "caguid=0x0002c903" : "switchguid=0x0002c902", number * 16
        printf "%s\t%d \"%s\"\n", type, ports, name
    }
    function cable(port, peer, peer_port) { printf "[%d]\t\"%s\"[%d]\n", port, peer, peer_port }
    BEGIN {
        leaves += 0; hosts += 0; third += 0
        tops = kind == "fat" ? third : 1
        cables = kind == "fat" ? 1 : third
        for (l = 0; l < leaves; l++)
            for (h = 0; h < hosts; h++) { record("Hca", 1, "r" l "n" h); cable(1, "leaf" l, h + 1); print "" }
        for (l = 0; l < leaves; l++) {
            record("Switch", hosts + tops * cables, "leaf" l)
            for (h = 0; h < hosts; h++) cable(h + 1, "r" l "n" h, 1)
            for (t = 0; t < tops; t++)
                for (c = 0; c < cables; c++) cable(hosts + 1 + t * cables + c, "top" t, 1 + l * cables + c)
            print ""
        }
        for (t = 0; t < tops; t++) {
            record("Switch", leaves * cables, "top" t)
            for (l = 0; l < leaves; l++)
                for (c = 0; c < cables; c++) cable(1 + l * cables + c, "leaf" l, hosts + 1 + t * cables + c)
            print ""
        }
    }'
