/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accepted sockets whose peers have not said yet, or not shown, who they are. There is room for so many of all and so
 * many of one user or host, of whom the oldest gives way to a new one: so nobody fills the room for others, and nobody
 * who speaks at once is driven out by those who do not.
 */
#pragma once
#include <stdint.h>

typedef struct themis_net_silent {
    int fd;         /* -1: free */
    int held;       /* 1: does not give way */
    uint64_t who;   /* user or host */
    uint64_t since; /* ns */
} themis_net_silent_t;

/* `sockets`: borrowed, with room for `count`. */
typedef struct themis_net_silents {
    themis_net_silent_t *sockets;
    unsigned count, max_of_one;
} themis_net_silents_t;

/* All are free. */
void themis_net_silents_init(themis_net_silents_t *silents, themis_net_silent_t *sockets, unsigned count,
                             unsigned max_of_one);
void themis_net_silents_close(themis_net_silents_t *silents);
/* Closes the socket, if there is one. */
void themis_net_silent_drop(themis_net_silent_t *silent);
/* A free place for one more of `who`, for which another may be dropped; -1: there is none. */
int themis_net_silents_place(themis_net_silents_t *silents, uint64_t who);
/* Drops those that came before `before`, except those held; returns how many there still are. */
unsigned themis_net_silents_expire(themis_net_silents_t *silents, uint64_t before);
