# SPDX-License-Identifier: BSD-3-Clause
# Set-up for test/run.sh, bench/run.sh and examples/quickstart.sh; sourced, works under any POSIX shell.
#
#   themis_setup [--asan|--tsan|--clang] [CONFIGURE-OPTION...]
#
# installs the packages that are missing, configures, builds and installs into BUILD/inst, each only if needed.
# Sets THEMIS_SRC (source tree), THEMIS_BUILD (build tree) and THEMIS_PREFIX (installed tree), and PATH.
# The caller sets THEMIS_SRC before it sources this file, and THEMIS_BUILD_ONLY=yes if it needs only the packages with
# which to build.

themis_say() { printf '%s\n' "== $*"; }

themis_die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# themis_packages_missing: names those packages of test/packages.txt that are not installed.
themis_packages_missing() {
    last='$'
    [ "${THEMIS_BUILD_ONLY-}" != yes ] || last='/^# to test/'
    sed -n "1,${last}p" "$THEMIS_SRC/test/packages.txt" | sed 's/#.*//; /^ *$/d; s/ //g' | while read -r package; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        "install ok installed") ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# themis_root_check COMMAND...: ends the script unless themis_as_root can run the command.
themis_root_check() {
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 ||
        themis_die "packages are missing, and this user is not root and there is no sudo. As root, run:
    $*"
}

# themis_as_root COMMAND...: runs it as root, through sudo if need be.
themis_as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# themis_keep_mpi: Open MPI's packages would become what mpicc and mpirun mean; they stay what they are on this machine.
themis_keep_mpi() {
    for name in mpi mpirun "mpi-$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null)"; do
        value=$(update-alternatives --query "$name" 2>/dev/null | sed -n 's/^Value: //p')
        [ -z "$value" ] || themis_as_root update-alternatives --set "$name" "$value" >/dev/null
    done
}

themis_packages() {
    command -v dpkg-query >/dev/null 2>&1 || {
        themis_say "not a Debian system: the packages of test/packages.txt have to be there already"
        return 0
    }
    missing=$(themis_packages_missing)
    [ -n "$missing" ] || return 0
    themis_say "installing packages: $missing"
    themis_root_check apt-get install -y --no-install-recommends "$missing"
    case $missing in
    *openmpi*) themis_keep_mpi ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    set -- env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
    rm -f "$THEMIS_SRC"/build*/.configured # configure may find more now
    themis_as_root "$@" </dev/null >"$THEMIS_BUILD/apt.log" 2>&1 && return 0
    # The lists are absent or too old: fetch them, then once more.
    themis_as_root apt-get update -q </dev/null >"$THEMIS_BUILD/apt.log" 2>&1 || true
    themis_as_root "$@" </dev/null >>"$THEMIS_BUILD/apt.log" 2>&1 || {
        cat "$THEMIS_BUILD/apt.log" >&2
        themis_die "the packages could not be installed: $(themis_apt_reason). doc/building.md tells how to build without them"
    }
}

# themis_apt_reason: what its log says in short.
themis_apt_reason() {
    proxy=${https_proxy-${http_proxy-}}
    if grep -qiE 'could not connect|connection (failed|refused|timed out)|temporary failure|could not resolve' "$THEMIS_BUILD/apt.log"; then
        printf '%s' "no package archive can be reached${proxy:+ through the proxy $proxy}"
    else
        printf '%s' "the reason is in the lines above"
    fi
}

# themis_tree_check: what configure and make would fail at with words that do not name the cause.
themis_tree_check() {
    case $THEMIS_SRC in
    *[!A-Za-z0-9_/.,+@%~=-]*)
        themis_die "$THEMIS_SRC: configure and make cannot work below a path with blanks or quotes. Move the tree, or go by a link:
    ln -s '$THEMIS_SRC' /tmp/themis-src && sh /tmp/themis-src/${0#"$THEMIS_SRC/"}"
        ;;
    esac
    { mkdir -p "$THEMIS_BUILD" && touch "$THEMIS_BUILD/.writable"; } 2>/dev/null ||
        themis_die "$THEMIS_BUILD cannot be written: the tree is read-only, or another user's. Copy it to where you can write, or build
elsewhere by hand: mkdir DIR && cd DIR && $THEMIS_SRC/configure && make"
    rm -f "$THEMIS_BUILD/.writable"
}

