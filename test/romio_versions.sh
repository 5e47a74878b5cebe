#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Versions of ROMIO: driver and glue are compiled against the headers of the ROMIO that is built, changed where later
# versions differ: the result of ADIO_ResolveFileType, and the type of counts in the table of operations.
# timeout: 300
. "$(dirname "$0")/lib/testlib.sh"

built=$THEMIS_BUILD/adio/romio-build
sources="$THEMIS_SRC/adio/ad_themis/*.c $THEMIS_SRC/adio/glue/*.c $THEMIS_SRC/adio/glue/mpich/*.c"

# fake COUNT RESOLVE: the include directories of a build of ROMIO with that type of counts and that result.
fake() {
    rm -rf "$T/romio"
    mkdir -p "$T/romio/source/adio" "$T/romio/src"
    cp -rL "$built/adio/include" "$T/romio/adio.include" && mkdir "$T/romio/adio" && mv "$T/romio/adio.include" "$T/romio/adio/include"
    cp -rL "$built/source/adio/include" "$T/romio/source/adio/include"
    cp -rL "$built/include" "$T/romio/include"
    ln -s "$built/source/mpl" "$T/romio/source/mpl"
    ln -s "$built/src/mpl" "$T/romio/src/mpl"
    sed -i "s/\\bint count\\b/$1 count/" "$T/romio/source/adio/include/adio.h" "$T/romio/source/adio/include/adioi.h"
    sed -i "s/^[a-z]* ADIO_ResolveFileType/$2 ADIO_ResolveFileType/" "$T/romio/source/adio/include/adio.h" \
        "$T/romio/source/adio/include/adioi.h"
    "$THEMIS_SRC/adio/romio/probe" "$T/romio/source" >"$T/romio/ad_themis_romio.h"
}

probed() {
    grep -q "AD_THEMIS_COUNT $1\$" "$T/romio/ad_themis_romio.h" && grep -q "AD_THEMIS_RESOLVE_RETURNS $2\$" "$T/romio/ad_themis_romio.h"
}

compiled() {
    command=$(make -s -C "$THEMIS_BUILD" "ROMIO_BUILD=$T/romio" print-mpiio-compile) || return 1
    for source in $sources; do
        (cd "$THEMIS_BUILD" && $command -Werror -fsyntax-only "$source") || return 1
    done
}

# grafted: compiles what graft copies, without the rest of our tree.
grafted() {
    "$THEMIS_SRC/adio/romio/graft" --copy "$T/graft" || return 1
    sed 's/^#define AD_THEMIS_COUNT/#define AD_THEMIS_GRAFTED 1\n&/' "$built/ad_themis_romio.h" >"$T/graft/ad_themis_romio.h"
    cp "$THEMIS_SRC/adio/glue/mpir_ext.h" "$T/graft" # stands for MPICH's
    mkdir "$T/objects"
    # shellcheck disable=SC2044,SC2046 # words
    for source in $(find "$T/graft" -name '*.c'); do
        gcc -w -c -std=gnu11 -D_GNU_SOURCE -I"$T/graft" -I"$T/graft/adio/ad_themis" \
            -I"$T/graft/adio/ad_themis/include" -I"$built/adio/include" -I"$built/include" -I"$built/src/mpl/include" \
            -I"$built/source/adio/include" -I"$built/source/mpl/include" $(mpicc.mpich -compile-info | tr ' ' '\n' | grep '^-I') \
            -o "$T/objects/$(echo "${source#"$T"/}" | tr / _).o" "$source" || return 1
    done
}

# whole: the objects need only each other's functions and those of libthemis.
whole() {
    nm -D --defined-only "$THEMIS_PREFIX/lib/libthemis.so" | awk '{ sub(/@.*/, "", $3); print $3 }' >"$T/there"
    nm --defined-only "$T"/objects/*.o | awk 'NF == 3 { print $3 }' >>"$T/there"
    nm -u "$T"/objects/*.o | awk '$1 == "U" && /themis_/ { print $2 }' | sort -u | grep -vxF -f "$T/there" >"$T/missing"
    cat "$T/missing"
    [ ! -s "$T/missing" ] && grep -qx ADIO_THEMIS_operations "$T/there"
}

[ -d "$built/source" ] || {
    skip "other versions of ROMIO" "this tree borrows ROMIO from another one"
    finish
}
for version in "int void 0 4.0" "MPI_Aint int 1 4.1 to 5.0" "MPI_Count int 1 later"; do
    # shellcheck disable=SC2086 # words
    set -- $version
    count=$1 resolve=$2 returns=$3
    shift 3
    fake "$count" "$resolve"
    check "counts of $count, as in ROMIO $*: probed" probed "$count" "$returns"
    check "counts of $count: driver and glue compile" compiled
done
check "what is grafted into MPICH compiles without the rest of our tree" grafted
check "and needs nothing else of ours but libthemis" whole
# This must not compile, or nothing was tested.
fake MPI_Aint int
sed -i 's/MPI_Aint$/int/' "$T/romio/ad_themis_romio.h"
check "a driver with other counts than ROMIO's is noticed" sh -c '! "$@" >/dev/null 2>&1' sh \
    sh -c "cd '$THEMIS_BUILD' && $(make -s -C "$THEMIS_BUILD" "ROMIO_BUILD=$T/romio" print-mpiio-compile) -Werror -fsyntax-only \
    '$THEMIS_SRC/adio/ad_themis/ad_themis.c'"
finish
