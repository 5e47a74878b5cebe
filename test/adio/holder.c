/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds a lock as another client: holder PATH OFFSET LENGTH SECONDS. Prints "held" when it has the lock. */
#include <stdio.h>
#include <stdlib.h>
#include <themis/themis.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    themis_t *session;
    themis_file_t *file;

    if (argc != 5 || themis_connect(NULL, &session) != THEMIS_OK ||
        themis_open(session, argv[1], THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, NULL, &file) !=
            THEMIS_OK ||
        themis_lock(file, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), THEMIS_LOCK_EXCLUSIVE) !=
            THEMIS_OK) {
        fprintf(stderr, "%s\n", themis_last_error());
        return 1;
    }
    puts("held");
    fflush(stdout);
    sleep((unsigned)atoi(argv[4]));
    themis_close(file);
    themis_disconnect(session);
    return 0;
}
