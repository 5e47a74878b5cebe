#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion offers every command, the options of each, and paths on servers.
# timeout: 60
. "$(dirname "$0")/lib/testlib.sh"
start_servers 1

# complete_line LINE: what bash offers at the end of the line, one a line.
complete_line() {
    COMP_LINE=$1 COMP_POINT=${#1}
    read -r -a COMP_WORDS <<<"$1"
    case $1 in *' ') COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _themis
    printf '%s\n' "${COMPREPLY[@]}"
}
# offers LINE WORD...: each of the words is offered.
offers() {
    complete_line "$1" >"$T/offered"
    shift
    for word in "$@"; do
        grep -qxF -e "$word" "$T/offered" || { echo "no $word in:" && cat "$T/offered" && return 1; }
    done
}
installed=$THEMIS_PREFIX/share/bash-completion/completions/themis
check "it is installed for bash" [ -e "$installed" ]
. "$installed"
commands=$(themis --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
# shellcheck disable=SC2086 # a list of words
check "every command" offers "themis " $commands
check "there are some" [ "$(echo "$commands" | wc -l)" -ge 15 ]
for command in $commands; do
    options=$(themis "$command" --help | sed -n 's/^  \(--*[a-zA-Z][a-z-]*\).*/\1/p')
    # shellcheck disable=SC2086
    [ -z "$options" ] || check "the options of $command" offers "themis $command -" $options
done
themis mkdir themis:/directory themis:/other
# without a break at colons bash gives and takes whole words
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
check "paths on servers" offers "themis ls themis:/d" themis:/directory/
check "only those that begin so" [ "$(wc -l <"$T/offered")" = 1 ]
for file in share/zsh/site-functions/_themis share/fish/vendor_completions.d/themis.fish; do
    check "$file is installed" [ -s "$THEMIS_PREFIX/$file" ]
done
if command -v zsh >/dev/null; then
    check "zsh reads its file" zsh -n "$THEMIS_PREFIX/share/zsh/site-functions/_themis"
else
    skip "zsh reads its file" "zsh is not installed"
fi
if command -v fish >/dev/null; then
    check "fish reads its file" fish -n "$THEMIS_PREFIX/share/fish/vendor_completions.d/themis.fish"
else
    skip "fish reads its file" "fish is not installed"
fi
finish
