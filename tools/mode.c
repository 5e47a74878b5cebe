/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/mode.h"
#include <stdlib.h>
#include <string.h>

enum { READ = 0444, WRITE = 0222, EXECUTE = 0111, SET_IDS = 06000, STICKY = 01000, ALL = 07777 };

/* The classes of "ugoa" at *at, which moves on, as the bits that belong to them; 0: none is given. */
static uint32_t classes_read(const char **at)
{
    uint32_t classes = 0;

    for (;; ++*at)
        switch (**at) {
        case 'u':
            classes |= 04700;
            break;
        case 'g':
            classes |= 02070;
            break;
        case 'o':
            classes |= 01007;
            break;
        case 'a':
            classes |= ALL;
            break;
        default:
            return classes;
        }
}

/* The three bits of a class in all classes. */
static uint32_t class_copy(uint32_t bits)
{
    return (bits & 7) * 0111;
}

/* The permissions at *at, in all classes; *at moves on. */
static uint32_t permissions_read(const char **at, uint32_t mode, int directory)
{
    uint32_t bits = 0;

    for (;; ++*at)
        switch (**at) {
        case 'r':
            bits |= READ;
            break;
        case 'w':
            bits |= WRITE;
            break;
        case 'x':
            bits |= EXECUTE;
            break;
        case 'X':
            bits |= directory || mode & EXECUTE ? EXECUTE : 0;
            break;
        case 's':
            bits |= SET_IDS;
            break;
        case 't':
            bits |= STICKY;
            break;
        case 'u':
            bits |= class_copy(mode >> 6);
            break;
        case 'g':
            bits |= class_copy(mode >> 3);
            break;
        case 'o':
            bits |= class_copy(mode);
            break;
        default:
            return bits;
        }
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
