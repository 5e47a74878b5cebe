/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/net/munged.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "net/auth.h"

static int key_write(const char *path)
{
    unsigned char key[128];
    FILE *file = fopen(path, "we");
    int done = file != NULL && getrandom(key, sizeof key, 0) == sizeof key && fchmod(fileno(file), 0600) == 0 &&
               fwrite(key, 1, sizeof key, file) == sizeof key;

    return file != NULL && fclose(file) == 0 && done;
}

static void munged_exec(const test_munged_t *munged)
{
    char words[5][160];
    static const char *const names[] = {"socket", "key-file", "pid-file", "seed-file", "log-file"};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 5; i++)
        snprintf(words[i], sizeof words[i], "--%s=%s/%s", names[i], munged->directory, i == 0 ? "socket" : names[i]);
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    execl("/usr/sbin/munged", "munged", "--foreground", "--force", words[0], words[1], words[2], words[3], words[4],
          (char *)NULL);
    _exit(127);
}

const char *test_munged_start(test_munged_t *munged)
{
    char key[96];

    *munged = (test_munged_t){.directory = "/tmp/themis-munge-XXXXXX"};
    if (!themis_net_auth_has_munge())
        return "built without MUNGE";
    if (geteuid() != 0)
        return "only root can start a munged that knows other users";
    if (access("/usr/sbin/munged", X_OK) != 0)
        return "munged is not installed";
    if (mkdtemp(munged->directory) == NULL || chmod(munged->directory, 0755) != 0)
        return "no directory";
    snprintf(key, sizeof key, "%s/key-file", munged->directory);
    snprintf(munged->socket, sizeof munged->socket, "%s/socket", munged->directory);
    if (!key_write(key))
        return "no key";
    munged->pid = fork();
    if (munged->pid == 0)
        munged_exec(munged);
    for (int i = 0; i < 600 && access(munged->socket, F_OK) != 0; i++) {
        if (waitpid(munged->pid, NULL, WNOHANG) != 0)
            return munged->pid = 0, "munged does not start";
        usleep(50000);
    }
    return NULL;
}

void test_munged_end(test_munged_t *munged)
{
    char command[128];

    if (munged->pid > 0) {
        kill(munged->pid, SIGTERM);
        waitpid(munged->pid, NULL, 0);
    }
    munged->pid = 0;
    snprintf(command, sizeof command, "rm -rf %s", munged->directory);
    if (strstr(munged->directory, "XXXXXX") == NULL && system(command) != 0)
        fprintf(stderr, "%s stays\n", munged->directory);
}
