# SPDX-License-Identifier: BSD-3-Clause
# Completion of the command themis for bash. Commands and options are those that the tool tells of itself.

# Options of a command: words that begin with a dash in its help.
_themis_options() { themis "$1" --help 2>/dev/null | tr ' ,[]|' '\n' | sed -n 's/^\(--*[a-zA-Z][a-z-]*\).*/\1/p' | sort -u; }

# Paths on the servers that begin with $1, "themis:/dir/na".
_themis_paths() {
    local directory=${1%/*}/
    themis ls "$directory" 2>/dev/null | sed "s|^|$directory|"
}

_themis() {
    local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT}
    local word=${line##* } paths
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(themis --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p') help --help --version" -- "$cur")
        return
    fi
    if [ "$COMP_CWORD" = 2 ] && [ "${COMP_WORDS[1]}" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(themis --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')" -- "$cur")
        return
    fi
    case $word in
    themis:/*)
        # bash may split words at colons; what is before the last one is not to be repeated
        paths=$(_themis_paths "$word")
        mapfile -t COMPREPLY < <(compgen -W "$paths" -- "$word")
        case $COMP_WORDBREAKS in
        *:*) COMPREPLY=("${COMPREPLY[@]#themis:}") ;;
        esac
        compopt -o nospace 2>/dev/null
        ;;
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_themis_options "${COMP_WORDS[1]}")" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    esac
}
complete -o filenames -F _themis themis
