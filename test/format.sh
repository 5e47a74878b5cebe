#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every C file is as clang-format leaves it, and every source file begins with its license.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

# files: what is in git, or all there is in an unpacked release.
files() {
    cd "$THEMIS_SRC" || return
    git ls-files 2>/dev/null | grep . || find . -path './build*' -prune -o -type f -print | sed 's|^\./||'
}

# sources: every file that may have a comment, but for documents, recorded data, what the autotools make, and files of the
# Debian packages whose form is not ours.
sources() {
    files | grep -vE '\.(md|json|seeds)$|(^|/)data/|^LICENSE$|^debian/(changelog|control|copyright|source/format|.*\.(install|docs))$' |
        grep -vE '(^|/)(Makefile\.in|aclocal\.m4|configure~?|config\.h\.in~?)$|^(autom4te\.cache|build-aux|\.git)/|^m4/(lt|libtool)'
}

cd "$THEMIS_SRC" || exit 1
if command -v clang-format >/dev/null 2>&1; then
    none "clang-format would change nothing" "$(files | grep '\.[ch]$' | xargs -n 20 -P 2 clang-format --style=file --dry-run 2>&1 |
        sed -n 's/:[0-9]*:[0-9]*: warning: code should be.*//p' | sort -u)"
else
    skip "clang-format would change nothing" "it is not installed"
fi
none "every source file names its license in its first lines" "$(sources | while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$file"
done)"
finish
