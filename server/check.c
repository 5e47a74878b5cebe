/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/check.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/access.h"
#include "server/name_record.h"
#include "server/object_requests.h"
#include "server/reply.h"
#include "util/clock.h"
#include "util/escape.h"

enum { ANSWER_BYTES = 512 << 10, LINE_BYTES = 4 * THEMIS_PROTO_MAX_PATH, MAX_WORDS = 4 };
/* All lines of these fit into an answer. */
enum { MAX_OBJECTS = 1 << 12, MAX_MOVED = 1 << 14 };

/* --- text --------------------------------------------------------------------------------------------------------- */

typedef struct answer {
    char *text;
    size_t length; /* below ANSWER_BYTES, after which one more line fits */
} answer_t;

static void path_append(answer_t *answer, const char *bytes, size_t length)
{
    answer->length += themis_util_escape(bytes, length, answer->text + answer->length);
}

__attribute__((format(printf, 2, 3))) static void text_append(answer_t *answer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    answer->length += (size_t)vsnprintf(answer->text + answer->length, LINE_BYTES, format, arguments);
    va_end(arguments);
}

/* In place; 0: it is no path. */
static int path_decode(char *word, themis_proto_text_t *path)
{
    *path = (themis_proto_text_t){word, (uint32_t)themis_util_escape_undo(word, word)};
    return path->length > 0 && path->length <= THEMIS_PROTO_MAX_PATH;
}

