/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin of Slurm: the option --themis[=HOST:PORT,...] of srun and sbatch puts the driver in front of the
 * MPI library of a job's tasks, on the servers of the list or on the configured ones. What task_prolog.sh does for
 * all tasks of a site, this does for those whose user asks for it; and "srun --help" tells of it.
 *
 *   gcc -Wall -Wextra -Werror -fPIC -shared -o spank_themis.so spank_themis.c
 *   plugstack.conf:  optional  /usr/lib/slurm/spank_themis.so  driver=/usr/lib/x86_64-linux-gnu/libthemis-mpiio.so
 */
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>

SPANK_PLUGIN(themis, 1);

enum { LIST_SIZE = 4096 };

static int wanted;
static char servers[LIST_SIZE];

/* list_is_valid: characters of "host:port,..." alone. */
static int list_is_valid(const char *list)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:,-_[]";
    return strlen(list) < sizeof servers && strspn(list, allowed) == strlen(list);
}

static int option_given(int value, const char *list, int remote)
{
    (void)value;
    (void)remote;
    if (list && !list_is_valid(list)) {
        slurm_error("--themis: %s is not a list host:port,...", list);
        return ESPANK_BAD_ARG;
    }
    wanted = 1;
    snprintf(servers, sizeof servers, "%s", list ? list : "");
    return ESPANK_SUCCESS;
}

static struct spank_option option = {
    .name = "themis",
    .arginfo = "host:port,...",
    .usage = "serve themis: files of MPI programs, by these servers or the configured ones",
    .has_arg = 2,
    .cb = option_given,
};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return spank_option_register(spank, &option);
}

static const char *driver_path(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "driver=", 7) == 0)
            return argv[i] + 7;
    return "libthemis-mpiio.so";
}

/* preload: the driver, behind what the task preloads already, such as a profiler. */
static int preload(spank_t spank, const char *driver)
{
    char before[LIST_SIZE] = "", after[2 * LIST_SIZE];
    if (spank_getenv(spank, "LD_PRELOAD", before, sizeof before) == ESPANK_NOSPACE)
        return ESPANK_NOSPACE;
    if (strstr(before, driver))
        return ESPANK_SUCCESS;
    if (snprintf(after, sizeof after, "%s%s%s", before, *before ? ":" : "", driver) >= (int)sizeof after)
        return ESPANK_NOSPACE;
    return spank_setenv(spank, "LD_PRELOAD", after, 1);
}

/* In each task, as its user, before the program begins. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    if (!wanted)
        return ESPANK_SUCCESS;
    int status = preload(spank, driver_path(argc, argv));
    if (status == ESPANK_SUCCESS && *servers)
        status = spank_setenv(spank, "THEMIS_SERVERS", servers, 1);
    if (status != ESPANK_SUCCESS)
        slurm_error("themis: the task's environment: %s", spank_strerror((spank_err_t)status));
    return status;
}
