/* SPDX-License-Identifier: BSD-3-Clause */
/* The list that `themis start` leaves for `themis stop`: the file "servers" in the directory of the servers' logs. */
#pragma once
#include <stddef.h>

/* The directory if none is given: $XDG_RUNTIME_DIR/themis or /tmp/themis-UID. */
void themis_tools_server_list_directory(char *path, size_t size);

/* Prints its errors. */
int themis_tools_server_list_write(const char *directory, const char *list);
/* 1 and the list, if servers were started with this directory. */
int themis_tools_server_list_read(const char *directory, char *list, size_t size);
/* 1: a directory of this user's, no link, in which nobody else can make files. */
int themis_tools_server_list_is_private(const char *directory);
/* 1 and the list of the default directory, which another user cannot have written. */
int themis_tools_server_list_started(char *list, size_t size);
/* 1 if each server of such a list, "127.0.0.1:port,...", accepts a connection. */
int themis_tools_server_list_answers(const char *list);
void themis_tools_server_list_remove(const char *directory);
