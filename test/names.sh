#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Names in comments and pages exist: what looks like an identifier stands somewhere in code, and what looks like a file
# of ours is one. So a comment that outlives what it speaks of is found.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

cd "$THEMIS_SRC" || exit 1

# Names of others, and letters with a subscript.
foreign='P?MPI_[A-Za-z_]+|ADIOI?_[A-Za-z_]+|romio_[a-z_]+|ncmpi_[a-z_]+|ibnd_[a-z_]+|CK_[A-Z_]+|SCHED_IDLE|ENCODE_HOST|[a-z]{1,2}_[a-z]{1,2}'

# tree: what is in git, or all there is in an unpacked release.
tree() { git ls-files 2>/dev/null | grep . || find . -path './build*' -prune -o -type f -print | sed 's|^\./||'; }
tree | grep -vE '(^|/)(Makefile\.in|aclocal\.m4|configure~?|config\.h\.in~?)$|^(autom4te\.cache|build-aux|\.git)/' >"$T/files"
c_files() { grep '\.[ch]$' "$T/files"; }
pages() { grep '\.md$' "$T/files" | grep -v CHANGELOG; }

# identifiers: the words of stdin with an underscore inside, one a line.
identifiers() { grep -oE '[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)+' | sort -u; }

# Code without comments, strings included; and all of what is not C.
c_files | xargs gcc -fpreprocessed -dD -E -P 2>/dev/null | identifiers >"$T/known"
grep -vE '\.([ch]|md)$' "$T/files" | xargs cat 2>/dev/null | identifiers >>"$T/known"
sort -u -o "$T/known" "$T/known"

# unknown FILE...: "file: word" for every identifier that stands in no code. The first or last part of a name (a prefix, or
# a name without its prefix) will do.
unknown() {
    grep -oHE '[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)+' "$@" | sort -u |
        awk -F: 'NR == FNR { known[$0] = 1; next } !($2 in known)' "$T/known" - | while IFS=: read -r file word; do
        echo "$word" | grep -qxE "$foreign" || grep -qE "^${word}|_$word\$" "$T/known" || echo "$file: $word"
    done
}

# absent FILE...: "file: name" for every name of a C file, script or makefile that is not in the tree: neither a path's end
# there nor part of a name of others.
absent() {
    grep -oHE '[A-Za-z0-9_/-]*[A-Za-z0-9_]\.(c|h|sh|mk)\b' "$@" | sort -u | awk -F: -v ours="$T/files" -v others="$T/foreign-files" '
        BEGIN {
            while ((getline path < ours) > 0)
                for (end = path; end; end = index(end, "/") ? substr(end, index(end, "/") + 1) : "") known[end] = 1
            while ((getline name < others) > 0) foreign = foreign "\n" name
        }
        { name = $2; if (name ~ /^\//) sub(/.*\//, "", name) } # where it is installed
        !(name in known) && !index(foreign, name)' | while IFS=: read -r file name; do
        [ -e "/usr/include/$name" ] || echo "$file: $name"
    done
}
# Headers and files of others that code includes or scripts read.
c_files | xargs grep -hE '^ *# *include *[<"]' | sed 's/.*[<"]\(.*\)[>"].*/\1/' >"$T/foreign-files"
grep -vE '\.([ch]|md)$' "$T/files" | xargs cat 2>/dev/null | grep -oE '[A-Za-z0-9_/-]*[A-Za-z0-9_]\.(c|h|sh)\b' >>"$T/foreign-files"

# shellcheck disable=SC2046 # lists of files
{
    none "identifiers in comments exist" "$(unknown $(c_files))"
    none "identifiers in the pages exist" "$(unknown $(pages))"
    none "files that comments name exist" "$(absent $(c_files))"
    none "files that the pages name exist" "$(absent $(pages))"
}
finish
