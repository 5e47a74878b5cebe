/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are removed or replaced while they are open here. Servers free the bytes of a file with its name, so such
 * a file is renamed to a name in its directory that begins with THEMIS_POSIX_HIDDEN, and that is removed at the last
 * close. This file system shows no such name as long as it is its own; those of other processes are names like others.
 */
#pragma once
#include "posix/claim.h"

#define THEMIS_POSIX_HIDDEN ".themis_hidden_"

/* Hides the file of a name that is claimed exclusively, if it is open. *node: it, with a reference that the caller
 * gets; NULL: there is nothing to hide, or it may not be renamed (as it is another user's). */
int themis_posix_hide(themis_posix_t *filesystem, const themis_posix_claim_t *claim, themis_posix_node_t **node);

/* Gives it its name back, of which the claim is still held. If that fails, the file stays under the other name, which
 * is shown from then on. */
void themis_posix_unhide(themis_posix_t *filesystem, const themis_posix_claim_t *claim, themis_posix_node_t *node);

/* Removes the file if it is hidden and no longer open. Without a claim. */
void themis_posix_hidden_remove(themis_posix_t *filesystem, themis_posix_node_t *node);

/* Removes all hidden files, open or not: the end of the file system. Stops when a server cannot be reached, and logs
 * what is left. */
void themis_posix_hidden_remove_all(themis_posix_t *filesystem);

/* Moves the hidden files of a directory to the one above it, as nothing else may keep it from being removed. Returns
 * how many. */
int themis_posix_hidden_move_up(themis_posix_t *filesystem, themis_posix_node_t *directory);
