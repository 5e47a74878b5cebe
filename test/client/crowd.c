/* SPDX-License-Identifier: BSD-3-Clause */
/* Many clients in one process: crowd NUMBER. Connects that many, 2 to 400, or until a server refuses one; the first
 * client must keep being served, and when the others have disconnected a new one must be accepted. Prints how many were
 * connected, and why it stopped before NUMBER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <themis/themis.h>

enum { MAX_CLIENTS = 400 };

static int is_served(themis_t *session)
{
    char text[8] = "";
    themis_file_t *file;
    size_t done;
    int good;

    if (themis_open(session, "/crowd", THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, NULL, &file) !=
        THEMIS_OK)
        return 0;
    good = themis_write(file, "written", 7, 0, &done) == THEMIS_OK &&
           themis_read(file, text, 7, 0, &done) == THEMIS_OK && strcmp(text, "written") == 0;
    themis_close(file);
    return good;
}

int main(int argc, char **argv)
{
    static themis_t *sessions[MAX_CLIENTS];
    int wanted = argc == 2 ? atoi(argv[1]) : 0, count = 0;

    while (count < wanted && count < MAX_CLIENTS && themis_connect(NULL, &sessions[count]) == THEMIS_OK) {
        if (!is_served(sessions[0])) {
            fprintf(stderr, "with %d clients: %s\n", count + 1, themis_last_error());
            return 1;
        }
        count++;
    }
    printf("%d\n%s\n", count, count < wanted ? themis_last_error() : "");
    if (count == 0 || !is_served(sessions[0])) {
        fprintf(stderr, "with all clients: %s\n", themis_last_error());
        return 1;
    }
    for (int i = 1; i < count; i++)
        themis_disconnect(sessions[i]);
    for (int tries = 0; count > 1 && themis_connect(NULL, &sessions[1]) != THEMIS_OK; tries++)
        if (tries == 5) {
            fprintf(stderr, "a new client was refused: %s\n", themis_last_error());
            return 1;
        }
    return is_served(sessions[1]) && is_served(sessions[0]) ? 0 : 1;
}
