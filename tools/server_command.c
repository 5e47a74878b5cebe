/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/server_command.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/memory_limit.h"

enum { MIN_KIB = 65536, MAX_WARM_KIB = 262144 };

/* Half of the free memory, or of what a cgroup leaves, divided among all; pages are allocated as they are used. */
static unsigned long long default_kib(int count)
{
    int cgroup;
    unsigned long long kib = 0, limit = themis_util_memory_limit("", &cgroup) / 1024;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "re");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    kib = (kib < limit ? kib : limit) / 2 / (unsigned)count;
    return (kib > MIN_KIB ? kib : MIN_KIB) & ~3ull;
}

void themis_tools_server_command_add(themis_tools_server_command_t *command, const char *option, const char *value)
{
    const char *both[] = {option, value};

    for (int i = 0; i < 2 && both[i]; i++) {
        command->arguments[command->count] = strdup(both[i]);
        command->failed |= !command->arguments[command->count++];
    }
}

/* Without a size given: what is touched ahead of use is little enough for a hundred commands at a time. */
static void size_add(const themis_tools_local_servers_options_t *options, themis_tools_server_command_t *command)
{
    char text[32];

    if (options->size) {
        themis_tools_server_command_add(command, "--size", options->size);
        return;
    }
    unsigned long long kib = default_kib(options->count), warm = kib / 96 & ~3ull;
    snprintf(text, sizeof text, "%lluk", kib);
    themis_tools_server_command_add(command, "--size", text);
    snprintf(text, sizeof text, "%lluk", warm < MAX_WARM_KIB ? warm : MAX_WARM_KIB);
    if (!options->keep)
        themis_tools_server_command_add(command, "--warm", text);
}

/* "key=value" or "key", of `length` bytes. */
static void setting_add(themis_tools_server_command_t *command, const char *setting, int length)
{
    char *key = strndup(setting, (size_t)length), *value = key ? strchr(key, '=') : NULL, option[256];

    if (value)
        *value++ = '\0';
    snprintf(option, sizeof option, "--%s", key ? key : "");
    themis_tools_server_command_add(command, option, value ? value : "yes");
    command->failed |= !key;
    free(key);
}

static void settings_add(themis_tools_server_command_t *command, const char *setting)
{
    while (setting && *setting) {
        int length = (int)strcspn(setting, ",");
        if (length > 0)
            setting_add(command, setting, length);
        setting += length + (setting[length] == ',');
    }
}

void themis_tools_server_command_build(const themis_tools_local_servers_options_t *options, const char *program,
                                       const char *list, int index, themis_tools_server_command_t *command)
{
    char text[64], address[64];
    const char *at = list;

    *command = (themis_tools_server_command_t){.count = 0};
    for (int i = 0; i < index; i++)
        at = strchr(at, ',') + 1;
    snprintf(address, sizeof address, "%.*s", (int)strcspn(at, ","), at);
    *strchr(address, ':') = '\0';
    themis_tools_server_command_add(command, program, NULL);
    themis_tools_server_command_add(command, "--listen", address);
    themis_tools_server_command_add(command, "--port", address + strlen(address) + 1);
    themis_tools_server_command_add(command, "--servers", list);
    snprintf(text, sizeof text, "%d", index);
    themis_tools_server_command_add(command, "--index", text);
    size_add(options, command);
    themis_tools_server_command_add(command, "--direct", "on");
    themis_tools_server_command_add(command, "--log", options->keep ? "info" : "warn");
    if (options->policy)
        themis_tools_server_command_add(command, "--policy", options->policy);
    /* servers that serve one command only may take the policy that it asks for (the hint themis_policy) */
    if (!options->keep)
        themis_tools_server_command_add(command, "--policies", "any");
    settings_add(command, options->settings);
}

void themis_tools_server_command_free(themis_tools_server_command_t *command)
{
    while (command->count > 0)
        free(command->arguments[--command->count]);
}

void themis_tools_server_command_exec(themis_tools_server_command_t *command)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    unsetenv("LD_PRELOAD");
    unsetenv("NOTIFY_SOCKET"); /* the service is the program that runs this tool */
    execv(command->arguments[0], command->arguments);
    fprintf(stderr, "themis: %s: %s\n", command->arguments[0], strerror(errno));
    _exit(127);
}
