/* SPDX-License-Identifier: BSD-3-Clause */
/* What changes of names leave to do, and how a name's home tells of the end of one. */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "server/settle_batch.h"
#include "server/settler.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/names_rig.h"
#include "util/clock.h"

static themis_proto_create_t rename_of(const themis_proto_attr_t *attr, const char *from, const char *to)
{
    return (themis_proto_create_t){.path = text(to),
                                   .flags = THEMIS_PROTO_CREATE_ADOPT | THEMIS_PROTO_CREATE_REPLACE,
                                   .attr = *attr,
                                   .origin = text(from)};
}

/* The rename that has made a name, unlike that of another name. */
static uint64_t rename_to(const char *to)
{
    return (uint64_t)to[1];
}

static themis_status_t remove_renamed(const char *from, const char *to, const themis_proto_attr_t *attr)
{
    const themis_proto_body_t body = {.remove = {.path = text(from),
                                                 .type = THEMIS_PROTO_FILE,
                                                 .renamed = text(to),
                                                 .object = attr->id,
                                                 .generation = attr->generation,
                                                 .rename = rename_to(to)}};
    themis_proto_attr_t gone;

    return themis_server_namespace_serve(names, &alice, THEMIS_OP_REMOVE, &body, NULL, &gone);
}

static themis_proto_attr_t file_of(const char *path)
{
    themis_proto_attr_t attr;

    ck_assert_int_eq(make_as(&alice, path, THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_OK);
    return attr;
}

static uint64_t open_count(void)
{
    uint64_t open, failing;

    themis_server_intents_count(themis_server_namespace_intents(names), &open, &failing);
    return open;
}

/* The only intent, once it is due. */
static themis_server_intent_entry_t *only_intent(void)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_server_intent_entry_t *entry = NULL;

    ck_assert(themis_server_intents_wait(intents));
    ck_assert_uint_eq(themis_server_intents_take(intents, &entry, 1), 1);
    return entry;
}

