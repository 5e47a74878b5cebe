/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores: where the bytes of objects are. An object is a sparse array of bytes under a 64-bit id; it is created by the
 * first write to it.
 *
 * Transfers work alike for both stores and both directions. The engine names extents of an object in a window;
 * `prepare` maps them to memory (arena: the region itself; posix: a staging buffer, filled for a read); the network
 * moves bytes into or out of that memory; `finish` commits (arena: makes pages and the end visible; posix: writes the
 * file). In between no lock is held, and windows of one object may overlap in time and in place: bytes that two windows
 * write at the same time have one of the two values.
 *
 * Threads: every function may be called from any thread; a window belongs to one caller at a time. Calls on a posix
 * store, and sync on every store, may block on the device.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "store/identity.h"
#include "store/list.h"
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
    THEMIS_STORE_WINDOW_BYTES = 1 << 20 /* that a window covers at most */
};

/* Private to the store: pages of a piece that become visible at finish. */
typedef struct themis_store_window_mark {
    void *extent;
    uint32_t first, end; /* pages */
} themis_store_window_mark_t;

/* A mapping window: parts of one object as memory. Large; create it once and reuse it. */
typedef struct themis_store_window {
    /* set by the caller before prepare */
    themis_store_object_t *object;
    themis_direction_t direction;
    size_t extent_count;
    themis_store_extent_t extents[THEMIS_STORE_WINDOW_EXTENTS];
    /* set by prepare */
    uint64_t bytes; /* covered: the first ones of the extents, which are cut to them */
    size_t piece_count;
    struct iovec pieces[THEMIS_STORE_WINDOW_PIECES];
    /* private to the store */
    uint64_t generation;
    int shadowed; /* 1: some pieces are not where the object has these bytes in the end */
    size_t mark_count;
    themis_store_window_mark_t marks[THEMIS_STORE_WINDOW_PIECES];
    void *staging; /* THEMIS_STORE_WINDOW_BYTES, or NULL if the store needs none */
} themis_store_window_t;

themis_status_t themis_store_window_create(themis_store_window_t **window);
void themis_store_window_destroy(themis_store_window_t *window); /* NULL is allowed */

typedef struct themis_store_size {
    uint64_t end;       /* exclusive: one past the last byte that was written or set */
    uint64_t allocated; /* bytes of the store in use */
    uint64_t modified;  /* ns since 1970 */
} themis_store_size_t;

typedef struct themis_store_usage {
    uint64_t capacity, used; /* bytes */
    uint64_t objects;
    uint64_t warm;     /* arena: free bytes whose pages are populated */
    uint64_t huge;     /* arena: bytes of the populated memory that are in huge pages */
    uint64_t segments; /* arena: of its memory, in use or kept by an owner */
} themis_store_usage_t;

/* An owner whose memory is not passed on to other processes. Other owners are user ids. */
#define THEMIS_STORE_COMMON UINT32_MAX

/* A place in memory that can be passed on. */
typedef struct themis_store_location {
    uint64_t segment; /* its serial number, from 1; never used again in this process */
    uint64_t at;      /* byte in it */
} themis_store_location_t;

/* An extent of an object, and where its bytes are. */
typedef struct themis_store_mapped {
    uint64_t offset, length; /* bytes, multiples of 4 KiB */
    themis_store_location_t location;
    themis_store_location_t pages; /* of the states of its pages (util/direct.h); segment 0: all of them are valid */
} themis_store_mapped_t;

/* How to map: fill the holes of the range first, with more where the object grows; give extents that have pages that
 * are not valid, too. */
enum { THEMIS_STORE_MAP_ALLOCATE = 1, THEMIS_STORE_MAP_INCOMPLETE = 2 };

typedef struct themis_store_options {
    const char *type;                        /* "arena" or "posix" */
    uint64_t size;                           /* bytes of an arena's region */
    const char *path;                        /* posix: directory; arena: a file to map, or NULL or "" for memory */
    const char *directory;                   /* arena: where it outlives the process, or NULL or "" */
    uint32_t index;                          /* of the server that owns the directory */
    const themis_store_identity_t *identity; /* that the directory has, or gets; NULL: any, of a posix store */
    const themis_store_identity_t *boot;     /* arena: that of the machine; NULL: found out */
    uint64_t warm;         /* arena: bytes whose pages are populated ahead of use, at the start and then on demand */
    uint32_t reserve_step; /* arena: bytes by which the space in use grows, 0: 4 MiB; smaller in tests */
    int direct;            /* arena without a file: 1: memory of users can be passed on to their processes */
} themis_store_options_t;

