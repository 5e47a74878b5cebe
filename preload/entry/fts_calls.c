/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fts: hierarchies of which a root is below the mount point, as the C library lists directories from inside of it. As
 * with FTS_NOCHDIR, whatever was asked for, the working directory stays. A program sees the state as an FTS, and tells
 * it from the C library's by a bit of fts_options.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include "preload/entry/entry.h"

enum { OURS = 1 << 30 };

typedef int compare_fn(const FTSENT **, const FTSENT **);

typedef struct hierarchy {
    FTS head; /* fts_cur: what was returned last; fts_child: what is in it, if that is known */
    compare_fn *compare;
    FTSENT top; /* above the roots */
} hierarchy_t;

static int is_ours(const FTS *stream)
{
    return (stream->fts_options & OURS) != 0;
}

static int is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* --- entries -------------------------------------------------------------------------------------------------------
 */

/* In one piece of memory, with its attributes and its path. */
static FTSENT *entry_make(FTSENT *parent, const char *name)
{
    const int is_root = parent->fts_level == FTS_ROOTPARENTLEVEL;
    const size_t above = is_root ? 0 : parent->fts_pathlen, length = strlen(name);
    const size_t head = (sizeof(FTSENT) + length + 1 + 15) / 16 * 16;
    char *memory = above + length + 2 <= UINT16_MAX ? calloc(1, head + sizeof(struct stat) + above + length + 2) : NULL;
    FTSENT *entry = (FTSENT *)(void *)memory;

    if (!entry) {
        errno = above + length + 2 <= UINT16_MAX ? ENOMEM : ENAMETOOLONG;
        return NULL;
    }
    entry->fts_parent = parent;
    entry->fts_level = (short)(parent->fts_level + 1);
    entry->fts_instr = FTS_NOINSTR;
    entry->fts_statp = (struct stat *)(void *)(memory + head);
    entry->fts_path = entry->fts_accpath = memory + head + sizeof(struct stat);
    memcpy(entry->fts_path, is_root ? "" : parent->fts_path, above);
    if (above > 0 && entry->fts_path[above - 1] != '/')
        entry->fts_path[above] = '/';
    strcat(entry->fts_path, name);
    entry->fts_pathlen = (unsigned short)strlen(entry->fts_path);
    const char *last = is_root ? strrchr(name, '/') : NULL;
    strcpy(entry->fts_name, last && last[1] ? last + 1 : name);
    entry->fts_namelen = (unsigned short)strlen(entry->fts_name);
    return entry;
}

static void entries_free(FTSENT *entry)
{
    while (entry) {
        FTSENT *next = entry->fts_link;
        free(entry);
        entry = next;
    }
}

/* FTS_DC: it is one of the directories above. */
static unsigned short directory_info(const FTS *stream, FTSENT *entry)
{
    if (is_dots(entry->fts_name) && entry->fts_level > FTS_ROOTLEVEL)
        return stream->fts_options & FTS_SEEDOT ? FTS_DOT : FTS_D;
    for (FTSENT *above = entry->fts_parent; above->fts_level >= FTS_ROOTLEVEL; above = above->fts_parent)
        if (above->fts_ino == entry->fts_ino && above->fts_dev == entry->fts_dev) {
            entry->fts_cycle = above;
            return FTS_DC;
        }
    return FTS_D;
}

static void entry_look(const FTS *stream, FTSENT *entry, int follows)
{
    struct stat *found = entry->fts_statp;

    follows |= (stream->fts_options & FTS_LOGICAL) != 0;
    entry->fts_errno = 0;
    if ((follows ? stat : lstat)(entry->fts_path, found) != 0) {
        entry->fts_errno = errno;
        entry->fts_info = FTS_NS;
        if (!follows || lstat(entry->fts_path, found) != 0)
            return;
        entry->fts_errno = 0;
        entry->fts_info = FTS_SLNONE;
    } else {
        entry->fts_info = S_ISREG(found->st_mode) ? FTS_F : S_ISLNK(found->st_mode) ? FTS_SL : FTS_DEFAULT;
    }
    entry->fts_dev = found->st_dev;
    entry->fts_ino = found->st_ino;
    entry->fts_nlink = found->st_nlink;
    if (S_ISDIR(found->st_mode))
        entry->fts_info = directory_info(stream, entry);
}

/* --- lists ---------------------------------------------------------------------------------------------------------
 */