TEST(each_change_leaves_what_it_has_to)
{
    themis_proto_attr_t attr = file_of("/a"), other = file_of("/b"), old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");
    const themis_proto_create_t renew = {.path = text("/b"),
                                         .flags = THEMIS_PROTO_CREATE_REPLACE,
                                         .attr = {.type = THEMIS_PROTO_FILE, .layout = {.first = UINT32_MAX}}};

    ck_assert_uint_eq(open_count(), 0);
    ck_assert_uint_ne(attr.generation, other.generation);
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    ck_assert_uint_eq(old.id, other.id);
    ck_assert_uint_eq(open_count(), 1);
    themis_server_intent_entry_t *entry = only_intent();
    const themis_server_intent_t *intent = &entry->intent;
    ck_assert(intent->kind == THEMIS_SERVER_INTENT_RENAME && intent->destroyed == other.id &&
              intent->object == attr.id && intent->ended == other.generation && intent->uid == alice.uid &&
              intent->rename == old.generation && intent->old_generation == attr.generation &&
              intent->layout.count == other.layout.count);
    themis_server_intents_set_old_gone(themis_server_namespace_intents(names), entry);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK);
    ck_assert_uint_eq(open_count(), 2);
    ck_assert_int_eq(create(&alice, &renew, &old), THEMIS_OK);
    ck_assert_uint_eq(open_count(), 3);
    ck_assert_int_eq(remove_as(&alice, "/b", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_uint_eq(open_count(), 4);
    ck_assert_int_eq(remove_as(&alice, "/b", THEMIS_PROTO_FILE), THEMIS_NO_ENTRY);
    ck_assert_uint_eq(open_count(), 4);
}

TEST(a_name_ends_once)
{
    themis_proto_attr_t attr = file_of("/a"), renamed, unknown = {.id = 1, .generation = 2}, old;

    ck_assert_int_eq(remove_renamed("/a", "/b", &unknown), THEMIS_NO_ENTRY);
    unknown = attr;
    unknown.generation++;
    ck_assert_int_eq(remove_renamed("/a", "/b", &unknown), THEMIS_NO_ENTRY);
    unknown.generation = attr.generation - 1; /* of a database that this server has lost */
    ck_assert_int_eq(remove_renamed("/a", "/b", &unknown), THEMIS_STALE);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/c", &attr), THEMIS_NO_ENTRY);
    attr = file_of("/a");
    ck_assert_int_eq(remove_as(&alice, "/a", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_NO_ENTRY);
    /* replaced, by a rename to it */
    attr = file_of("/a");
    renamed = file_of("/d");
    const themis_proto_create_t rename = rename_of(&renamed, "/d", "/a");
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_NO_ENTRY);
    ck_assert_int_eq(lookup("/a", &old), THEMIS_OK);
    ck_assert_uint_eq(old.id, renamed.id);
    ck_assert_uint_ne(old.generation, renamed.generation);
}

/* Asked for again, the removal of a renamed name has succeeded, whatever has become of the directory since. */
TEST(a_removal_needs_no_rights_again)
{
    const themis_proto_setattr_t closed = {.path = text("/d"), .mask = THEMIS_PROTO_SET_MODE};
    themis_proto_attr_t attr;

    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    themis_proto_attr_t file = file_of("/d/a"), there = file_of("/d/c");
    ck_assert_int_eq(remove_renamed("/d/a", "/b", &file), THEMIS_OK);
    ck_assert_int_eq(set_attr(&alice, &closed, &attr), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/d/a", "/b", &file), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/d/a", "/c", &file), THEMIS_NO_ENTRY);
    ck_assert_int_eq(remove_renamed("/d/c", "/b", &there), THEMIS_ACCESS);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    file_of("/d");
    ck_assert_int_eq(remove_renamed("/d/a", "/b", &file), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/d/c", "/b", &there), THEMIS_NOT_DIRECTORY);
}

static themis_status_t settle_name(const themis_sched_job_identity_t *who, const char *from, const char *to,
                                   const themis_proto_attr_t *attr)
{
    const themis_proto_remove_t remove = {.path = text(from),
                                          .type = THEMIS_PROTO_FILE,
                                          .renamed = text(to),
                                          .object = attr->id,
                                          .generation = attr->generation,
                                          .rename = rename_to(to)};

    return themis_server_namespace_settle_name(names, who, &remove);
}

/* A client whose rename is taken back for lack of rights cannot remove the old name later, when it may. */
TEST(a_refusal_is_final)
{
    const themis_proto_setattr_t closed = {.path = text("/d"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0500},
                                 open = {.path = text("/d"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0700};
    themis_proto_attr_t attr, now, old;

    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    themis_proto_attr_t file = file_of("/d/a");
    ck_assert_int_eq(set_attr(&alice, &closed, &attr), THEMIS_OK);
    ck_assert_int_eq(settle_name(&alice, "/d/a", "/b", &file), THEMIS_ACCESS);
    ck_assert_int_eq(set_attr(&alice, &open, &attr), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/d/a", "/b", &file), THEMIS_NO_ENTRY);
    ck_assert_int_eq(settle_name(&alice, "/d/a", "/b", &file), THEMIS_NO_ENTRY);
    ck_assert_int_eq(lookup("/d/a", &now), THEMIS_OK);
    ck_assert(now.id == file.id && now.generation != file.generation);
    ck_assert_int_eq(settle_name(&alice, "/d/a", "/b", &now), THEMIS_OK);
    /* a name that may be taken back keeps its generation */
    file = file_of("/a");
    const themis_proto_create_t rename = rename_of(&file, "/a", "/d/b");
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    ck_assert_int_eq(lookup("/d/b", &now), THEMIS_OK);
    ck_assert_int_eq(set_attr(&alice, &closed, &attr), THEMIS_OK);
    ck_assert_int_eq(settle_name(&alice, "/d/b", "/c", &now), THEMIS_BUSY);
    ck_assert_int_eq(lookup("/d/b", &old), THEMIS_OK);
    ck_assert_uint_eq(old.generation, now.generation);
}

/* A rename whose old name can be nowhere is not begun. */
TEST(the_old_name_is_checked)
{
    char longest[300] = "/";
    themis_proto_attr_t attr = file_of("/a"), old;
    themis_proto_create_t rename = rename_of(&attr, "/", "/b");

    memset(longest + 1, 'x', sizeof longest - 2);
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_INVALID);
    rename.origin = text("/b");
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_INVALID);
    rename.origin = text(longest);
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_NAME_TOO_LONG);
    rename.origin = text("/a");
    rename.attr.generation = 0;
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_INVALID);
    ck_assert_uint_eq(open_count(), 0);
    ck_assert_int_eq(settle_name(&alice, longest, "/b", &attr), THEMIS_NAME_TOO_LONG);
}