# themis_quietly LOG COMMAND...: shows the output only if the command fails.
themis_quietly() {
    log=$1
    shift
    "$@" </dev/null >"$log" 2>&1 && return 0
    tail -n 100 "$log" >&2
    themis_die "failed: $*"
}

# themis_configured OPTION...: true if the build tree was configured with all these options.
themis_configured() {
    [ -e "$THEMIS_BUILD/Makefile" ] && [ -e "$THEMIS_BUILD/.configured" ] || return 1
    for option in "$@"; do
        grep -qxF -e "$option" "$THEMIS_BUILD/.configured" || return 1
    done
}

themis_configure() {
    [ -e "$THEMIS_SRC/configure" ] || {
        themis_say "autoreconf"
        (cd "$THEMIS_SRC" && themis_quietly "$THEMIS_BUILD/autoreconf.log" autoreconf -fi) || exit 1
    }
    themis_configured "$@" && return 0
    themis_say "configure $*"
    (cd "$THEMIS_BUILD" && themis_quietly "$THEMIS_BUILD/configure.log" "$THEMIS_SRC/configure" "$@") || exit 1
    printf '%s\n' "$@" >"$THEMIS_BUILD/.configured"
}

# themis_make TARGET...: make with as many jobs as there are processors.
themis_make() {
    themis_quietly "$THEMIS_BUILD/make.log" make -C "$THEMIS_BUILD" -j"$(nproc)" "$@"
}

# themis_borrow_romio: marks ROMIO as built in this tree; make then needs ROMIO_BUILD and ROMIO_OMPI_BUILD of the tree that has it.
themis_borrow_romio() {
    themis_make am--refresh
    touch "$THEMIS_BUILD/romio-source.stamp"
    mkdir -p "$THEMIS_BUILD/adio"
    touch "$THEMIS_BUILD/adio/romio.stamp" "$THEMIS_BUILD/adio/romio-ompi.stamp"
}

# themis_install: make install, unless nothing was built since the last one.
themis_install() {
    stamp=$THEMIS_BUILD/.installed
    if [ -e "$stamp" ]; then
        newer=$(find "$THEMIS_BUILD" -path "$THEMIS_PREFIX" -prune -o -type f -newer "$stamp" \
            \( -name '*.la' -o -name '*.o' -o -name '*.so*' -o -name '*.pc' -o -name Makefile \) -print | head -n 1)
        sources=$(find "$THEMIS_SRC/include" "$THEMIS_SRC/doc" -type f -newer "$stamp" 2>/dev/null | head -n 1)
        [ -n "$newer$sources" ] || return 0
    fi
    themis_say "make install"
    themis_quietly "$THEMIS_BUILD/install.log" make -C "$THEMIS_BUILD" install
    : >"$stamp"
}

# themis_build_name VARIANT: the name of a variant's build tree.
themis_build_name() {
    case $1 in
    "") echo build ;;
    *) echo "build-$1" ;;
    esac
}

# themis_tree [VARIANT] [OPTION...]: packages and configure, without the build.
themis_tree() {
    THEMIS_VARIANT=
    case ${1-} in
    --asan | --tsan | --clang)
        THEMIS_VARIANT=${1#--}
        shift
        ;;
    esac
    THEMIS_BUILD=$THEMIS_SRC/$(themis_build_name "$THEMIS_VARIANT")
    THEMIS_PREFIX=$THEMIS_BUILD/inst
    PATH=$THEMIS_PREFIX/bin:$THEMIS_PREFIX/sbin:$PATH
    export THEMIS_SRC THEMIS_BUILD THEMIS_PREFIX THEMIS_VARIANT PATH
    themis_tree_check
    themis_packages
    compiler=gcc
    [ "$THEMIS_VARIANT" != clang ] || compiler=clang
    ! command -v ccache >/dev/null 2>&1 || compiler="ccache $compiler"
    case $THEMIS_VARIANT in
    asan | tsan) set -- "$@" "--enable-$THEMIS_VARIANT" "CFLAGS=-O1 -g" ;;
    esac
    themis_configure "--prefix=$THEMIS_PREFIX" "CC=$compiler" "$@"
}

themis_setup() {
    themis_tree "$@"
    themis_say "make in $THEMIS_BUILD"
    themis_make all
    themis_install
}
