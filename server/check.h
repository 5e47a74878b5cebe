/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `themis check` asks a server, and has it mend (CHECK). Question and answer are text; answers have one line for
 * each thing, with words between blanks and numbers in decimal. In paths, bytes that are no printable ASCII, blanks and
 * '%' are written as %XX.
 *
 *   names [PATH]              TYPE ID GENERATION COUNT FIRST STRIPE PATH of names, by path, after PATH
 *   entries [DIRECTORY NAME]  DIRECTORY NAME of entries, in order, after that one
 *   objects I N               ID END MODIFIED of the objects in slice I of N (themis_store_list)
 *   intents                   how many are open, and how many of these have failed at least once
 *   destroy ID                removes an object
 *   unname PATH ID GENERATION removes the name of a file, which another name of the same object makes superfluous
 *   list DIRECTORY NAME TYPE  adds an entry
 *   unlist PATH               removes the entry of a name that does not exist, unless it was added not long ago
 *
 * An empty answer to the first two: there is no more.
 */
#pragma once
#include "server/request.h"

/* Serves CHECK, and replies. For administrators. */
void themis_server_check_serve(themis_server_request_t *request);