/* Names of a database that was written before there were generations are protected as others are. */
TEST(old_records_have_generations)
{
    const uint64_t words[] = {UINT64_C(1) << 32 | THEMIS_PROTO_FILE,
                              77,
                              (uint64_t)0644 << 32 | alice.uid,
                              alice.gid,
                              1,
                              2,
                              65536,
                              UINT64_C(1) << 32};
    const themis_server_name_db_record_t record = {
        .key = "A/a", .key_length = 3, .value = words, .value_length = sizeof words};
    themis_server_name_db_t *db;
    themis_proto_attr_t attr, old;

    tear_down();
    test_scratch_make();
    ck_assert_int_eq(themis_server_name_db_open(test_scratch, 0, 2, NULL, &db), THEMIS_OK);
    ck_assert_int_eq(themis_server_name_db_write(db, &record), THEMIS_OK);
    themis_server_name_db_close(db);
    open_names(test_scratch);
    ck_assert_int_eq(lookup("/a", &attr), THEMIS_OK);
    ck_assert(attr.id == 77 && attr.generation == 77 && attr.layout.count == 1);
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/c", &attr), THEMIS_NO_ENTRY);
    tear_down();
    open_names(test_scratch);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK);
    test_scratch_remove();
}

TEST(a_rename_is_taken_back)
{
    themis_proto_attr_t attr = file_of("/a"), other = file_of("/b"), old, now;
    const themis_proto_create_t fresh = rename_of(&attr, "/a", "/c"), over = rename_of(&attr, "/a", "/b");
    themis_server_intents_t *intents = themis_server_namespace_intents(names);

    ck_assert_int_eq(create(&alice, &over, &old), THEMIS_OK);
    themis_server_intent_entry_t *entry = only_intent();
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_OK);
    themis_server_intents_drop(intents, entry);
    ck_assert_int_eq(lookup("/b", &now), THEMIS_OK);
    ck_assert(now.id == other.id && now.mode == other.mode && now.created == other.created);
    /* who has renamed that one before comes too late */
    ck_assert_uint_ne(now.generation, other.generation);
    ck_assert_int_eq(remove_renamed("/b", "/d", &other), THEMIS_NO_ENTRY);
    ck_assert_int_eq(lookup("/b", &now), THEMIS_OK);
    ck_assert_uint_eq(open_count(), 0);
    ck_assert_int_eq(create(&alice, &fresh, &old), THEMIS_OK);
    entry = only_intent();
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_OK);
    themis_server_intents_drop(intents, entry);
    ck_assert_int_eq(lookup("/c", &now), THEMIS_NO_ENTRY);
    ck_assert_uint_eq(open_count(), 1); /* its entry is to go */
}

