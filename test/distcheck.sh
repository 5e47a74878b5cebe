#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A release builds from its archive alone, compiles its tests, installs and uninstalls without leftovers.
# timeout: 1500
. "$(dirname "$0")/lib/testlib.sh"

case $THEMIS_VARIANT in
asan | tsan)
    skip "make distcheck" "the normal build does it"
    finish
    ;;
esac

# The unit programs have run from the normal build; here they are compiled only. ccache may reuse what differs in its place only.
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR="$THEMIS_BUILD"
check "make distcheck" limit 1480 make -C "$THEMIS_BUILD" distcheck RUN_UNIT_TESTS=no \
    "DISTCHECK_CONFIGURE_FLAGS=--enable-werror CC='ccache gcc'"
rm -rf "$THEMIS_BUILD"/themis-[0-9]*
finish
