/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/nth/scene.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "themis/cache.h"

enum { STRIPE = 16 << 10, BYTES = 5 * STRIPE + 123, PIECES = 40, PIECE = 100, SLOW_SECONDS = 6 };

typedef struct scene {
    const scene_options_t *options;
    themis_t *session;
    themis_file_t *file, *other;
    char directory[64], path[80], renamed[80], link[80], below[80];
    unsigned char bytes[BYTES], back[BYTES], list[PIECES * PIECE];
    const char *wrong; /* what a step found to be wrong, though it succeeded; NULL: nothing */
} scene_t;

typedef struct step {
    const char *name;
    themis_status_t (*play)(scene_t *scene);
    /* of a step that is repeated: a status that says that it was done the first time, but for its answer */
    themis_status_t done;
} step_t;

static themis_status_t wrong(scene_t *scene, const char *what)
{
    scene->wrong = what;
    return THEMIS_OK;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static themis_status_t step_connect(scene_t *scene)
{
    themis_options_t options;

    themis_options_init(&options);
    options.servers = scene->options->servers;
    options.direct = scene->options->direct;
    options.timeout = 20u * 1000000000u;
    options.policy = "size-fair";
    return themis_connect(&options, &scene->session);
}

static themis_status_t step_mkdir(scene_t *scene)
{
    return themis_mkdir(scene->session, scene->directory, 0755);
}

static themis_status_t file_open(scene_t *scene, int flags, themis_file_t **file)
{
    const themis_layout_t layout = {STRIPE, 0, 0};

    return themis_open(scene->session, scene->path, THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | flags, 0644, &layout, file);
}

static themis_status_t step_create(scene_t *scene)
{
    return file_open(scene, THEMIS_OPEN_CREATE, &scene->file);
}

static themis_status_t step_write(scene_t *scene)
{
    size_t done;
    themis_status_t status = themis_write(scene->file, scene->bytes, BYTES, 0, &done);

    return status == THEMIS_OK && done != BYTES ? wrong(scene, "not all was written") : status;
}

static themis_status_t back_compare(scene_t *scene, themis_status_t status, size_t done)
{
    if (status != THEMIS_OK)
        return status;
    return done != BYTES || memcmp(scene->bytes, scene->back, BYTES) != 0 ? wrong(scene, "other bytes") : status;
}

static themis_status_t step_read(scene_t *scene)
{
    size_t done = 0;

    memset(scene->back, 0xee, BYTES);
    themis_status_t status = themis_read(scene->file, scene->back, BYTES, 0, &done);
    return back_compare(scene, status, done);
}

/* Every second piece. */
static themis_list_t pieces(void *bytes, themis_run_t *run, struct iovec *memory)
{
    *run = (themis_run_t){STRIPE - PIECE, PIECE, 2 * PIECE, PIECES};
    *memory = (struct iovec){bytes, (size_t)PIECE * PIECES};
    return (themis_list_t){memory, 1, run, 1};
}

static themis_status_t step_write_list(scene_t *scene)
{
    themis_run_t run;
    struct iovec memory;
    themis_list_t list = pieces(scene->list, &run, &memory);
    themis_request_t *request;
    size_t done;

    for (int i = 0; i < PIECES; i++) {
        memset(scene->list + (size_t)i * PIECE, 'a' + i, PIECE);
        memset(scene->bytes + run.offset + (size_t)i * run.stride, 'a' + i, PIECE);
    }
    themis_status_t status = themis_iwrite_list(scene->file, &list, &request);
    return status == THEMIS_OK ? themis_request_wait(request, &done) : status;
}

static themis_status_t step_read_list(scene_t *scene)
{
    static unsigned char back[sizeof scene->list];
    themis_run_t run;
    struct iovec memory;
    themis_list_t list = pieces(back, &run, &memory);
    size_t done = 0;

    memset(back, 0xee, sizeof back);
    themis_status_t status = themis_read_list(scene->file, &list, &done);
    if (status == THEMIS_OK && (done != sizeof back || memcmp(back, scene->list, sizeof back) != 0))
        return wrong(scene, "other bytes in a list");
    return status;
}

static themis_status_t step_cache(scene_t *scene)
{
    themis_cache_t *cache;
    struct iovec memory = {scene->bytes, 1000};
    themis_run_t run = {0, 1000, 0, 1};
    themis_list_t list = {&memory, 1, &run, 1};
    size_t done = 0;
    themis_status_t status = themis_cache_create(scene->file, NULL, &cache);

    if (status != THEMIS_OK)
        return status;
    status = themis_cache_write(cache, &list, &done);
    if (status == THEMIS_OK)
        status = themis_cache_flush(cache);
    memory.iov_base = scene->back;
    if (status == THEMIS_OK)
        status = themis_cache_read(cache, &list, &done);
    if (status == THEMIS_OK && memcmp(scene->bytes, scene->back, 1000) != 0)
        scene->wrong = "other bytes from a cache";
    themis_status_t end = themis_cache_destroy(cache);
    return status == THEMIS_OK ? end : status;
}

static themis_status_t step_sync(scene_t *scene)
{
    return themis_sync(scene->file);
}

static themis_status_t step_file_stat(scene_t *scene)
{
    themis_stat_t stat;
    themis_status_t status = themis_file_stat(scene->file, &stat);

    return status == THEMIS_OK && stat.size != BYTES ? wrong(scene, "another size") : status;
}

static themis_status_t step_stat(scene_t *scene)
{
    themis_stat_t stat;
    themis_status_t status = themis_stat(scene->session, scene->path, &stat);

    return status == THEMIS_OK && stat.size != BYTES ? wrong(scene, "another size of the name") : status;
}

static themis_status_t step_truncate(scene_t *scene)
{
    themis_status_t status = themis_truncate(scene->file, STRIPE);

    return status == THEMIS_OK ? themis_truncate(scene->file, BYTES) : status;
}

static themis_status_t step_allocate(scene_t *scene)
{
    return themis_allocate(scene->file, BYTES);
}

/* After the truncation. */
static themis_status_t step_read_zeros(scene_t *scene)
{
    size_t done = 0;

    memset(scene->bytes + STRIPE, 0, BYTES - STRIPE);
    themis_status_t status = themis_read(scene->file, scene->back, BYTES, 0, &done);
    return back_compare(scene, status, done);
}

static themis_status_t step_lock(scene_t *scene)
{
    return themis_lock(scene->file, 10, 100, THEMIS_LOCK_EXCLUSIVE);
}

static themis_status_t step_other_open(scene_t *scene)
{
    return file_open(scene, 0, &scene->other);
}

static themis_status_t step_other_lock(scene_t *scene)
{
    themis_status_t status = themis_lock(scene->other, 50, 100, THEMIS_LOCK_EXCLUSIVE | THEMIS_LOCK_TRY);

    if (status == THEMIS_OK)
        return wrong(scene, "two have one lock");
    return status == THEMIS_LOCKED ? THEMIS_OK : status;
}

static themis_status_t step_write_locked(scene_t *scene)
{
    size_t done;

    return themis_write(scene->file, scene->bytes + 10, 50, 10, &done);
}

static themis_status_t step_unlock(scene_t *scene)
{
    return themis_unlock(scene->file, 10, 100);
}

static themis_status_t step_other_close(scene_t *scene)
{
    themis_file_t *other = scene->other;

    scene->other = NULL; /* closed, whatever the result */
    return other ? themis_close(other) : THEMIS_OK;
}

static themis_status_t step_counter(scene_t *scene)
{
    int64_t value = 0;
    themis_status_t status = themis_counter_set(scene->file, 5);

    if (status == THEMIS_OK)
        status = themis_counter_get(scene->file, &value);
    return status == THEMIS_OK && value != 5 ? wrong(scene, "another counter") : status;
}

static themis_status_t step_counter_add(scene_t *scene)
{
    int64_t before = 0;
    themis_status_t status = themis_counter_set(scene->file, 5);

    if (status == THEMIS_OK)
        status = themis_counter_add(scene->file, 3, &before);
    return status == THEMIS_OK && before != 5 ? wrong(scene, "another counter before") : status;
}

static themis_status_t step_pack(scene_t *scene)
{
    static unsigned char packed[THEMIS_HANDLE_BYTES];
    size_t length, done = 0;
    themis_file_t *file;
    themis_status_t status = themis_file_pack(scene->file, packed, sizeof packed, &length);

    if (status == THEMIS_OK)
        status = themis_file_unpack(scene->session, packed, length, &file);
    if (status != THEMIS_OK)
        return status;
    status = themis_read(file, scene->back, BYTES, 0, &done);
    status = back_compare(scene, status, done);
    themis_status_t end = themis_close(file);
    return status == THEMIS_OK ? end : status;
}

static themis_status_t step_close(scene_t *scene)
{
    themis_file_t *file = scene->file;

    scene->file = NULL;
    return file ? themis_close(file) : THEMIS_OK;
}

static themis_status_t step_chmod(scene_t *scene)
{
    themis_status_t status = themis_chmod(scene->session, scene->path, 0600);

    return status == THEMIS_OK ? themis_chown(scene->session, scene->path, UINT32_MAX, getgid()) : status;
}

static int xattr_count(void *arg, const char *name, const void *value, size_t length)
{
    ++*(int *)arg;
    return 0;
}

static themis_status_t step_xattrs(scene_t *scene)
{
    char value[16] = "";
    size_t length = 0;
    int count = 0;
    themis_status_t status = themis_xattr_set(scene->session, scene->path, "user.a", "value", 6, 0);

    if (status == THEMIS_OK)
        status = themis_xattr_get(scene->session, scene->path, "user.a", value, sizeof value, &length);
    if (status == THEMIS_OK)
        status = themis_xattr_list(scene->session, scene->path, xattr_count, &count);
    return status == THEMIS_OK && (strcmp(value, "value") != 0 || count != 1) ? wrong(scene, "other attributes")
                                                                              : status;
}

static themis_status_t step_xattr_remove(scene_t *scene)
{
    return themis_xattr_remove(scene->session, scene->path, "user.a");
}

static themis_status_t step_symlink(scene_t *scene)
{
    return themis_symlink(scene->session, scene->path, scene->link);
}

static themis_status_t step_through_link(scene_t *scene)
{
    char target[THEMIS_PATH_BYTES];
    themis_stat_t stat;
    themis_status_t status = themis_readlink(scene->session, scene->link, target);

    if (status == THEMIS_OK && strcmp(target, scene->path) != 0)
        return wrong(scene, "another target");
    if (status == THEMIS_OK)
        status = themis_stat(scene->session, scene->link, &stat);
    return status == THEMIS_OK && stat.size != BYTES ? wrong(scene, "another size behind a link") : status;
}

static int name_count(void *arg, const char *name, themis_type_t type)
{
    ++*(int *)arg;
    return 0;
}

static themis_status_t step_list(scene_t *scene)
{
    int count = 0;
    themis_status_t status = themis_readdir(scene->session, scene->directory, name_count, &count);

    return status == THEMIS_OK && count != 2 ? wrong(scene, "another number of names") : status;
}

static themis_status_t step_rename(scene_t *scene)
{
    return themis_rename(scene->session, scene->path, scene->renamed);
}

static themis_status_t step_missing(scene_t *scene)
{
    themis_stat_t stat;
    themis_status_t status = themis_stat(scene->session, scene->below, &stat);

    if (status == THEMIS_OK)
        return wrong(scene, "a name that nobody made");
    return status == THEMIS_NO_ENTRY ? THEMIS_OK : status;
}

static themis_status_t step_queries(scene_t *scene)
{
    static const char *const what[] = {"server", "jobs", "metrics", "policy"};
    themis_session_info_t info;
    themis_status_t status = themis_session_info(scene->session, &info);

    for (uint32_t i = 0; i < 4 && status == THEMIS_OK; i++) {
        char *text = NULL;
        status = themis_query(scene->session, i % info.servers, what[i], &text);
        if (status == THEMIS_OK && (!text || !*text))
            scene->wrong = "an empty answer";
        free(text);
    }
    return status;
}

static themis_status_t step_policy(scene_t *scene)
{
    char *text = NULL;
    themis_status_t status = themis_policy_set(scene->session, 0, "user-then-job-fair", &text);

    if (status == THEMIS_OK && (!text || strcmp(text, "user-then-job-fair") != 0))
        scene->wrong = "another policy";
    free(text);
    return status;
}

static themis_status_t step_nodes(scene_t *scene)
{
    return themis_session_set_nodes(scene->session, 3);
}

static themis_status_t step_unlink_link(scene_t *scene)
{
    return themis_unlink(scene->session, scene->link);
}

static themis_status_t step_unlink(scene_t *scene)
{
    return themis_unlink(scene->session, scene->renamed);
}

static themis_status_t step_rmdir(scene_t *scene)
{
    return themis_rmdir(scene->session, scene->directory);
}

static themis_status_t step_disconnect(scene_t *scene)
{
    themis_disconnect(scene->session);
    scene->session = NULL;
    return THEMIS_OK;
}

static const step_t steps[] = {
    {"connect", step_connect, 0},
    {"mkdir", step_mkdir, THEMIS_EXISTS},
    {"create", step_create, 0},
    {"write", step_write, 0},
    {"read", step_read, 0},
    {"write a list", step_write_list, 0},
    {"read a list", step_read_list, 0},
    {"read what a list wrote", step_read, 0},
    {"write and read by a cache", step_cache, 0},
    {"sync", step_sync, 0},
    {"file stat", step_file_stat, 0},
    {"stat", step_stat, 0},
    {"lock", step_lock, 0},
    {"open again", step_other_open, 0},
    {"lock what is locked", step_other_lock, 0},
    {"write with a lock", step_write_locked, 0},
    {"unlock", step_unlock, THEMIS_INVALID},
    {"close the other", step_other_close, 0},
    {"counter", step_counter, 0},
    {"counter add", step_counter_add, 0},
    {"truncate", step_truncate, 0},
    {"read zeros", step_read_zeros, 0},
    {"allocate", step_allocate, 0},
    {"pack and unpack", step_pack, 0},
    {"close", step_close, 0},
    {"chmod", step_chmod, 0},
    {"attributes", step_xattrs, 0},
    {"remove an attribute", step_xattr_remove, THEMIS_NO_DATA},
    {"symlink", step_symlink, THEMIS_EXISTS},
    {"through a link", step_through_link, 0},
    {"list", step_list, 0},
    {"rename", step_rename, THEMIS_NO_ENTRY},
    {"stat of no name", step_missing, 0},
    {"queries", step_queries, 0},
    {"policy", step_policy, 0},
    {"nodes", step_nodes, 0},
    {"unlink a link", step_unlink_link, THEMIS_NO_ENTRY},
    {"unlink", step_unlink, THEMIS_NO_ENTRY},
    {"rmdir", step_rmdir, THEMIS_NO_ENTRY},
    {"disconnect", step_disconnect, 0},
};

/* --- playing ------------------------------------------------------------------------------------------------------ */

/* Does the text say what was lacking? */
static int names_cause(const char *text)
{
    static const char *const causes[] = {"emory", "open files", "Resource temporarily unavailable", "thread"};

    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strstr(text, causes[i]))
            return 1;
    return 0;
}