/* What the home of the old name says decides. */
TEST(a_rename_ends_as_its_old_name)
{
    static const struct {
        themis_status_t said;
        int is_taken_back, is_settled;
    } cases[] = {{THEMIS_OK, 0, 1},         {THEMIS_STALE, 0, 1},         {THEMIS_NO_ENTRY, 1, 1},
                 {THEMIS_ACCESS, 1, 1},     {THEMIS_NOT_DIRECTORY, 1, 1}, {THEMIS_BAD_NAME, 1, 1},
                 {THEMIS_NO_SPACE, 0, 0},   {THEMIS_BUSY, 0, 0},          {THEMIS_IO, 0, 0},
                 {THEMIS_UNREACHABLE, 0, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        themis_proto_attr_t attr = file_of("/a"), old, now;
        const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");
        ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
        themis_server_intent_entry_t *entry = only_intent();
        entry->status = cases[i].said;
        int is_taken_back = themis_server_settler_decide(names, entry);
        ck_assert_int_eq(is_taken_back, cases[i].is_taken_back);
        ck_assert_int_eq(lookup("/b", &now), is_taken_back ? THEMIS_NO_ENTRY : THEMIS_OK);
        if (!is_taken_back)
            ck_assert_int_eq(entry->status, cases[i].is_settled ? THEMIS_OK : cases[i].said);
        tear_down();
        set_up();
    }
}

static themis_status_t lookup_to_rename(const char *path)
{
    const themis_proto_body_t body = {.lookup = {text(path), THEMIS_PROTO_RIGHT_RENAME}};
    themis_proto_attr_t attr;

    return themis_server_namespace_serve(names, &alice, THEMIS_OP_LOOKUP, &body, NULL, &attr);
}

/* A name that a rename has made stays as it is until that cannot be taken back any more. */
TEST(a_name_is_final_when_its_rename_is)
{
    themis_proto_attr_t attr = file_of("/a"), other = file_of("/c"), made, old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b"), over = rename_of(&other, "/c", "/b"),
                                renew = {.path = text("/b"),
                                         .flags = THEMIS_PROTO_CREATE_REPLACE,
                                         .attr = {.type = THEMIS_PROTO_FILE, .layout = {.first = UINT32_MAX}}};

    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    ck_assert_int_eq(lookup("/b", &made), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/b", THEMIS_PROTO_FILE), THEMIS_BUSY);
    ck_assert_int_eq(create(&alice, &over, &old), THEMIS_BUSY);
    ck_assert_int_eq(create(&alice, &renew, &old), THEMIS_BUSY);
    ck_assert_int_eq(remove_renamed("/b", "/d", &made), THEMIS_BUSY);
    ck_assert_int_eq(remove_as(&bob, "/b", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(lookup_to_rename("/b"), THEMIS_BUSY);
    ck_assert_int_eq(make("/b", THEMIS_PROTO_FILE, 0), THEMIS_OK); /* it is opened */
    ck_assert_uint_eq(open_count(), 1);
    themis_server_intents_set_old_gone(themis_server_namespace_intents(names), only_intent());
    ck_assert_int_eq(lookup_to_rename("/b"), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/b", "/d", &made), THEMIS_OK);
}

/* A step that seems to fail may have been done. */
TEST(a_rename_is_taken_back_once)
{
    themis_proto_attr_t attr = file_of("/a"), other = file_of("/b"), old, now;
    const themis_proto_create_t over = rename_of(&attr, "/a", "/b");
    themis_server_intents_t *intents = themis_server_namespace_intents(names);

    ck_assert_int_eq(create(&alice, &over, &old), THEMIS_OK);
    themis_server_intent_entry_t *entry = only_intent();
    ck_assert_int_eq(themis_server_intents_find_record(intents, entry), THEMIS_OK);
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_OK);
    ck_assert_int_eq(themis_server_intents_find_record(intents, entry), THEMIS_NO_ENTRY);
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_OK);
    ck_assert_int_eq(lookup("/b", &now), THEMIS_OK);
    ck_assert_uint_eq(now.id, other.id);
}

/* Whether a change that has failed was done is not known; until it is, the intent counts. */
TEST(what_may_have_been_done_is_kept)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    const themis_server_intent_t intent = {
        .kind = THEMIS_SERVER_INTENT_REMOVAL, .path = text("/a"), .other = text("/b"), .ended = 7, .rename = 9};
    themis_server_intent_entry_t *entry;

    ck_assert_int_eq(themis_server_intents_begin(intents, &intent, &entry), THEMIS_OK);
    themis_server_intents_end(intents, entry, THEMIS_IO);
    ck_assert(entry->is_doubtful);
    ck_assert_int_eq(themis_server_intents_how_ended(intents, 7, 9), THEMIS_BUSY);
    ck_assert_int_eq(themis_server_intents_find_record(intents, entry), THEMIS_NO_ENTRY);
    themis_server_intents_drop(intents, entry);
    ck_assert_int_eq(themis_server_intents_how_ended(intents, 7, 9), THEMIS_NO_ENTRY);
}

/* In old databases two names of one object may have the same generation. */
TEST(names_of_one_generation_end_by_themselves)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_server_intent_t intent = {
        .kind = THEMIS_SERVER_INTENT_REMOVAL, .path = text("/a"), .other = text("/b"), .ended = 7, .rename = 9};
    themis_server_intent_entry_t *entry;

    for (int i = 0; i < 2; i++, intent.rename++) {
        ck_assert_int_eq(themis_server_intents_begin(intents, &intent, &entry), THEMIS_OK);
        themis_server_intents_end(intents, entry, THEMIS_OK);
    }
    ck_assert_int_eq(themis_server_intents_how_ended(intents, 7, 9), THEMIS_OK);
    ck_assert_int_eq(themis_server_intents_how_ended(intents, 7, 10), THEMIS_OK);
    ck_assert_int_eq(themis_server_intents_how_ended(intents, 7, 11), THEMIS_NO_ENTRY);
}

/* Nobody can change the new name meanwhile, but an administrator may have restored names. */
TEST(only_its_own_name_is_taken_back)
{
    themis_proto_attr_t attr = file_of("/a"), old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");

    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    themis_server_intent_entry_t *entry = only_intent();
    themis_server_intents_set_old_gone(themis_server_namespace_intents(names), entry);
    ck_assert_int_eq(remove_as(&alice, "/b", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_STALE);
    file_of("/b");
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_STALE);
    ck_assert_int_eq(lookup("/b", &old), THEMIS_OK);
}

static themis_status_t rename_end(const themis_proto_rename_end_t *end)
{
    return themis_server_namespace_rename_end(names, &alice, end);
}

TEST(a_rename_is_hastened)
{
    themis_proto_attr_t attr = file_of("/a"), old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    uint64_t begun = themis_util_clock_now();

    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    const themis_proto_rename_end_t end = {text("/b"), old.generation}, of_other = {text("/b"), old.generation + 1};
    ck_assert_int_eq(rename_end(&of_other), THEMIS_NO_ENTRY);
    ck_assert_int_eq(rename_end(&end), THEMIS_BUSY);
    themis_server_intent_entry_t *entry = only_intent();
    ck_assert_uint_lt(themis_util_clock_now() - begun, THEMIS_NS_PER_S);
    themis_server_intents_set_old_gone(intents, entry);
    ck_assert_int_eq(rename_end(&end), THEMIS_OK);
    ck_assert_int_eq(rename_end(&of_other), THEMIS_NO_ENTRY);
    themis_server_intents_give_back(intents, &entry, 1);
    ck_assert_int_eq(rename_end(&end), THEMIS_OK);
    ck_assert_uint_eq(open_count(), 0);
}

TEST(intents_outlive_the_server)
{
    themis_proto_attr_t attr, old;

    tear_down();
    test_scratch_make();
    open_names(test_scratch);
    attr = file_of("/a");
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    for (int i = 0; i < 2; i++) {
        tear_down();
        open_names(test_scratch);
        ck_assert_uint_eq(open_count(), 1);
    }
    themis_server_intent_entry_t *entry = only_intent();
    ck_assert_uint_eq(entry->intent.object, attr.id);
    ck_assert_int_eq(entry->intent.path.length, 2);
    themis_server_intents_give_back(themis_server_namespace_intents(names), &entry, 1); /* it is settled */
    tear_down();
    open_names(test_scratch);
    ck_assert_uint_eq(open_count(), 0);
    test_scratch_remove();
}

/* A rename that cannot be taken back stays one, and what it has replaced is not kept. */
TEST(the_end_of_an_old_name_outlives_the_server)
{
    themis_proto_attr_t attr, other, old;

    tear_down();
    test_scratch_make();
    open_names(test_scratch);
    attr = file_of("/a");
    other = file_of("/b");
    const themis_proto_create_t over = rename_of(&attr, "/a", "/b");
    ck_assert_int_eq(create(&alice, &over, &old), THEMIS_OK);
    themis_server_intent_entry_t *entry = only_intent();
    themis_server_intents_set_old_gone(themis_server_namespace_intents(names), entry);
    entry->status = THEMIS_UNREACHABLE;
    themis_server_intents_give_back(themis_server_namespace_intents(names), &entry, 1);
    tear_down();
    open_names(test_scratch);
    ck_assert_int_eq(remove_as(&alice, "/b", THEMIS_PROTO_FILE), THEMIS_OK);
    tear_down();
    open_names(test_scratch);
    ck_assert_uint_eq(open_count(), 2);
    usleep(1100000);
    themis_server_intent_entry_t *entries[2];
    ck_assert_uint_eq(themis_server_intents_take(themis_server_namespace_intents(names), entries, 2), 2);
    ck_assert(entries[0]->intent.old_is_gone && entries[0]->intent.replaced_length == 0 &&
              entries[0]->intent.destroyed == other.id);
    themis_server_intents_give_back(themis_server_namespace_intents(names), entries, 2);
    test_scratch_remove();
}

/* How a renamed name has ended is known as long as the home of the new name may ask, also after that was started again.
 */
TEST(what_a_rename_may_ask_is_known)
{
    themis_proto_attr_t attr = file_of("/a"), old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");
    themis_server_intents_t *intents = themis_server_namespace_intents(names);

    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    ck_assert_int_eq(themis_server_intents_rename_settled(intents, old.generation + 1), THEMIS_OK);
    ck_assert_int_eq(themis_server_intents_rename_settled(intents, old.generation), THEMIS_BUSY);
    themis_server_intent_entry_t *entry = only_intent();
    themis_server_intents_set_old_gone(intents, entry);
    ck_assert_int_eq(themis_server_intents_rename_settled(intents, old.generation), THEMIS_BUSY);
    themis_server_intents_give_back(intents, &entry, 1);
    ck_assert_int_eq(themis_server_intents_rename_settled(intents, old.generation), THEMIS_OK);
}

/* Those that fail, and new ones, leave room for each other. */
TEST(all_get_their_turn)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_server_intent_entry_t *entries[4];
    uint64_t open, failing;
    char path[16];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/f%d", i);
        file_of(path);
        ck_assert_int_eq(remove_as(&alice, path, THEMIS_PROTO_FILE), THEMIS_OK);
    }
    usleep(1100000); /* until all are due */
    ck_assert_uint_eq(themis_server_intents_take(intents, entries, 4), 4);
    for (int i = 0; i < 4; i++)
        entries[i]->status = i < 3 ? THEMIS_UNREACHABLE : THEMIS_BUSY;
    themis_server_intents_give_back(intents, entries, 4);
    themis_server_intents_count(intents, &open, &failing);
    ck_assert(open == 4 && failing == 3);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/g%d", i);
        file_of(path);
        ck_assert_int_eq(remove_as(&alice, path, THEMIS_PROTO_FILE), THEMIS_OK);
    }
    usleep(1100000);
    ck_assert_uint_eq(themis_server_intents_take(intents, entries, 4), 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(entries[i]->intent.path.bytes[1], i < 2 ? 'g' : 'f');
    themis_server_intents_give_back(intents, entries, 4);
    themis_server_intents_count(intents, &open, &failing);
    ck_assert(open == 4 && failing >= 1);
}

