/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and claims, without servers. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "posix/claim.h"
#include "test/lib/run.h"

static themis_posix_t *filesystem;
static uint64_t next_id;

static themis_posix_node_t *node_add(themis_posix_node_t *parent, const char *name, themis_type_t type)
{
    const themis_stat_t stat = {.type = type, .id = type == THEMIS_TYPE_FILE ? ++next_id : 0};

    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *node = themis_posix_tree_get(&filesystem->tree, parent, name, &stat);
    pthread_mutex_unlock(&filesystem->lock);
    return node;
}

static const char *path_of(const themis_posix_node_t *node, char path[THEMIS_PATH_BYTES])
{
    return themis_posix_tree_path(&filesystem->tree, node, "", path) == THEMIS_OK ? path : "none";
}

static void setup(void)
{
    ck_assert_int_eq(themis_posix_create(NULL, &filesystem), 0);
}

static void teardown(void)
{
    themis_posix_destroy(filesystem);
}

TEST(paths_follow_names)
{
    char path[THEMIS_PATH_BYTES];
    themis_posix_node_t *root = themis_posix_root(filesystem);
    themis_posix_node_t *a = node_add(root, "a", THEMIS_TYPE_DIRECTORY), *b = node_add(a, "b", THEMIS_TYPE_DIRECTORY);
    themis_posix_node_t *file = node_add(b, "f", THEMIS_TYPE_FILE);
    const uint64_t number = b->number;

    ck_assert_str_eq(path_of(root, path), "/");
    ck_assert_str_eq(path_of(file, path), "/a/b/f");
    themis_posix_tree_move(&filesystem->tree, b, root, "c");
    ck_assert_str_eq(path_of(file, path), "/c/f");
    ck_assert_uint_eq(b->number, number);
    ck_assert(themis_posix_tree_is_below(file, b) && !themis_posix_tree_is_below(file, a));
    /* another file of the same name takes it */
    themis_posix_node_t *other = node_add(b, "f", THEMIS_TYPE_FILE);
    ck_assert_ptr_ne(other, file);
    ck_assert_str_eq(path_of(file, path), "none");
    ck_assert_str_eq(path_of(other, path), "/c/f");
    themis_posix_release(filesystem, file, 1);
    themis_posix_tree_detach(&filesystem->tree, b);
    ck_assert_str_eq(path_of(other, path), "none");
}

TEST(nodes_go_with_their_references)
{
    themis_posix_node_t *root = themis_posix_root(filesystem);
    themis_posix_node_t *a = node_add(root, "a", THEMIS_TYPE_DIRECTORY), *file = node_add(a, "f", THEMIS_TYPE_FILE);

    themis_posix_acquire(filesystem, file);
    themis_posix_release(filesystem, a, 1);
    ck_assert_ptr_eq(themis_posix_tree_find(&filesystem->tree, root, "a"), a); /* of the file */
    themis_posix_release(filesystem, file, 2);
    ck_assert_ptr_null(themis_posix_tree_find(&filesystem->tree, root, "a"));
}

/* A claim that another thread makes. */
typedef struct claimer {
    themis_posix_claim_t claim;
    themis_posix_caller_t caller;
    pthread_t thread;
    _Atomic int ended;
    int error;
} claimer_t;

static void *claimer_run(void *arg)
{
    claimer_t *claimer = arg;

    claimer->error = themis_posix_claim(filesystem, &claimer->caller, &claimer->claim, 1);
    atomic_store(&claimer->ended, 1);
    return NULL;
}

static void claimer_start(claimer_t *claimer, themis_posix_node_t *parent, const char *name,
                          themis_posix_claim_kind_t kind, themis_posix_node_t *below)
{
    memset(claimer, 0, sizeof *claimer);
    ck_assert_int_eq(themis_posix_claim_init(&claimer->claim, parent, name, kind), 0);
    claimer->claim.below = below;
    pthread_create(&claimer->thread, NULL, claimer_run, claimer);
    usleep(30000);
}

static void claimer_end(claimer_t *claimer)
{
    pthread_join(claimer->thread, NULL);
    ck_assert_int_eq(claimer->error, 0);
    themis_posix_unclaim(filesystem, &claimer->claim, 1);
}

