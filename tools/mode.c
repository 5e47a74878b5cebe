/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/mode.h"
#include <stdlib.h>
#include <string.h>

enum { READ = 0444, WRITE = 0222, EXECUTE = 0111, SET_IDS = 06000, STICKY = 01000, ALL = 07777 };

/* The letters of `letters` at *at, which moves on, as the bits that stand for them; 0: none is there. */
static uint32_t letters_read(const char **at, const char *letters, const uint32_t *bits)
{
    uint32_t all = 0;
    const char *found;

    for (; **at && (found = strchr(letters, **at)) != NULL; ++*at)
        all |= bits[found - letters];
    return all;
}

/* The classes at *at, as the bits that belong to them. */
static uint32_t classes_read(const char **at)
{
    static const uint32_t bits[] = {04700, 02070, 01007, ALL};

    return letters_read(at, "ugoa", bits);
}

/* The permissions at *at, in all classes; those of a class are its three bits. */
static uint32_t permissions_read(const char **at, uint32_t mode, int directory)
{
    const uint32_t bits[] = {READ,
                             WRITE,
                             EXECUTE,
                             directory || mode & EXECUTE ? EXECUTE : 0,
                             SET_IDS,
                             STICKY,
                             (mode >> 6 & 7) * 0111,
                             (mode >> 3 & 7) * 0111,
                             (mode & 7) * 0111};

    return letters_read(at, "rwxXstugo", bits);
}

/* One clause, "go+rX-w", up to a comma or the end. */
static int64_t clause_apply(const char **at, uint32_t mode, int directory, uint32_t umask)
{
    uint32_t classes = classes_read(at), affected = classes ? classes : ALL & ~umask;

    if (!**at || !strchr("+-=", **at))
        return -1;
    while (**at && strchr("+-=", **at)) {
        char operator= *(*at)++;
        uint32_t bits = permissions_read(at, mode, directory);
        bits &= affected;
        if (operator== '+')
            mode |= bits;
        else if (operator== '-')
            mode &= ~bits;
        else
            mode = (classes ? mode & ~classes : 0) | bits;
    }
    return mode;
}

int64_t themis_tools_mode_apply(const char *text, uint32_t mode, int directory, uint32_t umask)
{
    char *end;
    int64_t made = (int64_t)mode & ALL;

    if (*text >= '0' && *text <= '7') {
        unsigned long number = strtoul(text, &end, 8);
        return *end || number > ALL ? -1 : (int64_t)number;
    }
    for (;;) {
        made = clause_apply(&text, (uint32_t)made, directory, umask);
        if (made < 0 || !*text)
            return made;
        if (*text++ != ',')
            return -1;
    }
}

const char *themis_tools_mode_text(uint32_t mode, int directory, char *text)
{
    static const char letters[] = "rwxrwxrwx";

    text[0] = directory ? 'd' : '-';
    for (int i = 0; i < 9; i++)
        text[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
    if (mode & 04000)
        text[3] = mode & 0100 ? 's' : 'S';
    if (mode & 02000)
        text[6] = mode & 010 ? 's' : 'S';
    if (mode & 01000)
        text[9] = mode & 1 ? 't' : 'T';
    text[10] = '\0';
    return text;
}