/* An object of a list. */
typedef struct themis_store_listed {
    uint64_t id, end, modified; /* the latter two as in themis_store_size_t */
} themis_store_listed_t;

/* What a store implements; the functions below describe it. Those of direct access are NULL where there is none. */
typedef struct themis_store_ops {
    const char *name;
    int blocking; /* 1: prepare and finish may wait for a device */
    void (*destroy)(themis_store_t *store);
    themis_status_t (*open)(themis_store_t *store, uint64_t id, int create, uint32_t owner,
                            themis_store_object_t **object);
    void (*close)(themis_store_t *store, themis_store_object_t *object);
    themis_status_t (*prepare)(themis_store_t *store, themis_store_window_t *window);
    themis_status_t (*finish)(themis_store_t *store, themis_store_window_t *window, themis_status_t moved);
    themis_status_t (*truncate)(themis_store_t *store, themis_store_object_t *object, uint64_t size);
    themis_status_t (*allocate)(themis_store_t *store, themis_store_object_t *object,
                                const themis_store_extent_t *range);
    themis_status_t (*size)(themis_store_t *store, themis_store_object_t *object, themis_store_size_t *size);
    themis_status_t (*set_modified)(themis_store_t *store, themis_store_object_t *object, uint64_t modified);
    themis_status_t (*sync)(themis_store_t *store, themis_store_object_t *object);
    themis_status_t (*remove)(themis_store_t *store, uint64_t id);
    themis_status_t (*usage)(themis_store_t *store, themis_store_usage_t *usage);
    themis_status_t (*list)(themis_store_t *store, themis_store_list_part_t *part);
    /* size without open, which may be NULL */
    themis_status_t (*look)(themis_store_t *store, uint64_t id, themis_store_size_t *size);
    int (*direct)(const themis_store_t *store);
    themis_status_t (*pin)(themis_store_t *store, themis_store_object_t *object, uint32_t uid,
                           themis_store_location_t *cell);
    void (*unpin)(themis_store_t *store, themis_store_object_t *object, const themis_store_location_t *cell);
    themis_status_t (*map)(themis_store_t *store, themis_store_object_t *object, const themis_store_extent_t *range,
                           int flags, themis_store_mapped_t *mapped, size_t capacity, size_t *count);
    themis_status_t (*block_allocate)(themis_store_t *store, uint32_t uid, themis_store_location_t *location,
                                      void **address);
    void (*block_free)(themis_store_t *store, void *address);
    themis_status_t (*segment)(themis_store_t *store, uint64_t serial, uint32_t uid, int *fd, uint64_t *bytes);
} themis_store_ops_t;

/* First member of every store. */
struct themis_store {
    const themis_store_ops_t *ops;
};

/* THEMIS_CONFIG: unknown type, no size, no such directory, or one that belongs to another server or is used for
 * something else. THEMIS_BUSY: another server uses the directory or file. The cause has been logged. */
themis_status_t themis_store_create(const themis_store_options_t *options, themis_store_t **store);
/* No object may be open. NULL is allowed. */
void themis_store_destroy(themis_store_t *store);

/*
 * Opens an object; every open needs a close. If it does not exist it is created (`create`) for `owner`, a user id or
 * THEMIS_STORE_COMMON, or THEMIS_NO_ENTRY. An object that is removed while it is open remains usable, and is freed with
 * the last close.
 */
themis_status_t themis_store_open(themis_store_t *store, uint64_t id, int create, uint32_t owner,
                                  themis_store_object_t **object);
void themis_store_close(themis_store_t *store, themis_store_object_t *object);

/*
 * Provides memory for the first bytes of the window's extents, at least for one. THEMIS_NO_SPACE: there is none for a
 * single byte; what was written before stays. Before a read the caller cuts the extents to the object's end; holes read
 * as zeros. On failure there is nothing to finish.
 */