TEST(only_the_same_name_waits)
{
    themis_posix_node_t *root = themis_posix_root(filesystem);
    claimer_t removal, lookup, lookup_late, other;

    claimer_start(&removal, root, "x", THEMIS_POSIX_EXCLUSIVE, NULL);
    claimer_start(&lookup, root, "x", THEMIS_POSIX_SHARED, NULL);
    claimer_start(&lookup_late, root, "x", THEMIS_POSIX_SHARED, NULL);
    claimer_start(&other, root, "y", THEMIS_POSIX_EXCLUSIVE, NULL);
    ck_assert(removal.ended && other.ended && !lookup.ended && !lookup_late.ended);
    ck_assert_str_eq(removal.claim.path, "/x");
    claimer_end(&removal);
    claimer_end(&lookup); /* both at once */
    claimer_end(&lookup_late);
    claimer_end(&other);
}

TEST(claims_are_had_in_their_order)
{
    themis_posix_node_t *root = themis_posix_root(filesystem);
    claimer_t first, removal, late;

    claimer_start(&first, root, "x", THEMIS_POSIX_SHARED, NULL);
    claimer_start(&removal, root, "x", THEMIS_POSIX_EXCLUSIVE, NULL);
    claimer_start(&late, root, "x", THEMIS_POSIX_SHARED, NULL);
    ck_assert(first.ended && !removal.ended && !late.ended);
    claimer_end(&first);
    usleep(30000);
    ck_assert(removal.ended && !late.ended);
    claimer_end(&removal);
    claimer_end(&late);
}

TEST(a_renamed_directory_claims_what_is_below)
{
    themis_posix_node_t *root = themis_posix_root(filesystem);
    themis_posix_node_t *a = node_add(root, "a", THEMIS_TYPE_DIRECTORY), *b = node_add(a, "b", THEMIS_TYPE_DIRECTORY);
    claimer_t renaming, below, beside;

    claimer_start(&renaming, root, "a", THEMIS_POSIX_EXCLUSIVE, a);
    claimer_start(&below, b, "f", THEMIS_POSIX_SHARED, NULL);
    claimer_start(&beside, root, "f", THEMIS_POSIX_SHARED, NULL);
    ck_assert(renaming.ended && !below.ended && beside.ended);
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_tree_move(&filesystem->tree, a, root, "c");
    pthread_mutex_unlock(&filesystem->lock);
    claimer_end(&renaming);
    pthread_join(below.thread, NULL);
    ck_assert_str_eq(below.claim.path, "/c/b/f");
    themis_posix_unclaim(filesystem, &below.claim, 1);
    claimer_end(&beside);
}

TEST(an_abandoned_claim_ends)
{
    themis_posix_node_t *root = themis_posix_root(filesystem);
    claimer_t removal, lookup, late;

    claimer_start(&removal, root, "x", THEMIS_POSIX_EXCLUSIVE, NULL);
    claimer_start(&lookup, root, "x", THEMIS_POSIX_EXCLUSIVE, NULL);
    claimer_start(&late, root, "x", THEMIS_POSIX_SHARED, NULL);
    atomic_store(&lookup.caller.abandoned, 1);
    themis_posix_wake(filesystem);
    pthread_join(lookup.thread, NULL);
    ck_assert_int_eq(lookup.error, EINTR);
    ck_assert(!late.ended);
    claimer_end(&removal);
    claimer_end(&late);
}

TEST(hidden_names_are_not_there)
{
    themis_posix_node_t *root = themis_posix_root(filesystem), *file = node_add(root, "h", THEMIS_TYPE_FILE);
    themis_posix_claim_t claim;

    file->hidden = 1;
    ck_assert_int_eq(themis_posix_claim_init(&claim, root, "h", THEMIS_POSIX_SHARED), 0);
    ck_assert_int_eq(themis_posix_claim(filesystem, NULL, &claim, 1), ENOENT);
    ck_assert_int_eq(themis_posix_claim_node(filesystem, NULL, file, THEMIS_POSIX_SHARED, &claim), 0);
    ck_assert_str_eq(claim.path, "/h");
    themis_posix_unclaim(filesystem, &claim, 1);
    themis_posix_tree_detach(&filesystem->tree, file);
    ck_assert_int_eq(themis_posix_claim_node(filesystem, NULL, file, THEMIS_POSIX_SHARED, &claim), ESTALE);
}

int main(void)
{
    Suite *suite = suite_create("claim");

    test_case(suite, "claim", 30, setup, teardown,
              TESTS({paths_follow_names, 1}, {nodes_go_with_their_references, 1}, {only_the_same_name_waits, 1},
                    {claims_are_had_in_their_order, 1}, {a_renamed_directory_claims_what_is_below, 1},
                    {an_abandoned_claim_ends, 1}, {hidden_names_are_not_there, 1}));
    return test_run(suite);
}
