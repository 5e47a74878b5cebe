/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a subcommand. */
#pragma once

enum { THEMIS_TOOLS_MAX_TEXTS = 32 };

/* The values of an option that may be given several times. */
typedef struct themis_tools_texts {
    const char *texts[THEMIS_TOOLS_MAX_TEXTS]; /* borrowed from the arguments */
    int count;
} themis_tools_texts_t;

typedef struct themis_tools_option {
    char letter;                 /* 0: none */
    const char *name;            /* NULL: none */
    int *flag;                   /* set to 1; NULL if the option takes a value */
    const char **text;           /* set to the value */
    themis_tools_texts_t *texts; /* gets the value, too; for an option with neither flag nor text */
} themis_tools_option_t;

/*
 * Parses the options before the operands: "-r", "-rf", "--json", "-s 2", "-s2", "--store DIR", "--store=DIR"; "--" ends
 * them. The array ends with an entry that has neither flag nor text nor texts. Returns the index of the first operand,
 * or -1 after an error message.
 */
int themis_tools_options(int argc, char **argv, const themis_tools_option_t *options);
