# SPDX-License-Identifier: BSD-3-Clause
# Sources of the distribution's packages; sourced, works under any POSIX shell.
#
#   source_download DIRECTORY PACKAGE [VERSION]    downloads the source package into DIRECTORY: that version, or the
#                                                  release's if it is gone. Prints the reason of a failure
#   source_archive DIRECTORY PACKAGE               prints the upstream archive that is there, or nothing
#   source_unpack ARCHIVE DIRECTORY [PATTERN...]   unpacks the archive without its first directory, all of it or what
#                                                  matches; DIRECTORY exists only if that succeeded
#
# apt uses a list, a cache and a state of its own in DIRECTORY; the system's package lists are neither used nor changed.

# source_mirror: prints the first archive in this system's list, else Debian's.
source_mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)*\([^ ]*\) .*/\2/p' |
        grep -E '^https?://.*/(debian|ubuntu)/?$' | head -n 1 | grep . || echo http://deb.debian.org/debian
}

# source_apt DIRECTORY ARGUMENT...
source_apt() {
    source_dir=$1
    shift
    apt-get -q -o Dir::Etc::sourcelist="$source_dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$source_dir/apt/lists" -o Dir::Cache="$source_dir/apt/cache" -o Debug::NoLocking=1 \
        -o APT::Sandbox::User= -o APT::Update::Error-Mode=any "$@" >>"$source_dir/apt.log" 2>&1
}

# source_refuse TEXT LOG: prints the text, the log's first errors and what to do; fails.
source_refuse() {
    source_proxy=${https_proxy-${http_proxy-}}
    echo "$1${source_proxy:+ (the proxy is $source_proxy)}:
$(grep -E '^(E|Err)' "$2" | head -n 4 | grep . || tail -n 3 "$2")
Without a network: configure --with-romio-source=DIR, the source of the installed MPICH; doc/building.md tells more" >&2
    return 1
}

source_download() {
    mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
    source_codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    source_archive_url=$(source_mirror)
    printf 'deb-src %s %s main\n' "$source_archive_url" "${source_codename:-stable}" >"$1/apt/sources.list"
    : >"$1/apt.log"
    source_apt "$1" update || source_refuse "the package archive $source_archive_url cannot be read" "$1/apt.log" || return
    for source_wanted in ${3:+"$2=$3"} "$2"; do
        ! (cd "$1" && source_apt "$1" --download-only source "$source_wanted") || return 0
    done
    source_refuse "the source package $2 could not be fetched" "$1/apt.log"
}

source_archive() { ls "$1/$2"_*.orig.tar.* 2>/dev/null | grep -v '\.asc$' | head -n 1; }

source_unpack() {
    source_from=$1 source_to=$2
    shift 2
    rm -rf "$source_to.part"
    mkdir -p "$source_to.part"
    tar -xf "$source_from" --strip-components=1 --wildcards -C "$source_to.part" "$@" && mv "$source_to.part" "$source_to"
}