TEST(there_are_not_too_many)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_proto_attr_t attr = file_of("/a"), old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b"), back = rename_of(&attr, "/a", "/c");

    file_of("/c");
    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    themis_server_intents_set_limit(intents, 100);
    ck_assert_int_eq(remove_as(&alice, "/c", THEMIS_PROTO_FILE), THEMIS_QUOTA);
    ck_assert_int_eq(create(&alice, &back, &old), THEMIS_QUOTA);
    ck_assert_int_eq(lookup("/c", &old), THEMIS_OK);
    ck_assert_int_eq(remove_renamed("/a", "/b", &attr), THEMIS_OK); /* there was room for the rename */
    themis_server_intent_entry_t *entries[2], *entry;
    usleep(1100000);
    ck_assert_uint_eq(themis_server_intents_take(intents, entries, 2), 2);
    themis_server_intents_give_back(intents, &entries[1], 1);
    entry = entries[0]; /* what was begun is taken back all the same */
    ck_assert_int_eq(themis_server_namespace_take_back(names, entry), THEMIS_OK);
    themis_server_intents_drop(intents, entry);
    entry = only_intent();
    themis_server_intents_give_back(intents, &entry, 1);
    ck_assert_int_eq(remove_as(&alice, "/c", THEMIS_PROTO_FILE), THEMIS_OK);
}