/* 0: it is no number. */
static int number_decode(const char *word, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(word, &end, 10);
    return *word >= '0' && *word <= '9' && !*end && errno == 0;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

typedef struct record_key {
    size_t length;
    char bytes[2 * THEMIS_PROTO_MAX_PATH + 4];
} record_key_t;

static void key_append(record_key_t *key, const void *bytes, size_t length)
{
    memcpy(key->bytes + key->length, bytes, length);
    key->length += length;
}

static themis_status_t name_show(void *arg, const themis_server_name_db_record_t *record)
{
    answer_t *answer = arg;
    themis_proto_attr_t attr;
    themis_status_t status = themis_server_name_record_attr(record->value, record->value_length, &attr);

    if (status != THEMIS_OK)
        return status;
    if (answer->length >= ANSWER_BYTES)
        return THEMIS_IN_PROGRESS;
    text_append(answer, "%d %" PRIu64 " %" PRIu64 " %u %u %" PRIu64 " ", (int)attr.type, attr.id, attr.generation,
                attr.layout.count, attr.layout.first, attr.layout.stripe_size);
    path_append(answer, (const char *)record->key + 1, record->key_length - 1);
    answer->text[answer->length++] = '\n';
    return THEMIS_OK;
}

static themis_status_t entry_show(void *arg, const themis_server_name_db_record_t *record)
{
    answer_t *answer = arg;
    const char *directory = (const char *)record->key + 1, *end = memchr(directory, 0, record->key_length - 1);

    if (!end)
        return THEMIS_CORRUPT;
    if (answer->length >= ANSWER_BYTES)
        return THEMIS_IN_PROGRESS;
    int type = record->value_length ? *(const char *)record->value : THEMIS_PROTO_FILE;
    /* what else old databases have is a file, as in listings */
    text_append(answer, "%d ",
                type == THEMIS_PROTO_DIRECTORY || type == THEMIS_PROTO_SYMLINK ? type : THEMIS_PROTO_FILE);
    path_append(answer, directory, (size_t)(end - directory));
    answer->text[answer->length++] = ' ';
    path_append(answer, end + 1, record->key_length - 2 - (size_t)(end - directory));
    answer->text[answer->length++] = '\n';
    return THEMIS_OK;
}

static themis_status_t records_show(themis_server_t *server, const record_key_t *after,
                                    themis_server_name_db_each_fn show, answer_t *answer)
{
    themis_status_t status = themis_server_name_db_scan_from(
        themis_server_namespace_any_db(server->names), after->bytes[0], after->bytes, after->length, show, answer);

    return status == THEMIS_IN_PROGRESS ? THEMIS_OK : status;
}

static themis_status_t names_list(themis_server_t *server, char **words, int count, answer_t *answer)
{
    record_key_t key = {1, {THEMIS_SERVER_NAME_DB_NAME}};
    themis_proto_text_t path;

    if (count > 2)
        return THEMIS_INVALID;
    if (count == 2) {
        if (!path_decode(words[1], &path))
            return THEMIS_INVALID;
        key_append(&key, path.bytes, path.length);
        key_append(&key, "", 1);
    }
    return records_show(server, &key, name_show, answer);
}

typedef struct wanted_name {
    const record_key_t *key;
    answer_t *answer;
} wanted_name_t;

static themis_status_t name_show_wanted(void *arg, const themis_server_name_db_record_t *record)
{
    const wanted_name_t *wanted = arg;

    if (record->key_length != wanted->key->length || memcmp(record->key, wanted->key->bytes, record->key_length) != 0)
        return THEMIS_IN_PROGRESS;
    themis_status_t status = name_show(wanted->answer, record);
    return status == THEMIS_OK ? THEMIS_IN_PROGRESS : status;
}

static themis_status_t name_find(themis_server_t *server, char **words, int count, answer_t *answer)
{
    record_key_t key = {1, {THEMIS_SERVER_NAME_DB_NAME}};
    wanted_name_t wanted = {&key, answer};
    themis_proto_text_t path;

    if (count != 2 || !path_decode(words[1], &path))
        return THEMIS_INVALID;
    key_append(&key, path.bytes, path.length);
    themis_status_t status = themis_server_name_db_scan_from(
        themis_server_namespace_any_db(server->names), key.bytes[0], key.bytes, key.length, name_show_wanted, &wanted);
    return status == THEMIS_IN_PROGRESS ? THEMIS_OK : status;
}

static themis_status_t entries_list(themis_server_t *server, char **words, int count, answer_t *answer)
{
    record_key_t key = {1, {THEMIS_SERVER_NAME_DB_ENTRY}};
    themis_proto_text_t directory, name;

    if (count != 1 && count != 3)
        return THEMIS_INVALID;
    if (count == 3) {
        if (!path_decode(words[1], &directory) || !path_decode(words[2], &name))
            return THEMIS_INVALID;
        key_append(&key, directory.bytes, directory.length);
        key_append(&key, "", 1);
        key_append(&key, name.bytes, name.length);
        key_append(&key, "", 1);
    }
    return records_show(server, &key, entry_show, answer);
}

static themis_status_t objects_list(themis_server_t *server, char **words, int count, answer_t *answer)
{
    uint64_t position = 0;
    size_t found = 0;

    if (count > 2 || (count == 2 && !number_decode(words[1], &position)))
        return THEMIS_INVALID;
    themis_store_listed_t *objects = malloc(MAX_OBJECTS * sizeof *objects);
    if (!objects)
        return THEMIS_NO_MEMORY;
    themis_status_t status = themis_store_list(server->store, &position, objects, MAX_OBJECTS, &found);
    for (size_t i = 0; i < found; i++)
        text_append(answer, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", objects[i].id, objects[i].end,
                    objects[i].modified);
    text_append(answer, "%" PRIu64 "\n", position);
    free(objects);
    return status;
}

static themis_status_t intents_count(themis_server_t *server, char **words, int count, answer_t *answer)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(server->names);
    uint64_t open, failing;

    (void)words;
    if (count != 1)
        return THEMIS_INVALID;
    themis_server_intents_count(intents, &open, &failing);
    text_append(answer, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", open, failing,
                themis_server_intents_moves(intents), server->incarnation, themis_util_clock_wall(),
                themis_server_name_db_first_id(themis_server_namespace_any_db(server->names)));
    return THEMIS_OK;
}

static themis_status_t moved_list(themis_server_t *server, char **words, int count, answer_t *answer)
{
    uint64_t since;
    size_t found = 0;

    if (count != 2 || !number_decode(words[1], &since))
        return THEMIS_INVALID;
    uint64_t *objects = malloc(MAX_MOVED * sizeof *objects);
    if (!objects)
        return THEMIS_NO_MEMORY;
    themis_status_t status =
        themis_server_intents_moved(themis_server_namespace_intents(server->names), since, objects, MAX_MOVED, &found);
    for (size_t i = 0; i < found; i++)
        text_append(answer, "%" PRIu64 "\n", objects[i]);
    free(objects);
    return status;
}

/* --- repair ------------------------------------------------------------------------------------------------------- */

static const themis_sched_job_identity_t superuser; /* uid 0 */

