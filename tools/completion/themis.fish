# SPDX-License-Identifier: BSD-3-Clause
# Completion of the command themis for fish. Commands and options are those that the tool tells of itself.

function __themis_commands
    themis --help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end

function __themis_options
    set -l words (commandline -opc)
    themis $words[2] --help 2>/dev/null | string split -n -- ' ' | string replace -rf '^\[?(--?[a-zA-Z][a-z-]*).*' '$1' | sort -u
end

function __themis_paths
    set -l directory (string replace -r '[^/]*$' '' -- (commandline -ct))
    themis ls $directory 2>/dev/null | string replace -r '^' $directory
end

complete -c themis -n 'test (count (commandline -opc)) -eq 1' -f -a '(__themis_commands)'
complete -c themis -n 'test (count (commandline -opc)) -gt 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__themis_options)'
complete -c themis -n 'string match -q -- "themis:/*" (commandline -ct)' -f -a '(__themis_paths)'
