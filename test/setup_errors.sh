#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts that build say where the machine does not let them: no root, no proxy, no space to write. Each says what
# is wrong and what to do. Commands of the system are replaced by such as fail; nothing is installed or fetched.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

# A tree with what the scripts read before they build.
mkdir -p "$T/tree/test/lib" "$T/tree/examples" "$T/tree/doc" "$T/bin" "$T/empty"
cp "$THEMIS_SRC/test/lib/setup.sh" "$T/tree/test/lib"
cp "$THEMIS_SRC/test/run.sh" "$THEMIS_SRC/test/packages.txt" "$T/tree/test"
cp "$THEMIS_SRC/examples/quickstart.sh" "$T/tree/examples"
echo '# to build' >"$T/tree/test/packages.txt"
echo 'themis-no-such-package # a package that is missing' >>"$T/tree/test/packages.txt"

# command NAME TEXT: a command of that name comes first in PATH.
command_make() { printf '#!/bin/sh\n%s\n' "$2" >"$T/bin/$1" && chmod +x "$T/bin/$1"; }

# says STATUS TEXT COMMAND...: it fails with that status, and its output has the text.
says() {
    wanted=$1 words=$2 got=0
    shift 2
    timeout 60 "$@" </dev/null >"$T/out" 2>&1 || got=$?
    [ "$got" = "$wanted" ] && tr '\n' ' ' <"$T/out" | grep -qF -e "$words" && return 0
    echo "status $got"
    cat "$T/out"
    return 1
}
quickstart() { says 1 "$1" env PATH="$T/bin:$PATH" sh "$2/examples/quickstart.sh"; }

# Only what the scripts need, so that there is no sudo.
mkdir "$T/few"
for name in sh sed grep cat env mkdir rm date dirname nproc touch tail dpkg-query dpkg-architecture update-alternatives; do
    ln -s "$(command -v "$name")" "$T/few/$name" 2>/dev/null
done
printf '#!/bin/sh\necho 1000\n' >"$T/few/id"
chmod +x "$T/few/id"
not_root() { says 1 "$1" env PATH="$T/few" sh "$T/tree/examples/quickstart.sh"; }
check "not root and no sudo: says so" not_root "this user is not root and there is no sudo"
check "and what to run" not_root "apt-get install -y --no-install-recommends themis-no-such-package"
check "the same of the tests" says 1 "this user is not root and there is no sudo" env PATH="$T/few" sh "$T/tree/test/run.sh" layers

command_make id 'echo 0'
command_make apt-get 'echo "Err:1 http://archive.example bookworm InRelease"
echo "  Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused)"
echo "E: Unable to locate package themis-no-such-package"; exit 100'
export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9
check "a dead proxy: packages" quickstart "no package archive can be reached through the proxy http://127.0.0.1:9" "$T/tree"
rm "$T/bin/apt-get"

# The real apt-get, at a proxy that refuses.
fetch() { says 1 "$1" sh "$THEMIS_SRC/adio/romio/fetch" "$T/romio"; }
if command -v apt-get >/dev/null 2>&1; then
    check "a dead proxy: ROMIO's source" fetch "cannot be read (the proxy is http://127.0.0.1:9)"
    check "with the way out" fetch "configure --with-romio-source=DIR"
    check "and not with what apt makes of it" sh -c '! grep -q "deb-src" "$1"' sh "$T/out"
else
    skip "a dead proxy: ROMIO's source" "apt-get is not here"
fi
unset http_proxy https_proxy
mkdir "$T/no-apt"
for name in sh sed grep cat mkdir dirname ls head; do ln -s "$(command -v "$name")" "$T/no-apt/$name"; done
check "no apt-get" says 1 "configure with --with-romio-source=DIR, the source of your MPICH" env PATH="$T/no-apt" sh "$THEMIS_SRC/adio/romio/fetch" "$T/romio2"

# read_only: the tree is mounted so where this user may mount, else has no rights to write.
cp -r "$T/tree" "$T/read-only"
if [ "$(/usr/bin/id -u)" != 0 ]; then
    chmod -R a-w "$T/read-only"
    check "a read-only tree" quickstart "cannot be written: the tree is read-only" "$T/read-only"
    chmod -R u+w "$T/read-only"
elif unshare --mount true 2>/dev/null; then
    check "a read-only tree" says 1 "cannot be written: the tree is read-only" unshare --mount --propagation private sh -c \
        'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec sh "$1/examples/quickstart.sh"' sh "$T/read-only"
    check "with the way out" grep -q 'mkdir DIR && cd DIR && .*/configure && make' "$T/out"
else
    skip "a read-only tree" "mounts are not allowed here"
fi

cp -r "$T/tree" "$T/a tree"
check "a path with a blank" quickstart "cannot work below a path with blanks" "$T/a tree"
check "as in the tests" says 1 "cannot work below a path with blanks" sh "$T/a tree/test/run.sh" layers
finish
