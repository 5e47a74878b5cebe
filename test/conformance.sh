#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What POSIX asks of file-system calls, errno by errno (test/posix/conformance.c): on a local file system, which is the
# control, and below a mount, where only what the table of doc/names.md names may differ.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"
. "$(dirname "$0")/lib/mountlib.sh"

# run DIRECTORY NAME: all results in $T/NAME, the cases that differ in $T/NAME.differs.
run() {
    limit 60 "$THEMIS_BUILD/test/posix/conformance" "$1" >"$T/$2" 2>&1 || echo "differs conformance # ended with $?" >>"$T/$2"
    sed -n 's/^differs \(.*\) # .*/\1/p' "$T/$2" | sort >"$T/$2.differs"
}

# A tmpfs of its own where that is possible, as extended attributes differ between local file systems.
mkdir "$T/local"
[ "$(id -u)" != 0 ] || mount -t tmpfs tmpfs "$T/local" 2>/dev/null
chmod 755 "$T" "$T/local"
mkdir "$T/local/here"
run "$T/local/here" control
check "the cases are tried on a local file system" [ "$(grep -c '^ok ' "$T/control")" -gt 150 ]
# Linux has had extended attributes of users on tmpfs since 6.6
none "and hold there" "$(grep -v 'xattr: \|xattr$\|extended attributes$' "$T/control.differs")"

! mountpoint -q "$T/local" || umount "$T/local"

fuse_or_finish
start_servers 2
[ "$(id -u)" != 0 ] || other=allow_other
mount_at "$T/m" ${other:+-o "$other"}
mkdir "$T/m/here"
run "$T/m/here" mounted

check "as many are tried below a mount" [ "$(wc -l <"$T/mounted")" = "$(wc -l <"$T/control")" ]
# Each has its line in doc/names.md.
none "there only what is documented differs" "$(sort "$THEMIS_SRC/test/posix/data/differences" | diff - "$T/mounted.differs" | grep '^[<>]')"
themis umount "$T/m"
finish
