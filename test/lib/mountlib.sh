# SPDX-License-Identifier: BSD-3-Clause
# For integration scripts with mounts; sourced after testlib.sh. Mounts below $T are ended with the script.
#
# fuse_or_finish          ends the script where there is no FUSE
# mount_at DIRECTORY [OPTION...]   makes the directory and mounts the servers there, with options of themis mount

fuse_or_finish() {
    if themis mount "$T" 2>&1 | grep -q 'built without FUSE'; then
        skip "mounts" "built without FUSE"
        finish
    fi
    [ -e /dev/fuse ] || modprobe fuse 2>/dev/null || mknod /dev/fuse c 10 229 2>/dev/null
    if ! [ -r /dev/fuse ] || ! [ -w /dev/fuse ] || ! grep -qw fuse /proc/filesystems; then
        skip "mounts" "no /dev/fuse"
        finish
    fi
}

unmount_all() { awk -v t="$T/" '$3 == "fuse.themis" && index($2, t) == 1 { print $2 }' /proc/mounts |
    while read -r at; do themis umount -l "$at"; done; }
trap 'unmount_all; testlib_clean' EXIT
trap 'unmount_all; testlib_clean; exit 130' INT TERM HUP

mount_at() {
    mountlib_at=$1
    shift
    mkdir -p "$mountlib_at"
    limit 20 themis mount "$@" "$mountlib_at"
}
