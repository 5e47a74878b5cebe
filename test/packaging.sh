#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The packages' descriptions: what can be read without building them, and that they name what is installed.
#   THEMIS_PACKAGES=build sh test/run.sh packaging     builds the Debian packages as well and asks lintian; some minutes
# timeout: 1800
. "$(dirname "$0")/lib/testlib.sh"

version=$(sed -n 's/^AC_INIT(\[themis\], \[\(.*\)\])$/\1/p' "$THEMIS_SRC/configure.ac")
same() { [ "$version" = "$1" ] || { echo "configure.ac has $version, this has $1" && return 1; }; }
if command -v dpkg-parsechangelog >/dev/null 2>&1; then
    check "debian/changelog has the version" same "$(dpkg-parsechangelog -l "$THEMIS_SRC/debian/changelog" -S Version)"
else
    skip "debian/changelog has the version" "dpkg-dev is not installed"
fi
check "the RPM spec has it" same "$(sed -n 's/^Version: *//p' "$THEMIS_SRC/packaging/themis.spec")"
# asked: packages that building needs, but for tools that debhelper brings along.
asked() { sed -n '/^# to build/,/^# to test/p' "$THEMIS_SRC/test/packages.txt" | grep -E '^(lib|uthash|nettle|check|mpich)[^ ]*' -o; }
unnamed() { asked | while read -r package; do
    case $package in libtool | libc6-dev) continue ;; esac
    grep -q "[ ,]$package\(,\|\$\)" "$THEMIS_SRC/debian/control" || echo "$package"
done; }
none "debian/control names what building needs" "$(unnamed)"
check "the recipe for Spack is Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$THEMIS_SRC/packaging/package.py"
if command -v tclsh >/dev/null 2>&1; then
    check "the module file is Tcl" sh -c 'tclsh <"$1"' sh "$THEMIS_SRC/packaging/modulefile"
fi
check "debian/rules is a makefile" make -n -f "$THEMIS_SRC/debian/rules" -C "$THEMIS_SRC" clean
for script in "$THEMIS_SRC"/examples/slurm/*.sh "$THEMIS_SRC"/examples/slurm/*.sbatch "$THEMIS_SRC"/examples/slurm/*.conf "$THEMIS_SRC/debian/themis-server.postinst"; do
    check "$(basename "$script") is a shell script" sh -n "$script"
done

patterns=$(cat "$THEMIS_SRC"/debian/*.install | awk '{ print $1 }')
# unpackaged: what is installed and goes into no package; *.la files are left out by intent.
unpackaged() {
    (cd "$THEMIS_PREFIX" && find . -type f -o -type l) | sed 's|^\./||; /\.la$/d; /^lib\/systemd/d' | while read -r file; do
        case $file in lib/*) debian=usr/lib/x/${file#lib/} ;; *) debian=usr/$file ;; esac
        found=
        for pattern in $patterns; do
            # shellcheck disable=SC2254 # patterns are meant
            case $debian in
            $pattern | $pattern/*) found=yes && break ;;
            esac
        done
        [ -n "$found" ] || echo "$file"
    done
}
set -f # patterns are of the packages' files, not of this directory's
none "every file that is installed goes into a package" "$(unpackaged)"
set +f

if [ "${THEMIS_PACKAGES-}" = build ]; then
    mkdir "$T/source"
    (cd "$THEMIS_SRC" && tar -cf - --exclude=./build --exclude='./build-*' --exclude=./.git .) | tar -xf - -C "$T/source"
    rm -f "$T/source/configure"
    check "the packages are built" sh -c 'cd "$1" && ROMIO_SOURCE=$2 timeout 1700 dpkg-buildpackage -us -uc -b' sh "$T/source" "$THEMIS_BUILD/romio-src/mpich"
    for package in themis-server themis-client libthemis0 libthemis-dev themis-doc; do
        check "$package has files" sh -c 'dpkg-deb -c "$1"/"$2"_*.deb | grep -q ^-' sh "$T" "$package"
    done
    check "no .la file is in one" sh -c '! for package in "$1"/*.deb; do dpkg-deb -c "$package"; done | grep "\.la$"' sh "$T"
    check "the library's package knows its versions" sh -c 'dpkg-deb -I "$1"/libthemis0_*.deb shlibs | grep "^libthemis 0 "' sh "$T"
    check "lintian finds no error" sh -c 'lintian --fail-on error --allow-root "$1"/*.changes' sh "$T"
else
    skip "the Debian packages are built" "some minutes: THEMIS_PACKAGES=build"
fi
finish
