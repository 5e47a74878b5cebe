/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `themis check` asks a server, and has it mend (CHECK). Question and answer are text; answers have one line for
 * each thing, with words between single blanks and numbers in decimal. Paths are escaped (util/escape.h).
 *
 *   names [PATH]              TYPE ID GENERATION COUNT FIRST STRIPE PATH of names, by path, after PATH
 *   name PATH                 the same of that name, or nothing
 *   entries [DIRECTORY NAME]  TYPE DIRECTORY NAME of entries, in order, after that one
 *   objects [POSITION]        ID END MODIFIED of objects, and in a last line where to go on (themis_store_list)
 *   intents                   OPEN FAILING MOVES INCARNATION CLOCK FIRST: how many intents are open, how many of these
 *                             have failed at least once, how many moves there were (intents.h), the server's process,
 *                             its time (ns since 1970) and its database's first id
 *   moved MOVES               ID of objects that have got a name again since then, or may get one as a rename is taken
 *                             back. THEMIS_RANGE: there are too many
 *   destroy ID MODIFIED       removes an object; THEMIS_BUSY: it has changed since
 *   unname PATH ID GENERATION removes the name of a file, which another name of the same object makes superfluous
 *   list DIRECTORY NAME TYPE  adds an entry
 *   unlist PATH SEEN          removes the entry of a name that did not exist at the time SEEN (ns since 1970, of this
 *                             server); THEMIS_BUSY: it was added since or not long before
 *
 * An empty answer to `names` and `entries`: there is no more.
 */
#pragma once
#include "server/request.h"

/* Serves CHECK, and replies. For administrators. */
void themis_server_check_serve(themis_server_request_t *request);
