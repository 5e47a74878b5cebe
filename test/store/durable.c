/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/store/durable.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test/lib/scratch.h"
#include "test/store/grants.h"

model_object_t model[MODEL_OBJECTS];

/* --- the model ------------------------------------------------------------------------------------------------------
 */

void model_settle(void)
{
    for (int i = 0; i < MODEL_OBJECTS; i++) {
        model_object_t *object = &model[i];
        object->may_exist = object->exists;
        object->low = object->high = object->end;
        for (uint64_t at = 0; at < MODEL_BYTES; at++)
            object->allowed[at] = (uint8_t)(1 << (object->value[at] & 7));
    }
}

static void set_bytes(model_object_t *object, uint64_t offset, uint64_t end, uint8_t value)
{
    for (uint64_t at = offset; at < end; at++) {
        object->value[at] = value;
        object->allowed[at] |= (uint8_t)(1 << (value & 7));
    }
}

static void set_end(model_object_t *object, uint64_t end)
{
    object->exists = object->may_exist = 1;
    object->end = end;
    object->low = end < object->low ? end : object->low;
    object->high = end > object->high ? end : object->high;
}

void model_write(int i, uint64_t offset, uint64_t length, uint8_t k)
{
    set_bytes(&model[i], offset, offset + length, (uint8_t)(8 * i + k));
    set_end(&model[i], offset + length > model[i].end ? offset + length : model[i].end);
}

void model_truncate(int i, uint64_t size)
{
    if (size < model[i].end)
        set_bytes(&model[i], size, model[i].end, 0);
    set_end(&model[i], size);
}

void model_remove(int i)
{
    set_bytes(&model[i], 0, MODEL_BYTES, 0);
    set_end(&model[i], 0);
    model[i].exists = 0;
}

static void object_check(int i)
{
    const model_object_t *wanted = &model[i];
    static uint8_t bytes[MODEL_BYTES];
    themis_store_object_t *object;
    themis_store_size_t size;

    themis_status_t status = themis_store_open(store, (uint64_t)i + 1, 0, owner, &object);
    if (status == THEMIS_NO_ENTRY) {
        ck_assert_msg(!wanted->exists || wanted->low == 0, "object %d is gone", i);
        return;
    }
    REQUIRE(status == THEMIS_OK);
    ck_assert_msg(wanted->may_exist, "object %d is there again", i);
    REQUIRE(themis_store_size(store, object, &size) == THEMIS_OK);
    themis_store_close(store, object);
    ck_assert_msg(size.end >= wanted->low && size.end <= wanted->high, "object %d ends at %llu, not %llu to %llu", i,
                  (unsigned long long)size.end, (unsigned long long)wanted->low, (unsigned long long)wanted->high);
    if (size.end)
        REQUIRE(transfer((uint64_t)i + 1, THEMIS_READ, 0, bytes, size.end) == THEMIS_OK);
    for (uint64_t at = 0; at < size.end; at++)
        if ((bytes[at] && bytes[at] >> 3 != i) || !(wanted->allowed[at] >> (bytes[at] & 7) & 1))
            ck_abort_msg("byte %llu of object %d is %u, allowed %02x", (unsigned long long)at, i, bytes[at],
                         wanted->allowed[at]);
}

void model_check(void)
{
    for (int i = 0; i < MODEL_OBJECTS; i++)
        object_check(i);
}

/* --- arenas and directories ------------------------------------------------------------------------------------------
 */

themis_status_t durable_try_size(const char *directory, int boot, uint64_t bytes, themis_store_t **opened)
{
    static const themis_store_identity_t identity = {{1, 2, 3}};
    const themis_store_identity_t started = {{(uint8_t)boot}};
    const themis_store_options_t options = {.type = "arena",
                                            .size = bytes,
                                            .directory = directory,
                                            .identity = &identity,
                                            .boot = &started,
                                            .reserve_step = 64 << 10,
                                            .direct = 1};

    owner = (uint32_t)geteuid();
    return themis_store_create(&options, opened);
}

themis_status_t durable_try(const char *directory, int boot, themis_store_t **opened)
{
    return durable_try_size(directory, boot, ARENA_BYTES, opened);
}

void durable_open(const char *directory, int boot)
{
    ck_assert_int_eq(durable_try(directory, boot, &store), THEMIS_OK);
}

void pages_copy(int in, int out, off_t size)
{
    uint8_t bytes[1 << 16];

    REQUIRE(ftruncate(out, size) == 0);
    for (off_t at = lseek(in, 0, SEEK_DATA), hole; at >= 0; at = lseek(in, hole, SEEK_DATA)) {
        hole = lseek(in, at, SEEK_HOLE);
        for (ssize_t got; at < hole; at += got) {
            size_t part = (size_t)(hole - at) < sizeof bytes ? (size_t)(hole - at) : sizeof bytes;
            got = pread(in, bytes, part, at);
            REQUIRE(got > 0 && pwrite(out, bytes, (size_t)got, at) == got);
        }
    }
}

/* 0: there is no such file any more. */
static int file_copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY);
    struct stat stat;

    if (in < 0 && errno == ENOENT)
        return 0;
    int out = open(to, O_RDWR | O_CREAT | O_EXCL, 0600);
    REQUIRE(in >= 0 && out >= 0 && fstat(in, &stat) == 0);
    pages_copy(in, out, stat.st_size);
    close(in);
    close(out);
    return 1;
}