/* -1: the step is wrong; else its status. */
static themis_status_t step_play(scene_t *scene, const step_t *step)
{
    time_t began = time(NULL);

    scene->wrong = NULL;
    themis_status_t status = step->play(scene);
    if (scene->wrong) {
        printf("WRONG %s: %s\n", step->name, scene->wrong);
    } else if (time(NULL) - began > SLOW_SECONDS) {
        scene->wrong = "slow";
        printf("SLOW %s: %s\n", step->name, status == THEMIS_OK ? "" : themis_last_error());
    }
    return status;
}

static scene_result_t step_check(scene_t *scene, const step_t *step)
{
    themis_status_t status = step_play(scene, step);

    if (scene->wrong)
        return SCENE_WRONG;
    if (status == THEMIS_OK)
        return SCENE_GOOD;
    const char *text = themis_last_error();
    int clear = names_cause(text);
    if (!scene->options->quiet || !clear)
        printf("%s %s: %s: %s\n", clear ? "error" : "UNCLEAR", step->name, themis_status_string(status), text);
    themis_status_t again = step_play(scene, step);
    if (again != THEMIS_OK && (again != step->done || !step->done)) {
        printf("AGAIN %s: %s: %s\n", step->name, themis_status_string(again), themis_last_error());
        return SCENE_WRONG;
    }
    return scene->wrong || !clear ? SCENE_WRONG : SCENE_FAILED;
}

scene_result_t scene_play(const scene_options_t *options)
{
    static scene_t scene;
    scene_result_t result = SCENE_GOOD;

    memset(&scene, 0, sizeof scene);
    scene.options = options;
    snprintf(scene.directory, sizeof scene.directory, "/scene-%u", options->number);
    snprintf(scene.path, sizeof scene.path, "%s/file", scene.directory);
    snprintf(scene.renamed, sizeof scene.renamed, "%s/other", scene.directory);
    snprintf(scene.link, sizeof scene.link, "%s/link", scene.directory);
    snprintf(scene.below, sizeof scene.below, "%s/a/b", scene.directory);
    for (size_t i = 0; i < BYTES; i++)
        scene.bytes[i] = (unsigned char)(i * 7 + options->number + i / 251);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        scene_result_t now = step_check(&scene, &steps[i]);
        if (now == SCENE_WRONG)
            return now;
        result = now == SCENE_FAILED ? now : result;
    }
    return result;
}