themis_status_t themis_store_prepare(themis_store_t *store, themis_store_window_t *window);
/* Ends what prepare began. `moved`: the result of the transfer; returned if the store itself does not fail. */
themis_status_t themis_store_finish(themis_store_t *store, themis_store_window_t *window, themis_status_t moved);

/* Sets the end. Bytes beyond it are lost; growing leaves a hole. */
themis_status_t themis_store_truncate(themis_store_t *store, themis_store_object_t *object, uint64_t size);
/* Reserves space and raises the end to that of the range; contents stay. */
themis_status_t themis_store_allocate(themis_store_t *store, themis_store_object_t *object,
                                      const themis_store_extent_t *range);
themis_status_t themis_store_size(themis_store_t *store, themis_store_object_t *object, themis_store_size_t *size);
/* Sets the time of the last change, in ns since 1970; the next change sets it again. */
themis_status_t themis_store_set_modified(themis_store_t *store, themis_store_object_t *object, uint64_t modified);
themis_status_t themis_store_sync(themis_store_t *store, themis_store_object_t *object);
/* Removes an object; success also if it does not exist. */
themis_status_t themis_store_remove(themis_store_t *store, uint64_t id);
themis_status_t themis_store_usage(themis_store_t *store, themis_store_usage_t *usage);
/* The next objects after *position (0: the first ones), which is advanced, at most `capacity`; there may be none before
 * the end, UINT64_MAX. What exists all the time is listed once, whatever comes and goes meanwhile. */
themis_status_t themis_store_list(themis_store_t *store, uint64_t *position, themis_store_listed_t *listed,
                                  size_t capacity, size_t *count);
/* 1 if prepare and finish may wait for a device. */
int themis_store_blocking(const themis_store_t *store);
const char *themis_store_type(const themis_store_t *store);

/*
 * Direct access: processes of a user copy into and out of the memory of that user's objects themselves. The memory of
 * an owner is in segments of its own, and what is freed goes to another owner only as new memory.
 */

/* 1 if objects can be pinned. */
int themis_store_direct(const themis_store_t *store);

/*
 * Holds the memory of an open object, which other processes may then use; every pin needs an unpin, before the close.
 * *cell: where the object's shared end and modification time are (util/direct.h), until the object is truncated or
 * unpinned. THEMIS_UNSUPPORTED: the store cannot, or the object's owner is not `uid`. THEMIS_NO_SPACE,
 * THEMIS_NO_MEMORY.
 */
themis_status_t themis_store_pin(themis_store_t *store, themis_store_object_t *object, uint32_t uid,
                                 themis_store_location_t *cell);
void themis_store_unpin(themis_store_t *store, themis_store_object_t *object, const themis_store_location_t *cell);

/*
 * The extents of a pinned object that meet the range, whole and in order, at most `capacity` of them. Their pages that
 * were not written are cleared, unless THEMIS_STORE_MAP_INCOMPLETE is among the flags (THEMIS_STORE_MAP_*) and `pages`
 * tells of them. They stay where they are until the object is truncated or unpinned. Extents whose memory cannot be
 * passed on, and those to be cleared into which a write is under way that covers pages for the first time, are left
 * out. THEMIS_NO_SPACE: there is none for a single byte.
 */
themis_status_t themis_store_map(themis_store_t *store, themis_store_object_t *object,
                                 const themis_store_extent_t *range, int flags, themis_store_mapped_t *mapped,
                                 size_t capacity, size_t *count);

/* A block of THEMIS_UTIL_DIRECT_BLOCK_BYTES zeros in memory of `uid`, until it is freed. THEMIS_UNSUPPORTED,
 * THEMIS_NO_SPACE, THEMIS_NO_MEMORY. */
themis_status_t themis_store_block_allocate(themis_store_t *store, uint32_t uid, themis_store_location_t *location,
                                            void **address);
void themis_store_block_free(themis_store_t *store, void *address); /* NULL is allowed */

/* A descriptor of a segment, to be closed by the caller, and its size in bytes, a multiple of 2 MiB unless it is the
 * last one. THEMIS_ACCESS: there is no such segment, or it belongs to another owner. */
themis_status_t themis_store_segment(themis_store_t *store, uint64_t serial, uint32_t uid, int *fd, uint64_t *bytes);
