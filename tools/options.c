/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/options.h"
#include <string.h>
#include "tools/command.h"

/* By its name of `length` bytes, or where that is NULL by its letter; NULL if there is none. */
static const themis_tools_option_t *option_find(const themis_tools_option_t *options, const char *name, size_t length,
                                                char letter)
{
    for (; options->flag || options->text || options->texts; options++)
        if (name ? options->name && strlen(options->name) == length && strncmp(options->name, name, length) == 0
                 : options->letter == letter)
            return options;
    return NULL;
}

/* Stores an option, whose value is `value` or else the next argument. Returns how many further arguments it used. */
static int option_take(const themis_tools_option_t *option, const char *given, const char *value, const char *next)
{
    if (!option) {
        themis_tools_error("unknown option %s", given);
        return -1;
    }
    if (option->flag && !value) {
        *option->flag = 1;
        return 0;
    }
    if (option->flag || (!value && !next)) {
        themis_tools_error("option %s %s", given, option->flag ? "takes no value" : "needs a value");
        return -1;
    }
    if (option->texts && option->texts->count == THEMIS_TOOLS_MAX_TEXTS) {
        themis_tools_error("option %s is given more than %d times", given, THEMIS_TOOLS_MAX_TEXTS);
        return -1;
    }
    if (option->texts)
        option->texts->texts[option->texts->count++] = value ? value : next;
    else
        *option->text = value ? value : next;
    return value ? 0 : 1;
}

static int long_take(const themis_tools_option_t *options, const char *argument, const char *next)
{
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);

    return option_take(option_find(options, name, length, 0), argument, equals ? equals + 1 : NULL, next);
}

static int letters_take(const themis_tools_option_t *options, const char *argument, const char *next)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        const themis_tools_option_t *option = option_find(options, NULL, 0, *letter);
        int with_value = option && !option->flag;
        int taken = option_take(option, argument, with_value && letter[1] ? letter + 1 : NULL, next);
        if (taken < 0 || with_value)
            return taken;
    }
    return 0;
}

int themis_tools_options(int argc, char **argv, const themis_tools_option_t *options)
{
    int at = 1;

    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        const char *next = at + 1 < argc ? argv[at + 1] : NULL;
        if (strcmp(argv[at], "--") == 0)
            return at + 1;
        int more = argv[at][1] == '-' ? long_take(options, argv[at], next) : letters_take(options, argv[at], next);
        if (more < 0)
            return -1;
        at += more;
    }
    return at;
}