static FTSENT *list_sort(FTSENT *list, size_t count, compare_fn *compare)
{
    FTSENT **array = compare && count > 1 ? calloc(count, sizeof *array) : NULL;

    if (!array)
        return list;
    for (size_t i = 0; i < count; i++, list = list->fts_link)
        array[i] = list;
    qsort(array, count, sizeof *array, (int (*)(const void *, const void *))compare);
    for (size_t i = 0; i < count; i++)
        array[i]->fts_link = i + 1 < count ? array[i + 1] : NULL;
    list = array[0];
    free(array);
    return list;
}

/* 1, and *list is what is in a directory. 0, with errno. */
static int children_read(const hierarchy_t *hierarchy, FTSENT *directory, FTSENT **list)
{
    DIR *stream = opendir(directory->fts_path);
    FTSENT **end = list;
    struct dirent *found;
    size_t count = 0;

    *list = NULL;
    if (!stream)
        return 0;
    errno = 0;
    while ((found = readdir(stream))) {
        if (is_dots(found->d_name) && !(hierarchy->head.fts_options & FTS_SEEDOT))
            continue;
        if (!(*end = entry_make(directory, found->d_name)))
            break;
        entry_look(&hierarchy->head, *end, 0);
        end = &(*end)->fts_link;
        count++;
        errno = 0;
    }
    const int error = errno;
    closedir(stream);
    errno = error;
    if (error) {
        entries_free(*list);
        *list = NULL;
        return 0;
    }
    *list = list_sort(*list, count, hierarchy->compare);
    return 1;
}

/* --- the functions -------------------------------------------------------------------------------------------------
 */

static FTS *hierarchy_open(char *const *paths, int options, compare_fn *compare)
{
    hierarchy_t *hierarchy = calloc(1, sizeof *hierarchy);
    FTSENT **end, *roots = NULL;
    size_t count = 0;

    if (!hierarchy)
        return NULL;
    hierarchy->head.fts_options = options | OURS | FTS_NOCHDIR;
    hierarchy->compare = compare;
    hierarchy->top.fts_level = FTS_ROOTPARENTLEVEL;
    for (end = &roots; *paths && (*end = entry_make(&hierarchy->top, *paths)); paths++, count++) {
        entry_look(&hierarchy->head, *end, options & FTS_COMFOLLOW);
        end = &(*end)->fts_link;
    }
    if (*paths) {
        entries_free(roots);
        free(hierarchy);
        return NULL;
    }
    hierarchy->head.fts_cur = &hierarchy->top;
    hierarchy->head.fts_child = list_sort(roots, count, compare);
    hierarchy->top.fts_info = FTS_INIT;
    return &hierarchy->head;
}

/* 1: the C library would change the kernel's working directory, and the program's calls go to the one on servers. */
static int changes_directory(int options)
{
    return !(options & (FTS_NOCHDIR | FTS_LOGICAL)) && themis_preload_has_directory_descriptor();
}

/* The C library says itself what is wrong with options or roots. */
EXPORTED FTS *fts_open(char *const *paths, int options, compare_fn *compare)
{
    int any = *paths && changes_directory(options), bad = options & ~FTS_OPTIONMASK;
    themis_preload_path_t where;

    for (char *const *path = paths; *path && !bad; path++) {
        bad = !**path;
        any = any || themis_preload_resolve(AT_FDCWD, *path, &where) == 1;
    }
    return any && !bad ? hierarchy_open(paths, options, compare) : REAL(fts_open)(paths, options, compare);
}

/* Goes into a directory: its first child, or itself for the second time. */
static FTSENT *descend(hierarchy_t *hierarchy, FTSENT *directory, int skips)
{
    FTS *head = &hierarchy->head;

    if (skips || (head->fts_options & FTS_XDEV && directory->fts_dev != head->fts_dev)) {
        entries_free(head->fts_child);
        head->fts_child = NULL;
        directory->fts_info = FTS_DP;
        return directory;
    }
    if (!head->fts_child && !children_read(hierarchy, directory, &head->fts_child)) {
        directory->fts_errno = errno;
        directory->fts_info = FTS_DNR;
        return directory;
    }
    FTSENT *first = head->fts_child;
    head->fts_child = NULL;
    if (!first)
        directory->fts_info = FTS_DP;
    return first ? first : directory;
}

/* What comes after an entry that is done with: its neighbour, or the directory that both are in. */
static FTSENT *advance(FTSENT *entry)
{
    FTSENT *next = entry->fts_link ? entry->fts_link : entry->fts_parent;

    if (next == entry->fts_parent && next->fts_level >= FTS_ROOTLEVEL)
        next->fts_info = FTS_DP;
    free(entry);
    return next;
}

static void follow(const FTS *stream, FTSENT *entry)
{
    entry_look(stream, entry, 1);
    entry->fts_flags |= FTS_SYMFOLLOW;
}

