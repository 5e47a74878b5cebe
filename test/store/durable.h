/* SPDX-License-Identifier: BSD-3-Clause */
/* Durable arenas: opened, left as a killed server leaves them, and compared with a model of what was written. */
#pragma once
#include <sys/types.h>
#include "test/store/objects.h"

enum { MODEL_OBJECTS = 6, MODEL_BYTES = 192 << 10, ARENA_BYTES = 64 << 20 };

/* What may be in the store. A byte of object i has a value of its own: 0, or 8 i + 1 to 8 i + 7. */
typedef struct model_object {
    int exists, may_exist;        /* now; at some time since the last settle */
    uint64_t end, low, high;      /* now; the least and greatest since */
    uint8_t value[MODEL_BYTES];   /* now */
    uint8_t allowed[MODEL_BYTES]; /* bit 0: 0, bit k: 8 i + k, since */
} model_object_t;
extern model_object_t model[MODEL_OBJECTS];

/* From now on only what is there now may be there. */
void model_settle(void);
void model_write(int i, uint64_t offset, uint64_t length, uint8_t k);
void model_truncate(int i, uint64_t size);
void model_remove(int i);
/* Compares the store with what may be in it. */
void model_check(void);

/* Opens the arena in a directory; `boot`: a number that stands for a start of the machine. */
themis_status_t durable_try(const char *directory, int boot, themis_store_t **opened);
themis_status_t durable_try_size(const char *directory, int boot, uint64_t bytes, themis_store_t **opened);
void durable_open(const char *directory, int boot);

/* The first `size` bytes of a file, with its holes, to another one. */
void pages_copy(int in, int out, off_t size);
/* The files of a directory as they are now, in another one, which must not exist. */
void directory_copy(const char *from, const char *to);
void directory_remove(const char *path);
/* The path of the last file of the log. */
void last_log(const char *directory, char path[512]);

/* A random number below `limit`. */
uint64_t draw(uint64_t limit);
/* One change of the store and the model at random; with grants, some of it directly. */
void change_at_random(int direct);
void change_end(void); /* before the store is destroyed */
