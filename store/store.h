/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores: where the bytes of objects are. An object is a sparse array of bytes under a 64-bit id; it comes into being
 * when something is written to it.
 *
 * Both stores and both directions have one shape. The engine names extents of an object in a window; `prepare` turns
 * them into memory (arena: the mapped region itself; posix: a staging buffer, filled for a read); the network moves
 * bytes into or out of that memory; `finish` commits (arena: makes pages and the end visible; posix: writes the file).
 * Between the two no lock is held, and windows of one object may overlap in time and in place: bytes that two windows
 * write at once have one of the values.
 *
 * Threads: every function may be called from any thread; a window belongs to one caller at a time. Calls on a posix
 * store, and sync on every store, may block on the device.
 */
#ifndef THEMIS_STORE_STORE_H
#define THEMIS_STORE_STORE_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "themis/status.h"
#include "util/direction.h"

typedef struct themis_store themis_store_t;
typedef struct themis_store_object themis_store_object_t;

typedef struct themis_store_extent {
    uint64_t offset, length; /* bytes; offset + length below 2^63 */
} themis_store_extent_t;

enum {
    THEMIS_STORE_WINDOW_EXTENTS = 1024,
    THEMIS_STORE_WINDOW_PIECES = 2048,
    THEMIS_STORE_WINDOW_BYTES = 1 << 20 /* a window covers at most so much */
};

/* Store's own: pages of a piece that become visible at finish. */
typedef struct themis_store_window_mark {
    void *extent;
    uint32_t first, behind; /* pages */
} themis_store_window_mark_t;

/* Parts of one object as memory. Large; made once and used again (themis_store_window_create). */
typedef struct themis_store_window {
    /* set by the caller before prepare */
    themis_store_object_t *object;
    themis_direction_t direction;
    size_t extent_count;
    themis_store_extent_t extents[THEMIS_STORE_WINDOW_EXTENTS];
    /* set by prepare */
    uint64_t bytes; /* what is covered: a beginning of the extents, which are cut to it */
    size_t piece_count;
    struct iovec pieces[THEMIS_STORE_WINDOW_PIECES];
    /* the store's */
    uint64_t generation;
    size_t mark_count;
    themis_store_window_mark_t marks[THEMIS_STORE_WINDOW_PIECES];
    void *staging; /* THEMIS_STORE_WINDOW_BYTES, or NULL if the store needs none */
} themis_store_window_t;

themis_status_t themis_store_window_create(themis_store_window_t **window);
void themis_store_window_destroy(themis_store_window_t *window); /* NULL is allowed */

typedef struct themis_store_size {
    uint64_t end;       /* one behind the last byte that was written or set */
    uint64_t allocated; /* bytes of the store in use */
    uint64_t modified;  /* ns since 1970 */
} themis_store_size_t;

typedef struct themis_store_usage {
    uint64_t capacity, used; /* bytes */
    uint64_t objects;
    uint64_t warm; /* arena: free bytes that were touched already */
} themis_store_usage_t;

typedef struct themis_store_options {
    const char *type;      /* "arena" or "posix" */
    uint64_t size;         /* bytes of an arena's region */
    const char *path;      /* posix: directory; arena: a file to map, or NULL or "" for memory */
    uint32_t index;        /* posix: of this server, whose directory it is */
    uint64_t warm;         /* arena: bytes to be touched ahead of use, at the start and then on demand */
    uint32_t reserve_step; /* arena: for tests; bytes by which touched space grows, 0: 4 MiB */
} themis_store_options_t;

/* What a store does; the functions below are the front. */
typedef struct themis_store_ops {
    const char *name;
    int blocking; /* 1: prepare and finish may wait for a device */
    void (*destroy)(themis_store_t *store);
    themis_status_t (*open)(themis_store_t *store, uint64_t id, int create, themis_store_object_t **object);
    void (*close)(themis_store_t *store, themis_store_object_t *object);
    themis_status_t (*prepare)(themis_store_t *store, themis_store_window_t *window);
    themis_status_t (*finish)(themis_store_t *store, themis_store_window_t *window, themis_status_t moved);
    themis_status_t (*truncate)(themis_store_t *store, themis_store_object_t *object, uint64_t size);
    themis_status_t (*allocate)(themis_store_t *store, themis_store_object_t *object,
                                const themis_store_extent_t *range);
    themis_status_t (*size)(themis_store_t *store, themis_store_object_t *object, themis_store_size_t *size);
    themis_status_t (*sync)(themis_store_t *store, themis_store_object_t *object);
    themis_status_t (*remove)(themis_store_t *store, uint64_t id);
    themis_status_t (*usage)(themis_store_t *store, themis_store_usage_t *usage);
} themis_store_ops_t;

/* First member of every store. */
struct themis_store {
    const themis_store_ops_t *ops;
};

/* THEMIS_CONFIG: unknown type, no size, no such directory, or one that is another server's or for something else.
 * THEMIS_BUSY: another server uses the directory or file. What exactly has been logged. */
themis_status_t themis_store_create(const themis_store_options_t *options, themis_store_t **store);
/* No object may be open. NULL is allowed. */
void themis_store_destroy(themis_store_t *store);

/*
 * Opens an object; every open needs a close. With `create` it is made if it is not there, else THEMIS_NO_ENTRY. An
 * object that is removed while it is open goes on for those who have it open, and is freed with the last close.
 */
themis_status_t themis_store_open(themis_store_t *store, uint64_t id, int create, themis_store_object_t **object);
void themis_store_close(themis_store_t *store, themis_store_object_t *object);

/*
 * Makes memory for a beginning of the window's extents: at least one byte. THEMIS_NO_SPACE: not for a single byte;
 * what was written before stays. For a read the caller cuts the extents to the object's end before; holes come as
 * zeros. On failure there is nothing to finish.
 */
themis_status_t themis_store_prepare(themis_store_t *store, themis_store_window_t *window);
/* Ends what prepare began; `moved` tells whether the bytes were moved. Returns `moved`, or the store's own failure. */
themis_status_t themis_store_finish(themis_store_t *store, themis_store_window_t *window, themis_status_t moved);

/* Sets the end. Bytes behind it are gone; growing leaves a hole. */
themis_status_t themis_store_truncate(themis_store_t *store, themis_store_object_t *object, uint64_t size);
/* Reserves space and raises the end to that of the range; contents stay. */
themis_status_t themis_store_allocate(themis_store_t *store, themis_store_object_t *object,
                                      const themis_store_extent_t *range);
themis_status_t themis_store_size(themis_store_t *store, themis_store_object_t *object, themis_store_size_t *size);
themis_status_t themis_store_sync(themis_store_t *store, themis_store_object_t *object);
/* Removes an object; none there is success. */
themis_status_t themis_store_remove(themis_store_t *store, uint64_t id);
themis_status_t themis_store_usage(themis_store_t *store, themis_store_usage_t *usage);
/* 1 if prepare and finish may wait for a device. */
int themis_store_blocking(const themis_store_t *store);
const char *themis_store_type(const themis_store_t *store);
#endif
