#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Distances inside a node on recorded machines: this one, and the recordings of real ones in the source package of hwloc
# (about 3 MB), fetched from the distribution into the build tree once, with apt working on lists of its own.
# timeout: 200
. "$(dirname "$0")/lib/testlib.sh"
machines=$THEMIS_BUILD/test/aggregation/machines
sources=$THEMIS_BUILD/hwloc-source

private_apt() {
    timeout 60 apt-get -q -o Dir::Etc::sourcelist="$sources/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$sources/apt/lists" -o Dir::Cache="$sources/apt/cache" -o Debug::NoLocking=1 \
        -o APT::Sandbox::User= "$@"
}

archive() { ls "$sources"/hwloc_*.orig.tar.* 2>/dev/null | grep -v '\.asc$' | head -n 1; }

# mirror: the archive that this system's own list names first, else Debian's.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)*\([^ ]*\) .*/\2/p' |
        grep -E '^https?://.*/(debian|ubuntu)/?$' | head -n 1 | grep . || echo http://deb.debian.org/debian
}

fetch() {
    [ -z "$(archive)" ] || return 0
    command -v apt-get >/dev/null 2>&1 || return 1
    mkdir -p "$sources/apt/lists/partial" "$sources/apt/cache/archives/partial"
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    printf 'deb-src %s %s main\n' "$(mirror)" "${codename:-stable}" >"$sources/apt/sources.list"
    (cd "$sources" && private_apt update && private_apt --download-only source hwloc) >"$sources/apt.log" 2>&1
    rm -rf "$sources/apt"
    [ -n "$(archive)" ]
}

# own: this machine, recorded by lstopo.
own() { lstopo-no-graphics --of xml "$T/own.xml" && limit 30 "$machines" "$T/own.xml"; }
check "this machine" own

if fetch; then
    mkdir "$T/hwloc"
    tar -xf "$(archive)" --strip-components=3 --wildcards -C "$T/hwloc" '*/tests/hwloc/xml'
    # all MACHINE...: at least 20 of them have CPUs.
    all() {
        limit 120 "$machines" "$@" >"$T/out" && echo "$(wc -l <"$T/out") machines" && [ "$(wc -l <"$T/out")" -ge 20 ]
    }
    check "machines that hwloc has as XML" all "$T"/hwloc/xml/*.xml
else
    skip "machines that hwloc has as XML" "the source package of hwloc cannot be fetched here"
fi
finish
