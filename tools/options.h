/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a subcommand. */
#ifndef THEMIS_TOOLS_OPTIONS_H
#define THEMIS_TOOLS_OPTIONS_H

typedef struct themis_tools_option {
    char letter;       /* 0: none */
    const char *name;  /* NULL: none */
    int *flag;         /* set to 1; NULL if the option takes a value */
    const char **text; /* set to the value */
} themis_tools_option_t;

/*
 * Parses the options before the operands: "-r", "-rf", "--json", "-s 2", "-s2", "--store DIR", "--store=DIR"; "--" ends
 * them. The array ends with an entry that has neither flag nor text. Returns the index of the first operand, or -1
 * after an error message.
 */
int themis_tools_options(int argc, char **argv, const themis_tools_option_t *options);
#endif