static themis_status_t object_destroy(themis_server_t *server, char **words, int count, answer_t *answer)
{
    themis_store_object_t *object;
    themis_store_size_t size;
    uint64_t id, modified;

    (void)answer;
    if (count != 3 || !number_decode(words[1], &id) || id == 0 || !number_decode(words[2], &modified))
        return THEMIS_INVALID;
    themis_status_t status = themis_store_open(server->store, id, 0, THEMIS_STORE_COMMON, &object);
    if (status != THEMIS_OK)
        return status == THEMIS_NO_ENTRY ? THEMIS_OK : status;
    status = themis_store_size(server->store, object, &size);
    themis_store_close(server->store, object);
    if (status == THEMIS_OK && size.modified != modified)
        status = THEMIS_BUSY;
    return status == THEMIS_OK ? themis_server_object_requests_remove(server, id) : status;
}

/* REMOVE as of a name that was renamed, so that the bytes stay; of a file, as other names say nothing of bytes. */
static themis_status_t name_remove(themis_server_t *server, char **words, int count, answer_t *answer)
{
    themis_proto_body_t body = {.remove = {.type = THEMIS_PROTO_FILE, .renamed = {"/", 1}}};
    themis_proto_attr_t attr;

    (void)answer;
    if (count != 4 || !path_decode(words[1], &body.remove.path) || !number_decode(words[2], &body.remove.object) ||
        !number_decode(words[3], &body.remove.generation))
        return THEMIS_INVALID;
    const themis_proto_body_t look = {.lookup = {.path = body.remove.path}};
    themis_status_t status =
        themis_server_namespace_serve(server->names, &superuser, THEMIS_OP_LOOKUP, &look, NULL, &attr);
    if (status != THEMIS_OK || attr.type != THEMIS_PROTO_FILE)
        return status == THEMIS_OK ? THEMIS_INVALID : status;
    return themis_server_namespace_serve(server->names, &superuser, THEMIS_OP_REMOVE, &body, NULL, &attr);
}

static themis_status_t entry_add(themis_server_t *server, char **words, int count, answer_t *answer)
{
    themis_proto_body_t body = {.entry = {.type = THEMIS_PROTO_FILE}};
    themis_proto_attr_t attr;
    uint64_t type;

    (void)answer;
    if (count != 4 || !path_decode(words[1], &body.entry.directory) || !path_decode(words[2], &body.entry.name) ||
        !number_decode(words[3], &type) || type < THEMIS_PROTO_FILE || type > THEMIS_PROTO_SYMLINK)
        return THEMIS_INVALID;
    body.entry.type = (themis_proto_type_t)type;
    return themis_server_namespace_serve(server->names, &superuser, THEMIS_OP_ENTRY_ADD, &body, NULL, &attr);
}

static themis_status_t entry_remove(themis_server_t *server, char **words, int count, answer_t *answer)
{
    themis_proto_text_t path;
    uint64_t seen;

    (void)answer;
    return count == 3 && path_decode(words[1], &path) && number_decode(words[2], &seen)
               ? themis_server_namespace_settle_entry(server->names, &path, seen)
               : THEMIS_INVALID;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

typedef struct question {
    const char *word;
    themis_status_t (*answer)(themis_server_t *server, char **words, int count, answer_t *answer);
} question_t;

static const question_t questions[] = {
    {"names", names_list},      {"name", name_find},     {"entries", entries_list},   {"objects", objects_list},
    {"intents", intents_count}, {"moved", moved_list},   {"destroy", object_destroy}, {"unname", name_remove},
    {"list", entry_add},        {"unlist", entry_remove}};

static themis_status_t question_answer(themis_server_t *server, char *text, answer_t *answer)
{
    char *words[MAX_WORDS + 1] = {NULL}, *rest = NULL;
    int count = 0;

    for (char *word = strtok_r(text, " ", &rest); word && count <= MAX_WORDS; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    for (size_t i = 0; count > 0 && count <= MAX_WORDS && i < sizeof questions / sizeof *questions; i++)
        if (strcmp(words[0], questions[i].word) == 0)
            return questions[i].answer(server, words, count, answer);
    return THEMIS_INVALID;
}

void themis_server_check_serve(themis_server_request_t *request)
{
    const themis_proto_text_t *asked = &request->body.text.text;
    answer_t answer = {.text = malloc(ANSWER_BYTES + LINE_BYTES)};
    char *text = asked->length ? strndup(asked->bytes, asked->length) : strdup("");
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    if (status == THEMIS_OK && (!answer.text || !text))
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = question_answer(request->server, text, &answer);
    const themis_proto_text_body_t body = {{answer.text, (uint32_t)answer.length}};
    themis_server_reply_send(request, status, &body, NULL);
    free(answer.text);
    free(text);
}
