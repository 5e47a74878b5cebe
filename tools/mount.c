/* SPDX-License-Identifier: BSD-3-Clause */
/* themis mount: the files on the servers as a directory of this host. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mount/mountpoint.h"
#include "tools/command.h"
#include "tools/options.h"
#include "tools/sessions.h"
#if THEMIS_FUSE
#include "mount/mount.h"
#endif

#if THEMIS_FUSE
typedef struct mounting {
    const char *servers, *log;
    char path[PATH_MAX];
    themis_mount_settings_t settings;
    int foreground;
    int pipe; /* to the process that waits in the background's stead; -1: none */
} mounting_t;

/* Programs can use the mount: what is left of the terminal is given up. */
static void on_ready(void *arg)
{
    const mounting_t *mounting = arg;
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int log = mounting->log ? open(mounting->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

    if (mounting->log && log < 0)
        themis_tools_error_errno(mounting->log);
    if (log >= 0)
        dup2(log, STDERR_FILENO);
    if (mounting->pipe >= 0) {
        dup2(null, STDOUT_FILENO);
        if (log < 0)
            dup2(null, STDERR_FILENO);
        while (write(mounting->pipe, "", 1) < 0 && errno == EINTR)
            ;
        close(mounting->pipe);
    }
    close(null);
    if (log >= 0)
        close(log);
}

static int mount_serve(mounting_t *mounting)
{
    char *list = themis_tools_session_list(mounting->servers);
    themis_mount_error_t error;
    themis_mount_end_t end = themis_mount_serve(list ? list : mounting->servers, mounting->path, &mounting->settings,
                                                on_ready, mounting, &error);

    free(list);
    if (end == THEMIS_MOUNT_STUCK)
        _exit(THEMIS_TOOLS_OK); /* threads still use what would be freed */
    return end == THEMIS_MOUNT_FAILED ? themis_tools_error("%s", error.text) : THEMIS_TOOLS_OK;
}

/* Until the child can be used, or has ended with an error. */
static int child_await(pid_t child, int from)
{
    char byte;
    ssize_t got;
    int status = 0;

    while ((got = read(from, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got == 1)
        return THEMIS_TOOLS_OK;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
                                                    : themis_tools_error("the process that serves the mount ended");
}

/* In a child, which connects by itself: sessions do not outlive a fork. */
static int mount_detached(mounting_t *mounting)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return themis_tools_error_errno("pipe");
    const pid_t child = fork();
    if (child < 0)
        return themis_tools_error_errno("fork");
    close(ends[child == 0 ? 0 : 1]);
    if (child > 0)
        return child_await(child, ends[0]);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    mounting->pipe = ends[1];
    setsid();
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    if (chdir("/") != 0)
        themis_tools_error_errno("/");
    return mount_serve(mounting);
}

/* A relative name of the log would mean another file after a change of directory. */
static int log_resolve(mounting_t *mounting, char path[PATH_MAX])
{
    if (!mounting->log)
        return THEMIS_TOOLS_OK;
    const int fd = open(mounting->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || !realpath(mounting->log, path))
        return themis_tools_error_errno(mounting->log);
    close(fd);
    mounting->log = path;
    return THEMIS_TOOLS_OK;
}

static int mount_at(mounting_t *mounting, const char *directory)
{
    char error[PATH_MAX + 256], log[PATH_MAX];

    if (themis_mount_mountpoint_resolve(directory, mounting->path, error, sizeof error) != THEMIS_OK ||
        themis_mount_mountpoint_check(mounting->path, error, sizeof error) != THEMIS_OK)
        return themis_tools_error("%s", error);
    if (log_resolve(mounting, log) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    return mounting->foreground ? mount_serve(mounting) : mount_detached(mounting);
}

static int run_mount(int argc, char **argv)
{
    mounting_t mounting = {.pipe = -1};
    themis_tools_texts_t fuse = {{0}, 0};
    const themis_tools_option_t options[] = {{.letter = 'f', .name = "foreground", .flag = &mounting.foreground},
                                             {.letter = 's', .name = "servers", .text = &mounting.servers},
                                             {.letter = 'o', .name = "options", .texts = &fuse},
                                             {.name = "log", .text = &mounting.log},
                                             {0}};
    char error[512];
    int at = themis_tools_options(argc, argv, options), result;

    if (at < 0 || argc - at != 1)
        return themis_tools_usage();
    if (themis_mount_settings_parse(fuse.texts, fuse.count, &mounting.settings, error, sizeof error) == THEMIS_OK)
        result = mount_at(&mounting, argv[at]);
    else
        result = themis_tools_misuse("%s", error);
    themis_mount_settings_free(&mounting.settings);
    return result;
}
#else
static int run_mount(int argc, char **argv)
{
    return themis_tools_error("this installation of Themis was built without FUSE; on Debian, install the package "
                              "libfuse3-dev and build it again");
}
#endif

const themis_tools_command_t themis_tools_mount = {
    "mount",
    "[-f] [-s HOST:PORT,...] [-o OPTION[,OPTION...]] [--log FILE] DIR",
    "Shows the files on the servers as a directory of this host (FUSE).",
    "  -f                     stays in the foreground\n"
    "  -s                     the servers, instead of those that are configured\n"
    "  -o allow_other         for all users, whose rights the kernel checks; root only\n"
    "  -o cache               file data go through the page cache: faster for small reads and needed\n"
    "                         for shared maps; others' writes are seen when the file is opened\n"
    "  -o attr_timeout=S      attributes of files are believed for S seconds, 0 without it\n"
    "  -o entry_timeout=S     and their names, 0 without it\n"
    "  -o directory_timeout=S both, of directories, 1 without it\n"
    "  -o timeout=TIME        how long an unreachable server is waited for, as 10s\n"
    "  -o ro, nosuid, ...     as of mount(8)\n"
    "  --log FILE             gets the messages, which are lost without it or -f\n",
    run_mount,
    THEMIS_TOOLS_PATTERNS_NONE};

static int run_umount(int argc, char **argv)
{
    int lazy = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{.letter = 'l', .name = "lazy", .flag = &lazy}, {0}};
    int at = themis_tools_options(argc, argv, options);
    char path[PATH_MAX], error[2 * PATH_MAX + 256];

    if (at < 0 || at == argc)
        return themis_tools_usage();
    for (; at < argc; at++)
        if (themis_mount_mountpoint_resolve(argv[at], path, error, sizeof error) != THEMIS_OK ||
            themis_mount_mountpoint_unmount(path, lazy, error, sizeof error) != THEMIS_OK)
            result = themis_tools_error("%s", error);
    return result;
}

const themis_tools_command_t themis_tools_umount = {
    "umount",
    "[-l] DIR...",
    "Ends what 'themis mount' began, also without servers.",
    "  -l   at once, and for programs that use it when they have ended\n",
    run_umount,
    THEMIS_TOOLS_PATTERNS_NONE};