/* What a program has said of an entry that it has seen. 1: it is to see that again. */
static int is_again(const FTS *stream, FTSENT *entry, int instruction)
{
    if (instruction == FTS_AGAIN)
        entry_look(stream, entry, entry->fts_level == FTS_ROOTLEVEL && stream->fts_options & FTS_COMFOLLOW);
    else if (instruction == FTS_FOLLOW && (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE))
        follow(stream, entry);
    else
        return 0;
    return 1;
}

/* The next one; what is skipped before it was seen is left out. */
static FTSENT *next_of(hierarchy_t *hierarchy, FTSENT *entry, int instruction)
{
    FTSENT *next;

    if (entry == &hierarchy->top || entry->fts_info == FTS_D)
        next = descend(hierarchy, entry, instruction == FTS_SKIP);
    else
        next = advance(entry);
    while (next->fts_instr == FTS_SKIP && next->fts_info != FTS_DP && next->fts_info != FTS_DNR &&
           next->fts_level >= FTS_ROOTLEVEL)
        next = advance(next);
    if (next->fts_instr == FTS_FOLLOW) {
        follow(&hierarchy->head, next);
        next->fts_instr = FTS_NOINSTR;
    }
    return next;
}

EXPORTED FTSENT *fts_read(FTS *stream)
{
    hierarchy_t *hierarchy = (hierarchy_t *)stream;
    FTSENT *entry = stream->fts_cur;

    if (!is_ours(stream))
        return REAL(fts_read)(stream);
    const int instruction = entry ? entry->fts_instr : FTS_NOINSTR;
    if (entry)
        entry->fts_instr = FTS_NOINSTR;
    if (entry && !is_again(stream, entry, instruction))
        entry = next_of(hierarchy, entry, instruction);
    if (entry == &hierarchy->top) /* again: the end */
        entry = NULL;
    if (entry && entry->fts_level == FTS_ROOTLEVEL)
        stream->fts_dev = entry->fts_dev;
    stream->fts_cur = entry;
    stream->fts_path = entry ? entry->fts_path : NULL;
    errno = entry ? errno : 0;
    return entry;
}

EXPORTED FTSENT *fts_children(FTS *stream, int options)
{
    hierarchy_t *hierarchy = (hierarchy_t *)stream;
    FTSENT *entry = stream->fts_cur;

    if (!is_ours(stream))
        return REAL(fts_children)(stream, options);
    errno = options == 0 || options == FTS_NAMEONLY ? 0 : EINVAL;
    if (errno || !entry || (entry != &hierarchy->top && entry->fts_info != FTS_D))
        return NULL;
    if (entry != &hierarchy->top && !stream->fts_child && !children_read(hierarchy, entry, &stream->fts_child))
        return NULL;
    return stream->fts_child;
}

EXPORTED int fts_set(FTS *stream, FTSENT *entry, int instruction)
{
    if (!is_ours(stream))
        return REAL(fts_set)(stream, entry, instruction);
    if (instruction < 0 || instruction > FTS_SKIP) {
        errno = EINVAL;
        return 1; /* as the C library's */
    }
    entry->fts_instr = (unsigned short)instruction;
    return 0;
}

EXPORTED int fts_close(FTS *stream)
{
    hierarchy_t *hierarchy = (hierarchy_t *)stream;

    if (!is_ours(stream))
        return REAL(fts_close)(stream);
    entries_free(stream->fts_child);
    for (FTSENT *entry = stream->fts_cur; entry && entry != &hierarchy->top;) {
        FTSENT *above = entry->fts_parent;
        entries_free(entry); /* and what comes after it */
        entry = above;
    }
    free(hierarchy);
    return 0;
}

_Static_assert(sizeof(FTSENT) == sizeof(FTSENT64), "one structure serves both");
EXPORTED FTS64 *fts64_open(char *const *paths, int options, int (*compare)(const FTSENT64 **, const FTSENT64 **))
{
    return (FTS64 *)fts_open(paths, options, (compare_fn *)(void *)compare);
}

EXPORTED FTSENT64 *fts64_read(FTS64 *stream)
{
    return (FTSENT64 *)fts_read((FTS *)stream);
}

EXPORTED FTSENT64 *fts64_children(FTS64 *stream, int options)
{
    return (FTSENT64 *)fts_children((FTS *)stream, options);
}

EXPORTED int fts64_set(FTS64 *stream, FTSENT64 *entry, int instruction)
{
    return fts_set((FTS *)stream, (FTSENT *)entry, instruction);
}

EXPORTED int fts64_close(FTS64 *stream)
{
    return fts_close((FTS *)stream);
}
