#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every C file is as clang-format leaves it, and begins with its license.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

# c_files: what is in git, or all there is in an unpacked release.
c_files() {
    cd "$THEMIS_SRC" || return
    git ls-files '*.c' '*.h' 2>/dev/null | grep . || find . -path './build*' -prune -o -name '*.[ch]' -print
}

if ! command -v clang-format >/dev/null 2>&1; then
    skip "clang-format" "it is not installed"
    finish
fi
cd "$THEMIS_SRC" || exit 1
bad=$(c_files | xargs -n 20 -P 2 clang-format --style=file --dry-run 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: code should be.*//p' | sort -u)
if [ -z "$bad" ]; then
    ok "clang-format would change nothing"
else
    not_ok "clang-format would change files"
    printf '%s\n' "$bad" | sed 's/^/# clang-format -i /'
fi
bad=$(c_files | while read -r file; do
    head -n 1 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$file"
done)
if [ -z "$bad" ]; then
    ok "every C file names its license in its first line"
else
    not_ok "files without SPDX line"
    printf '%s\n' "$bad" | sed 's/^/# /'
fi
finish