/* What was replaced is not kept in memory when it cannot be restored any more. */
TEST(what_was_replaced_is_forgotten)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_proto_attr_t attr = file_of("/a"), other = file_of("/b"), old;
    const themis_proto_create_t rename = rename_of(&attr, "/a", "/b");

    ck_assert_int_eq(create(&alice, &rename, &old), THEMIS_OK);
    themis_server_intent_entry_t *entry = only_intent();
    size_t length = entry->length;
    ck_assert_uint_gt(entry->intent.replaced_length, 0);
    themis_server_intents_set_old_gone(intents, entry);
    ck_assert(entry->intent.replaced_length == 0 && entry->length < length && entry->intent.destroyed == other.id &&
              entry->intent.ended == other.generation && entry->intent.other.bytes[1] == 'a');
    themis_server_intents_give_back(intents, &entry, 1);
}

TEST(young_entries_stay)
{
    const themis_proto_text_t path = text("/d/f"), other = text("/d/none");
    const uint64_t age = THEMIS_PROTO_ENTRY_LASTS * THEMIS_NS_PER_S;

    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    uint64_t before = themis_util_clock_wall();
    ck_assert_int_eq(add(&alice, "/d", "f", THEMIS_PROTO_FILE), THEMIS_OK);
    uint64_t now = themis_util_clock_wall();
    ck_assert_int_eq(themis_server_namespace_settle_entry(names, &path, now), THEMIS_BUSY);
    ck_assert_int_eq(themis_server_namespace_settle_entry(names, &path, before + age - 1), THEMIS_BUSY);
    /* added since its name was looked for */
    ck_assert_int_eq(themis_server_namespace_settle_entry(names, &path, now - age + THEMIS_NS_PER_S), THEMIS_BUSY);
    ck_assert_int_eq(themis_server_namespace_settle_entry(names, &other, now), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_NOT_EMPTY);
    ck_assert_int_eq(themis_server_namespace_settle_entry(names, &path, now + age), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
}

/* As many steps as fit are in a message, however long their paths. */
TEST(a_message_is_not_too_long)
{
    static themis_server_settle_batch_t batch;
    static uint8_t message[THEMIS_PROTO_MAX_MESSAGE];
    char bytes[THEMIS_PROTO_MAX_PATH];
    const themis_proto_text_t path = {bytes, sizeof bytes};
    const themis_proto_settle_step_t longest = {.action = THEMIS_PROTO_SETTLE_NAME,
                                                .generation = 1,
                                                .renamed = path,
                                                .path = path},
                                     shortest = {.action = THEMIS_PROTO_SETTLE_DESTROY, .path = {"/", 1}};
    themis_server_intent_entry_t owner = {.status = THEMIS_OK};
    uint32_t added = 0;
    size_t length;

    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i += 200)
        bytes[i] = '/';
    while (themis_server_settle_batch_add(&batch, &owner, &longest))
        added++;
    ck_assert(added > 100 && added < THEMIS_PROTO_MAX_SETTLE);
    ck_assert_int_eq(themis_server_settle_batch_encode(&batch, 1, message, &length), THEMIS_OK);
    themis_server_settle_batch_end(&batch, THEMIS_BUSY);
    ck_assert_int_eq(owner.status, THEMIS_BUSY);
    for (added = 0; themis_server_settle_batch_add(&batch, &owner, &shortest); added++)
        ;
    ck_assert_uint_eq(added, THEMIS_PROTO_MAX_SETTLE);
    ck_assert_int_eq(themis_server_settle_batch_encode(&batch, 1, message, &length), THEMIS_OK);
}

