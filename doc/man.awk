# SPDX-License-Identifier: BSD-3-Clause
# Makes a manual page of a page of this directory: awk -v name=NAME -v section=N -v summary=TEXT -f man.awk PAGE.md
# Knows what these pages use: headings, paragraphs, tables (rows become entries), lists, indented code, `code`, links.
function plain(text,    out) {
    gsub(/\\/, "\\e", text)
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        out = substr(text, RSTART + 1, RLENGTH - 1)
        sub(/\].*/, "", out)
        text = substr(text, 1, RSTART - 1) out substr(text, RSTART + RLENGTH)
    }
    while (match(text, /`[^`]*`/))
        text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" substr(text, RSTART + RLENGTH)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}
function close_code() { if (code) { print ".fi\n.RE"; code = 0 } }
BEGIN {
    printf ".TH %s %s \"\" \"Themis\" \"Themis\"\n.SH NAME\n%s \\- %s\n", toupper(name), section, plain(name), plain(summary)
    start = 1
}
/^# / { next }
/^## / { close_code(); text = substr($0, 4); if (text !~ /^\[/) text = toupper(text); print ".SH " plain(text); start = 0; next }
/^    / {
    if (start && !code) print ".SH SYNOPSIS"
    if (!code) print ".PP\n.RS\n.nf"
    code = 1
    print plain(substr($0, 5))
    next
}
{ close_code() }
start && NF { print ".SH DESCRIPTION"; start = 0 }
/^\|[-| ]*\|$/ { next }
/^\|/ {
    n = split($0, cell, "|")
    head = cell[2]; gsub(/^ +| +$/, "", head)
    if (head == "" || head == "key" || head == "variable" || head == "hint" || head == "option") next
    print ".TP\n" plain(head)
    middle = n > 4 ? cell[3] : ""; last = cell[n - 1]
    gsub(/^ +| +$/, "", middle); gsub(/^ +| +$/, "", last)
    print plain(last (middle == "" ? "" : (last == "" ? "" : " ") "(default: " middle ")"))
    next
}
/^- / { print ".IP \\(bu 2\n" plain(substr($0, 3)); next }
/^$/ { print ".PP"; next }
{ print plain($0) }
END { close_code() }
