/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs of cases have in common: PROGRAM CASE DIRECTORY runs one of them in an empty directory. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));                       \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void put(const char *name, const char *text)
{
    const int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static inline int holds(const char *name, const char *text)
{
    char found[4096] = "";
    const int fd = open(name, O_RDONLY);
    const ssize_t length = fd < 0 ? -1 : read(fd, found, sizeof found - 1);

    if (fd >= 0)
        close(fd);
    if (length == (ssize_t)strlen(text) && memcmp(found, text, (size_t)length) == 0)
        return 1;
    fprintf(stderr, "%s has '%s', not '%s'\n", name, found, text);
    return 0;
}

static inline int ended_well(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

typedef struct test_case {
    const char *name;
    void (*function)(void);
} test_case_t;

/* The status of the program. */
static inline int cases_run(int argc, char **argv, const test_case_t *cases, size_t count)
{
    if (argc < 3 || chdir(argv[2]) != 0) {
        fprintf(stderr, "%s CASE DIRECTORY: %s\n", argv[0], strerror(errno));
        return 2;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].function();
            return 0;
        }
    return 2;
}
