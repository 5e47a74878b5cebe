#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What configure says when something is missing: the Debian package to install, or the option that was wrong. It goes by
# what the configuration of the build tree has found, so each run takes about a second.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

# The results in config.log, without those of pkg-config and of libraries that are to be missing here, and without what
# belongs to one environment.
sed -n '/^## Cache variables/,/^## Output variables/{
    /^\(ac_cv_env\|pkg_cv\|ac_cv_prog_MPI\|ac_cv_path_MPI\)/d
    s/^\([a-z_A-Z0-9+]*_cv_[a-zA-Z_0-9+]*\)=\(.*\)$/\1=${\1=\2}/p
}' "$THEMIS_BUILD/config.log" >"$T/found"

# asks TEXT... -- [NAME=VALUE...] [OPTION...]: configure fails, and its last words have each TEXT.
asks() {
    : >"$T/texts"
    while [ "$1" != -- ]; do
        printf '%s\n' "$1" >>"$T/texts"
        shift
    done
    shift
    cp "$T/found" "$T/cache"
    rm -rf "$T/tree" && mkdir "$T/tree"
    (cd "$T/tree" && ! env -u MAKEFLAGS "$THEMIS_SRC/configure" -q --cache-file="$T/cache" "$@" >"$T/said" 2>&1) || return 1
    while read -r words; do
        grep -A1 '^configure: error' "$T/said" | grep -qF -- "$words" || {
            echo "not said: $words"
            tail -n 5 "$T/said"
            return 1
        }
    done <"$T/texts"
}

# A pkg-config that lacks one module.
cat >"$T/pkg-config" <<'END'
#!/bin/sh
case " $* " in
*" $LACKED "*) exit 1 ;;
esac
exec pkg-config "$@"
END
chmod +x "$T/pkg-config"

# The first that is looked for is the first that is missed.
check "no module at all: libucx-dev" asks libucx-dev -- PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH=
while read -r module package; do
    export LACKED="$module"
    check "no $module: $package" asks "$package" -- PKG_CONFIG="$T/pkg-config"
done <<'END'
hwloc libhwloc-dev
libxxhash libxxhash-dev
nettle nettle-dev
jansson libjansson-dev
libmicrohttpd libmicrohttpd-dev
ncursesw libncurses-dev
check check
END
while read -r header package; do
    check "no header $header: $package" asks "$package" "$header" -- \
        "ac_cv_header_$(echo "$header" | tr '/.' '__')=no"
done <<'END'
infiniband/ibnetdisc.h libibnetdisc-dev
infiniband/umad.h libibumad-dev
ini.h libinih-dev
rocksdb/c.h librocksdb-dev
uthash.h uthash-dev
END
while read -r library function package; do
    check "no library $library: $package" asks "$package" "$library" -- "ac_cv_lib_${library}_$function=no"
done <<'END'
ibnetdisc ibnd_discover_fabric libibnetdisc-dev
rocksdb rocksdb_open librocksdb-dev
END
check "no wrapper of MPICH: mpich and libmpich-dev" asks libmpich-dev -- ac_cv_path_MPICC=no
check "a wrapper that is none: libmpich-dev, mpicc.mpich" asks libmpich-dev mpicc.mpich /bin/true -- MPICC=/bin/true
check "a directory without ROMIO's source: its name, and what was looked for" asks "$T/tree" adio/include/adio.h -- \
    --with-romio-source="$T/tree"
check "no perl: perl-base" asks perl-base -- ac_cv_path_PERL=no

# A machine without all of the optional ones is configured.
optional() {
    cp "$T/found" "$T/cache"
    export LACKED=hdf5-mpich
    rm -rf "$T/tree" && mkdir "$T/tree" && cd "$T/tree" &&
        limit 60 "$THEMIS_SRC/configure" --cache-file="$T/cache" PKG_CONFIG="$T/pkg-config" >"$T/said" 2>&1 &&
        grep -q 'hdf5_slab is left out.*libhdf5-mpich-dev' "$T/said" && [ -e Makefile ] || { tail -n 5 "$T/said" && return 1; }
}
check "no parallel HDF5: its example is left out, with a word" optional

# without_glpk: the planner of periodic I/O is built, and passes its tests, without linear programs.
without_glpk() {
    cp "$T/found" "$T/cache"
    rm -rf "$T/tree" && mkdir "$T/tree" && cd "$T/tree" &&
        limit 60 "$THEMIS_SRC/configure" -q --cache-file="$T/cache" --enable-werror CFLAGS=-O0 ac_cv_header_glpk_h=no >"$T/said" 2>&1 &&
        limit 180 env -u MAKEFLAGS make -s -j2 test/persched/test_persched &&
        CK_RUN_CASE=model limit 60 ./test/persched/test_persched && grep -q 'define THEMIS_GLPK 0' config.h
}
check "no GLPK: periodic I/O is planned without it" without_glpk
# without_fuse: it is said what is left out.
without_fuse() {
    (
        cp "$T/found" "$T/cache"
        rm -rf "$T/tree" && mkdir "$T/tree" && cd "$T/tree" && unset MAKEFLAGS || exit 1
        export LACKED=fuse3
        limit 60 "$THEMIS_SRC/configure" --cache-file="$T/cache" PKG_CONFIG="$T/pkg-config" >"$T/said" 2>&1 &&
            grep -q 'themis mount is left out.*libfuse3-dev' "$T/said" && grep -q '^FUSE_FOUND = 0' Makefile ||
            { tail -n 5 "$T/said" && exit 1; }
    )
}
check "no FUSE: themis mount is left out, with a word" without_fuse
export LACKED=fuse3
check "FUSE asked for, and missing: libfuse3-dev" asks libfuse3-dev -- --with-fuse PKG_CONFIG="$T/pkg-config"
unset LACKED
check "GLPK asked for, and missing: libglpk-dev" asks libglpk-dev -- --with-glpk ac_cv_header_glpk_h=no

# without_comparators: the scheduler and its tests are built and pass without gift and tbf.
without_comparators() {
    cp "$T/found" "$T/cache"
    rm -rf "$T/tree" && mkdir "$T/tree" && cd "$T/tree" &&
        limit 60 "$THEMIS_SRC/configure" -q --cache-file="$T/cache" --disable-comparators --enable-werror CFLAGS=-O0 &&
        limit 180 env -u MAKEFLAGS make -s -j2 test/sched/test_policy test/sched/test_sched server/themisd &&
        limit 60 ./test/sched/test_policy && limit 60 ./test/sched/test_sched &&
        ! limit 20 server/themisd --check --policy gift 2>"$T/said" && cat "$T/said" && grep -q 'gift.*not part of this build' "$T/said"
}
check "a server without the comparators: gift is refused by name" without_comparators
finish
