#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The documentation names what there is: keys of the server, subcommands, hints; and its links lead somewhere.
# timeout: 60
. "$(dirname "$0")/lib/testlib.sh"

doc=$THEMIS_SRC/doc

# all_in TEXT FILE WORD...: every word stands in the file in backquotes, possibly with more after it.
all_in() {
    text=$1 file=$2
    shift 2
    missing=
    for word in "$@"; do
        grep -qE "\`$word[\` ]" "$file" || missing="$missing $word"
    done
    if [ $# -gt 0 ] && [ -z "$missing" ]; then
        ok "$text"
    else
        not_ok "$text; missing:${missing:- everything}"
    fi
}

# shellcheck disable=SC2046 # lists of words
{
    all_in "configuration.md has every key of themisd" "$doc/configuration.md" \
        $(themisd --help | sed -n '/^keys of/,$s/^  --\([a-z_-]*\).*/\1/p' | tr - _)
    all_in "themis.md has every subcommand" "$doc/themis.md" \
        $(themis --help | sed -n 's/^  \([a-z]*\) .*/themis \1/p' | tr ' ' .)
    all_in "hints.md has every hint of the driver" "$doc/hints.md" \
        $(sed -n 's/^ *X(\([a-z_]*\),.*/themis_\1/p' "$THEMIS_SRC/adio/ad_themis/ad_themis_hint_check.h")
}

# links FILE: what its links name, relative to its directory; pages elsewhere are left out.
links() { grep -oE '\]\([^)]*\)' "$1" | sed 's/^](//; s/)$//; s/#.*//' | grep -vE '^(https?:|$)'; }

broken=
for page in "$THEMIS_SRC"/*.md "$doc"/*.md; do
    for link in $(links "$page"); do
        [ -e "$(dirname "$page")/$link" ] || broken="$broken $(basename "$page"):$link"
    done
done
if [ -z "$broken" ]; then
    ok "every link in the pages leads to a file"
else
    not_ok "links lead nowhere:$broken"
fi

for page in themis.1 themisd.8 themis.conf.5 themis-hints.7; do
    check "$page is installed and has a body" grep -q '^.SH DESCRIPTION' "$THEMIS_PREFIX/share/man/man${page##*.}/$page"
done
finish
