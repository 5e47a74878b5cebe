#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A release builds from its archive alone, compiles its tests, installs and uninstalls without leftovers.
# alone
# timeout: 1500
. "$(dirname "$0")/lib/testlib.sh"

case $THEMIS_VARIANT in
asan | tsan)
    skip "make distcheck" "the normal build does it"
    finish
    ;;
esac

# absent: files of git that a release would lack.
absent() {
    git -C "$THEMIS_SRC" ls-files | grep -v '^\.gitignore$' | while read -r file; do
        [ -e "$THEMIS_BUILD/$1/$file" ] || echo "$file"
    done
}

if git -C "$THEMIS_SRC" rev-parse >/dev/null 2>&1 && limit 300 make -s -C "$THEMIS_BUILD" distdir >"$T/distdir.log" 2>&1; then
    missing=$(absent "$(basename "$THEMIS_BUILD"/themis-[0-9]*)")
    if [ -z "$missing" ]; then
        ok "a release has every file of git"
    else
        not_ok "a release lacks files; name them in EXTRA_DIST: $missing"
    fi
fi

# The unit programs have run from the normal build; here they are compiled only, and quickly.
check "make distcheck" limit 1480 make -C "$THEMIS_BUILD" distcheck RUN_UNIT_TESTS=no \
    "DISTCHECK_CONFIGURE_FLAGS=--enable-werror --without-openmpi CC='ccache gcc' CFLAGS=-O0"
rm -rf "$THEMIS_BUILD"/themis-[0-9]*
finish