TEST(records_are_checked)
{
    const themis_server_intent_t intent = {.kind = THEMIS_SERVER_INTENT_RENAME,
                                           .path = text("/a"),
                                           .other = text("/bc"),
                                           .replaced = "xyz",
                                           .replaced_length = 3,
                                           .object = UINT64_MAX,
                                           .uid = UINT32_MAX};
    size_t length = themis_server_intent_record_bytes(&intent);
    themis_server_intent_t seen;
    char bytes[256];

    ck_assert_uint_lt(length, sizeof bytes);
    themis_server_intent_record_pack(&intent, bytes);
    ck_assert_int_eq(themis_server_intent_record_unpack(bytes, length, &seen), THEMIS_OK);
    ck_assert(seen.object == UINT64_MAX && seen.uid == UINT32_MAX && seen.replaced_length == 3 &&
              memcmp(seen.replaced, "xyz", 3) == 0 && seen.other.length == 3 && memcmp(seen.path.bytes, "/a", 2) == 0);
    for (size_t cut = 0; cut < length; cut++)
        ck_assert_int_eq(themis_server_intent_record_unpack(bytes, cut, &seen), THEMIS_CORRUPT);
    bytes[0] = 9;
    ck_assert_int_eq(themis_server_intent_record_unpack(bytes, length, &seen), THEMIS_CORRUPT);
}

int main(void)
{
    Suite *suite = suite_create("intents");

    test_case(suite, "all", 60, set_up, tear_down,
              TESTS({each_change_leaves_what_it_has_to, 1}, {a_name_ends_once, 1}, {a_removal_needs_no_rights_again, 1},
                    {a_refusal_is_final, 1}, {the_old_name_is_checked, 1}, {old_records_have_generations, 1},
                    {a_rename_is_taken_back, 1}, {a_rename_ends_as_its_old_name, 1},
                    {a_name_is_final_when_its_rename_is, 1}, {a_rename_is_taken_back_once, 1},
                    {what_may_have_been_done_is_kept, 1}, {names_of_one_generation_end_by_themselves, 1},
                    {the_end_of_an_old_name_outlives_the_server, 1}, {only_its_own_name_is_taken_back, 1},
                    {a_rename_is_hastened, 1}, {intents_outlive_the_server, 1}, {what_a_rename_may_ask_is_known, 1},
                    {all_get_their_turn, 1}, {there_are_not_too_many, 1}, {what_was_replaced_is_forgotten, 1},
                    {young_entries_stay, 1}, {a_message_is_not_too_long, 1}, {records_are_checked, 1}));
    return test_run(suite);
}