static int files_copy(const char *from, const char *to)
{
    DIR *list = opendir(from);
    const struct dirent *entry;
    char source[512], target[512];
    int complete = 1;

    REQUIRE(list && mkdir(to, 0700) == 0);
    while (complete && (entry = readdir(list)))
        if (entry->d_name[0] != '.') {
            snprintf(source, sizeof source, "%s/%.200s", from, entry->d_name);
            snprintf(target, sizeof target, "%s/%.200s", to, entry->d_name);
            complete = file_copy(source, target);
        }
    closedir(list);
    return complete;
}

/* A store that is open may put a new file of its log in the place of others meanwhile; then the copy begins again. */
void directory_copy(const char *from, const char *to)
{
    while (!files_copy(from, to))
        directory_remove(to);
}

void directory_remove(const char *path)
{
    nftw(path, test_scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void last_log(const char *directory, char path[512])
{
    DIR *list = opendir(directory);
    const struct dirent *entry;
    char last[256] = "";

    REQUIRE(list);
    while ((entry = readdir(list)))
        if (strncmp(entry->d_name, "log.", 4) == 0 && strcmp(entry->d_name, last) > 0)
            snprintf(last, sizeof last, "%s", entry->d_name);
    closedir(list);
    snprintf(path, 512, "%s/%s", directory, last);
}

/* --- changes at random
 * ------------------------------------------------------------------------------------------------ */

static uint64_t state = 88172645463325252u;
static grant_t grants[MODEL_OBJECTS];
static int granted[MODEL_OBJECTS];

uint64_t draw(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static void take_back(int i)
{
    if (granted[i])
        grant_close(&grants[i]);
    granted[i] = 0;
}

/* As the server before it changes an object. */
static void write_directly(int i, uint64_t offset, uint64_t length, uint8_t value)
{
    if (!granted[i])
        REQUIRE(grant_open(&grants[i], (uint64_t)i + 1, owner) == THEMIS_OK);
    granted[i] = 1;
    grant_put(&grants[i], offset, length, value);
}

/* Whole pages of an extent that has others, too, which need not be cleared: as a client fills them. */
static int fill_pages(int i, uint64_t offset, uint8_t value)
{
    const themis_store_extent_t range = {offset / PAGE * PAGE, PAGE};
    themis_store_mapped_t mapped;
    size_t count;

    if (!granted[i])
        REQUIRE(grant_open(&grants[i], (uint64_t)i + 1, owner) == THEMIS_OK);
    granted[i] = 1;
    REQUIRE(themis_store_map(store, grants[i].object, &range, THEMIS_STORE_MAP_ALLOCATE | THEMIS_STORE_MAP_INCOMPLETE,
                             &mapped, 1, &count) == THEMIS_OK);
    if (count == 0 || mapped.pages.segment == 0)
        return 0;
    uint64_t page = (range.offset - mapped.offset) / PAGE;
    _Atomic uint8_t *page_state = (_Atomic uint8_t *)(reach(owner, mapped.pages) + page);
    uint8_t invalid = THEMIS_UTIL_DIRECT_PAGE_INVALID;
    memset(reach(owner, mapped.location) + page * PAGE, value, PAGE);
    atomic_compare_exchange_strong(page_state, &invalid, THEMIS_UTIL_DIRECT_PAGE_VALID);
    if (atomic_load(&grants[i].cell->end) < range.offset + PAGE)
        atomic_store(&grants[i].cell->end, range.offset + PAGE);
    return 1;
}

static void write_at_random(int i, int direct)
{
    uint64_t offset = draw(MODEL_BYTES - 1), length = 1 + draw(draw(2) ? 5000 : MODEL_BYTES - offset);
    uint8_t k = (uint8_t)(1 + draw(7));

    length = length < MODEL_BYTES - offset ? length : MODEL_BYTES - offset;
    if (direct && draw(3) == 0 && fill_pages(i, offset, (uint8_t)(8 * i + k)))
        model_write(i, offset / PAGE * PAGE, PAGE, k);
    else if (direct && draw(2)) {
        write_directly(i, offset, length, (uint8_t)(8 * i + k));
        model_write(i, offset, length, k);
    } else {
        put((uint64_t)i + 1, offset, length, (uint8_t)(8 * i + k));
        model_write(i, offset, length, k);
    }
}

void change_at_random(int direct)
{
    int i = (int)draw(MODEL_OBJECTS);
    uint64_t kind = draw(20), size = draw(MODEL_BYTES);

    if (kind < 3) {
        if (granted[i] && draw(2))
            take_back(i); /* else processes have their pins still, as those that have not noticed */
        truncate_to((uint64_t)i + 1, size);
        take_back(i);
        model_truncate(i, size);
    } else if (kind < 5) {
        REQUIRE(themis_store_remove(store, (uint64_t)i + 1) == THEMIS_OK);
        take_back(i);
        model_remove(i);
    } else if (kind == 5) {
        take_back(i);
    } else {
        write_at_random(i, direct);
    }
}

void change_end(void)
{
    for (int i = 0; i < MODEL_OBJECTS; i++)
        take_back(i);
}
