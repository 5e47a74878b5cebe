/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire format: every request and reply as a C struct, and the functions that turn them into bytes and back.
 *
 * Pure computation: no UCX, no threads, no allocation. A message is a header of THEMIS_PROTO_HEADER_BYTES and a body
 * whose layout follows from kind and opcode; all numbers are little-endian. Decoding trusts nothing: each length, count
 * and enumeration is checked, and a message with bytes left over is refused. Decoded texts and lists are borrowed from
 * the message's bytes and live as long as these. `doc/wire.md` describes the same.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

enum {
    THEMIS_PROTO_VERSION = 5,
    THEMIS_PROTO_HEADER_BYTES = 32,
    THEMIS_PROTO_MAX_MESSAGE = 1 << 20, /* bytes, header included; bulk data does not travel in messages */
    THEMIS_PROTO_MAX_PATH = 4096,       /* bytes without a terminating NUL */
    THEMIS_PROTO_MAX_NAME = 255,        /* also of an extended attribute */
    THEMIS_PROTO_MAX_TARGET = 4095,
    THEMIS_PROTO_MAX_XATTR = 64 << 10,   /* bytes of one value */
    THEMIS_PROTO_MAX_XATTRS = 128 << 10, /* bytes of all of a name, as they are encoded */
    THEMIS_PROTO_MAX_TEXT = 255,         /* job ids, host names */
    THEMIS_PROTO_MAX_POLICY = 1024,
    THEMIS_PROTO_MAX_RUNS = 16384, /* of one READ or WRITE */
    THEMIS_PROTO_MAX_MAPPED = 512, /* extents in the reply to one MAP */
    THEMIS_PROTO_MAX_SERVERS = 4096,
    THEMIS_PROTO_MAX_SETTLE = 200,      /* steps in one SETTLE */
    THEMIS_PROTO_DESCRIPTOR_BYTES = 40, /* a bulk descriptor as net/ makes it, opaque here */
    THEMIS_PROTO_IDENTITY_BYTES = 16,
    THEMIS_PROTO_MAC_BYTES = 16
};

/* X(name, number, request body, reply body) ; a body `none` is empty. Numbers never change. */
#define THEMIS_PROTO_OPCODES(X)                                                                                        \
    X(HELLO, 1, hello, welcome) /* first message of a connection: who the client is, and for which job */              \
    X(HEARTBEAT, 2, none, none) /* the job is alive though it sends nothing else */                                    \
    X(GOODBYE, 3, none, none)   /* the client ends its session */                                                      \
    X(LOOKUP, 16, lookup, attr) /* attributes of a name, at the name's home server */                                  \
    X(CREATE, 17, create, attr) /* a file or directory at the name's home server */                                    \
    X(REMOVE, 18, remove, attr) /* removes a name; the reply tells what it was */                                      \
    X(SETATTR, 19, setattr, attr)                                                                                      \
    X(ENTRY_ADD, 20, entry, added)   /* adds a name to its directory, at the directory's home server, which fails with \
                                        NO_ENTRY or NOT_DIRECTORY if that is none; replaces an entry of that name */   \
    X(ENTRY_REMOVE, 21, entry, none) /* success also if there is none */                                               \
    X(READDIR, 22, readdir, entries)                                                                                   \
    X(EXTRA, 23, lookup, extra) /* target of a symbolic link; with the right READ also extended attributes */          \
    X(SETXATTR, 24, setxattr, none)                                                                                    \
    X(RENAME_END, 25, rename_end, none) /* has a rename settled, and tells how it has ended */                         \
    X(READ, 32, io, io_done)            /* object bytes into the client's buffer */                                    \
    X(WRITE, 33, io, io_done)                                                                                          \
    X(TRUNCATE, 34, resize, none) /* sets the object's end, cutting or growing by a hole */                            \
    X(ALLOCATE, 35, range, none)  /* reserves space, keeps contents and never lowers the end */                        \
    X(SIZE, 36, object, size)                                                                                          \
    X(SYNC, 37, object, none)                                                                                          \
    X(DESTROY, 38, object, none)     /* frees an object; success also if there is none */                              \
    X(MAP, 39, map, mapped)          /* where an object's bytes are in the server's memory, for direct access */       \
    X(UNMAP, 40, unmap, none)        /* the client needs that no longer */                                             \
    X(SEGMENT, 41, segment, segment) /* a part of the server's memory; a descriptor comes with the reply */            \
    X(TOUCH, 42, touch, none)        /* sets the time of an object's last change; success also if there is none */     \
    X(ENLIST, 43, enlist, enlisted)  /* at the file's first server, before another one makes an object of the file */  \
    X(LOCK, 48, lock, granted)       /* byte-range lock, at the file's first server; waits or refuses */               \
    X(UNLOCK, 49, lock, none)                                                                                          \
    X(COUNTER, 50, counter, counted) /* shared file pointer: get, set, fetch and add; at the file's first server */    \
    X(STATUS, 64, text, text)        /* what: see themis_query in themis.h; the reply is JSON or text */               \
    X(POLICY, 65, text, text)        /* sets the policy; the reply is the policy in force */                           \
    X(SHUTDOWN, 66, none, none)      /* drain and stop */                                                              \
    X(CHECK, 67, text, text)         /* what a server has, and repairs of it, for administrators: server/check.h */    \
    X(PLAN, 72, text, text)          /* a plan of periodic I/O as JSON; the reply is the policy in force */            \
    X(JOB_SERVERS, 73, text, text)   /* a question to the allocation service as JSON: server/allocation_requests.h */  \
    X(TABLE, 80, table, none)        /* server to server: job table for lambda-delayed fairness */                     \
    X(SETTLE, 81, settle, settled)   /* server to server: steps that end changes of names */

typedef enum themis_proto_opcode {
#define THEMIS_PROTO_ENUM(name, number, request, reply) THEMIS_OP_##name = number,
    THEMIS_PROTO_OPCODES(THEMIS_PROTO_ENUM)
#undef THEMIS_PROTO_ENUM
} themis_proto_opcode_t;

/*
 * Flags of READ, WRITE, TRUNCATE, ALLOCATE, SIZE and SYNC. EXISTS: the client knows that the object exists. If it does
 * not, and was not removed, the request fails with THEMIS_LOST. LISTED: the file's first server knows that this one may
 * have an object of the file, or is this one. Without it a request that would make one fails with THEMIS_NOT_LISTED. In
 * the reply to READ, WRITE, TRUNCATE, ALLOCATE and SIZE, EXISTS says whether the object does.
 */
enum { THEMIS_PROTO_FLAG_EXISTS = 1, THEMIS_PROTO_FLAG_LISTED = 2 };

typedef enum themis_proto_kind { THEMIS_PROTO_REQUEST = 1, THEMIS_PROTO_REPLY = 2 } themis_proto_kind_t;

/*
 * `id` is chosen by the client, grows by one for each request of a session and comes back in the reply; together with
 * the session it identifies a replayed request. A reply with a status below 0 has a `text` body that gives the cause.
 */
typedef struct themis_proto_header {
    uint8_t version;
    themis_proto_kind_t kind;
    uint16_t opcode;
    uint32_t flags; /* THEMIS_PROTO_FLAG_* */
    uint64_t id;
    int32_t status; /* themis_status_t; 0 in requests */
    uint32_t body;  /* bytes after the header */
} themis_proto_header_t;

/*
 * Borrowed text, not NUL-terminated. Jobs, hosts, policies and server names hold no control characters: they are shown
 * on terminals.
 */
typedef struct themis_proto_text {
    const char *bytes;
    uint32_t length;
} themis_proto_text_t;

/* How a file lies on the servers: stripe k is on server (first + k mod count) mod (number of servers). */
typedef struct themis_proto_layout {
    uint64_t stripe_size; /* bytes, 4 KiB to 4 GiB, a multiple of 4 KiB; 0 in a request: the server's default */
    uint32_t count;       /* servers, at least 1; 0 in a request: all */
    uint32_t first;       /* index of the server of stripe 0; UINT32_MAX in a request: by hash of the name */
} themis_proto_layout_t;

typedef enum themis_proto_type {
    THEMIS_PROTO_FILE = 1,
    THEMIS_PROTO_DIRECTORY = 2,
    THEMIS_PROTO_SYMLINK = 3
} themis_proto_type_t;

typedef struct themis_proto_hello {
    uint64_t session; /* random, the same again after a reconnect */
    themis_proto_text_t job;
    uint32_t uid, gid; /* what the client claims; server/identity.c decides what counts */
    uint32_t nodes;    /* of the job, at least 1 */
    uint32_t priority; /* at least 1 */
    themis_proto_text_t host;
    uint32_t pid;
    themis_proto_text_t policy; /* requested policy, empty for none */
    uint8_t role;               /* 0 client, 1 server, 2 tool */
    /* For the history; UTF-8, empty where they are unknown. */
    themis_proto_text_t application, project;
    uint32_t locks; /* that the client holds at this server by what it knows; it reclaims them if the server does not */
} themis_proto_hello_t;

typedef struct themis_proto_welcome {
    uint64_t incarnation;         /* of the session at this server: changes when its locks and replies were lost */
    uint32_t index;               /* of this server in the list of servers */
    uint32_t servers;             /* length of the list */
    uint64_t heartbeat;           /* ns between heartbeats that the server expects */
    themis_proto_layout_t layout; /* the server's default for new files */
    themis_proto_text_t name;
    themis_proto_text_t policy;                 /* in force */
    uint8_t policy_granted;                     /* 1: the requested policy is in force (or there was no request) */
    themis_proto_text_t fault;                  /* why the request is not a valid policy, and where; else empty */
    uint8_t store[THEMIS_PROTO_IDENTITY_BYTES]; /* of the server's store: another one has none of its data */
    uint8_t boot[THEMIS_PROTO_IDENTITY_BYTES];  /* changes when the server's machine was restarted */
} themis_proto_welcome_t;

/*
 * Rights to an object: what a request may ask for, and a capability gives. SYNC needs READ or WRITE, MAP both, and an
 * exclusive LOCK or a COUNTER that changes also WRITE; ALLOCATE needs WRITE, and UNLOCK any capability. SIZE is given
 * with every capability for bytes, DESTROY by REMOVE and by a CREATE that replaces a file, RENAME by a LOOKUP that asks
 * for it. TOUCH: to set the time of modification. OWNER: the holder owns the file; alone it allows nothing, but only
 * the owner's objects are made in memory that his processes may map.
 */
enum {
    THEMIS_PROTO_RIGHT_READ = 1,
    THEMIS_PROTO_RIGHT_WRITE = 2,
    THEMIS_PROTO_RIGHT_TRUNCATE = 4,
    THEMIS_PROTO_RIGHT_LOCK = 8, /* and COUNTER */
    THEMIS_PROTO_RIGHT_DESTROY = 16,
    THEMIS_PROTO_RIGHT_RENAME = 32,
    THEMIS_PROTO_RIGHT_TOUCH = 64,
    THEMIS_PROTO_RIGHT_SIZE = 128,
    THEMIS_PROTO_RIGHT_OWNER = 256,
    THEMIS_PROTO_RIGHTS = 511
};

/* Shows any server of the list that the home server of a name has given its holder rights to an object. A client keeps
 * it as it is; only servers can make one (server/capabilities.h). */
typedef struct themis_proto_capability {
    uint32_t rights;  /* THEMIS_PROTO_RIGHT_*; 0: none */
    uint32_t uid;     /* of the holder */
    uint64_t expires; /* ns since 1970 */
    uint8_t mac[THEMIS_PROTO_MAC_BYTES];
} themis_proto_capability_t;

typedef struct themis_proto_attr {
    uint64_t id; /* of the object that holds the bytes, the same on all servers; 0 for a directory. A symbolic link has
                    one as well, which tells it from others */
    themis_proto_type_t type;
    uint32_t mode, uid, gid;
    uint64_t created, modified; /* ns since 1970 */
    uint64_t generation;        /* of the name: no other name, and none that this path gets later, has the same */
    uint64_t store; /* hash of the identity of the first server's store when the file was made; 0: unknown */
    themis_proto_layout_t layout; /* of a directory: what its new files get where they leave it open */
    uint32_t target;              /* bytes of the target of a symbolic link, else 0 */
    uint32_t xattrs;              /* bytes of all extended attributes */
    uint8_t fresh;                /* 1: CREATE made it, 0: it existed */
    /* for the object, in replies and with CREATE_ADOPT; with the right RENAME, `seal` shows that a server has given the
     * attributes with the capability, else it is 0 */
    themis_proto_capability_t capability;
    uint8_t seal[THEMIS_PROTO_MAC_BYTES];
} themis_proto_attr_t;

typedef struct themis_proto_lookup {
    /* Absolute, normalised: no empty, "." or ".." component, no trailing slash except for "/". Other paths are
     * refused; components longer than THEMIS_PROTO_MAX_NAME are for the server to refuse. */
    themis_proto_text_t path;
    uint32_t rights; /* that the client needs: THEMIS_ACCESS if one is not given. 0: what there is */
} themis_proto_lookup_t;

/* `count` extended attributes as bytes; themis_proto_xattrs_next walks them. */
typedef struct themis_proto_xattrs {
    uint32_t count;
    const uint8_t *bytes;
    uint32_t length;
} themis_proto_xattrs_t;

/* What a name has beside its attributes. */
typedef struct themis_proto_extra {
    themis_proto_text_t target; /* of a symbolic link, else empty; no NUL */
    themis_proto_xattrs_t xattrs;
} themis_proto_extra_t;

enum {
    THEMIS_PROTO_CREATE_EXCLUSIVE = 1, /* THEMIS_EXISTS if it exists */
    THEMIS_PROTO_CREATE_ADOPT = 2,     /* use all of `attr`, which is sealed, object id included (rename) */
    THEMIS_PROTO_CREATE_REPLACE =
        4, /* replace a file of that name; the reply's attr is then the old one's. Without ADOPT: there is one, and the
              new one, which is empty, has its mode, owner and extended attributes */
    THEMIS_PROTO_CREATE_GROUP = 8 /* the group of `attr`, if it is one of the user's; for directories with S_ISGID */
};
typedef struct themis_proto_create {
    themis_proto_text_t path;
    uint32_t flags;
    themis_proto_attr_t attr; /* type, mode and layout are used; the rest only with ADOPT */
    /* With ADOPT: the old name, of the generation in `attr`. Unless the client does, the server removes it and what is
     * replaced, or makes the new name what it was if the old one cannot be removed. Empty: it does nothing. */
    themis_proto_text_t origin;
    themis_proto_extra_t extra;
} themis_proto_create_t;

typedef struct themis_proto_remove {
    themis_proto_text_t path;
    themis_proto_type_t type; /* a directory, which must be empty, or anything else: NOT_DIRECTORY or IS_DIRECTORY */
    /* The name that the object has got instead, and keeps, and `rename`, the generation of that new name: only the name
     * of this object and generation is removed. Also THEMIS_OK if it was removed for that rename, and the home of the
     * new name has not settled it; THEMIS_NO_ENTRY: it has ended, THEMIS_STALE: the server has lost all names of that
     * time. Empty and 0: any is removed, and its bytes are. */
    themis_proto_text_t renamed;
    uint64_t object, generation, rename;
} themis_proto_remove_t;

/* THEMIS_OK: the rename that has made the name of generation `rename` is complete, THEMIS_NO_ENTRY: `path` is not that
 * name any more, THEMIS_BUSY: the server does not know yet, but will soon. */
typedef struct themis_proto_rename_end {
    themis_proto_text_t path;
    uint64_t rename;
} themis_proto_rename_end_t;

enum {
    THEMIS_PROTO_SET_MODE = 1, /* not of a symbolic link: THEMIS_UNSUPPORTED */
    THEMIS_PROTO_SET_OWNER = 2,
    THEMIS_PROTO_SET_MODIFIED = 4,
    THEMIS_PROTO_SET_LAYOUT = 8 /* of a directory only */
};
typedef struct themis_proto_setattr {
    themis_proto_text_t path;
    uint32_t mask, mode, uid, gid;
    uint64_t modified;
    themis_proto_layout_t layout;
} themis_proto_setattr_t;

enum {
    THEMIS_PROTO_XATTR_CREATE = 1,  /* THEMIS_EXISTS if it exists */
    THEMIS_PROTO_XATTR_REPLACE = 2, /* THEMIS_NO_DATA if it does not */
    THEMIS_PROTO_XATTR_REMOVE = 4   /* likewise; the value is not used */
};
typedef struct themis_proto_setxattr {
    themis_proto_text_t path, name; /* of the attribute: 1 to THEMIS_PROTO_MAX_NAME bytes, no NUL */
    uint32_t flags;
    themis_proto_text_t value;
} themis_proto_setxattr_t;

/* An entry that was added so many seconds ago and has no name is removed by servers. So who has added one, and has
 * taken half of that to create the name, adds it again afterwards. */
enum { THEMIS_PROTO_ENTRY_LASTS = 10 };

typedef struct themis_proto_entry {
    themis_proto_text_t directory, name;
    themis_proto_type_t type;
} themis_proto_entry_t;

/* What a new name inherits from its directory. */
typedef struct themis_proto_added {
    themis_proto_layout_t layout;
    uint32_t mode, gid;
} themis_proto_added_t;

typedef struct themis_proto_readdir {
    themis_proto_text_t path;
    themis_proto_text_t after; /* entries after this name, in byte order; empty: from the start */
    uint32_t limit;            /* entries wanted, 1 to 4096; the reply may hold fewer */
} themis_proto_readdir_t;

/* `count` entries as bytes; themis_proto_entries_next walks them. */
typedef struct themis_proto_entries {
    uint32_t count;
    uint8_t more;
    const uint8_t *bytes;
    uint32_t length;
} themis_proto_entries_t;

/* `count` pieces of `length` bytes, `stride` bytes from start to start, as in a vector. count 1: a plain extent. */
typedef struct themis_proto_run {
    uint64_t offset; /* in the object */
    uint64_t length; /* at least 1 */
    uint64_t stride; /* at least `length` if count > 1 */
    uint64_t count;  /* at least 1 */
} themis_proto_run_t;

/*
 * The bytes of all runs, in order, are the bytes of the client's buffer, in order. offset + length of every piece is
 * below 2^63, and so is the sum of all lengths.
 */
typedef struct themis_proto_io {
    uint64_t object;
    themis_proto_capability_t capability;
    uint64_t epoch; /* of the lock that the access is made under; 0: none */
    uint8_t descriptor[THEMIS_PROTO_DESCRIPTOR_BYTES];
    uint32_t runs; /* 1 to THEMIS_PROTO_MAX_RUNS */
    const uint8_t
        *run_bytes; /* decoded with themis_proto_run_get(io, i, &run); when encoding: themis_proto_run_t array */
} themis_proto_io_t;

typedef struct themis_proto_io_done {
    /* Moved. In a READ each piece is cut at the object's end: what lies before the end is moved (holes as zeros), what
     * lies past it leaves its place in the client's buffer untouched, and later pieces keep theirs. */
    uint64_t bytes;
    uint64_t end; /* the object's end: after a WRITE; in a READ the end that decided which bytes were moved */
} themis_proto_io_done_t;

typedef struct themis_proto_resize {
    uint64_t object;
    themis_proto_capability_t capability;
    uint64_t size;
} themis_proto_resize_t;

typedef struct themis_proto_range {
    uint64_t object;
    themis_proto_capability_t capability;
    uint64_t offset, length;
} themis_proto_range_t;

typedef struct themis_proto_touch {
    uint64_t object;
    themis_proto_capability_t capability;
    uint64_t modified; /* ns since 1970 */
} themis_proto_touch_t;

/* All bodies about an object begin with these two. A SYNC of object 0 is for the names of the server alone, and needs
 * no capability. */
typedef struct themis_proto_object {
    uint64_t object;
    themis_proto_capability_t capability;
} themis_proto_object_t;

typedef struct themis_proto_unmap {
    uint64_t object;
} themis_proto_unmap_t;

/* A place in the server's memory. */
typedef struct themis_proto_location {
    uint64_t segment; /* number of the segment, from 1; never used again for another one by the same server process */
    uint64_t at;      /* byte in the segment */
} themis_proto_location_t;

/* Asks for the memory of the range; a server that grants may tell of more. */
typedef struct themis_proto_map {
    uint64_t object;
    themis_proto_capability_t capability;
    uint64_t offset, length;
    uint8_t allocate;   /* 1: for a write; holes in the range get memory first */
    uint8_t incomplete; /* 1: extents may have pages that are not valid yet, of which `pages` tells */
    uint8_t listed; /* as THEMIS_PROTO_FLAG_LISTED; without it nothing is allocated in an object that does not exist */
} themis_proto_map_t;

/* Bytes [offset, offset + length) of the object. */
typedef struct themis_proto_mapped_extent {
    uint64_t offset, length;
    themis_proto_location_t location;
    themis_proto_location_t pages; /* of the states of its pages (util/direct.h); segment 0: all are valid */
} themis_proto_mapped_extent_t;

/* `count` extents, by offset, disjoint. util/direct.h has what is at `slot` and `cell`. */
typedef struct themis_proto_mapped {
    uint32_t grant; /* 0: none now, and no extents */
    uint64_t retry; /* ns until another MAP is worthwhile; UINT64_MAX: never by this connection */
    themis_proto_location_t slot, cell;
    uint32_t count;       /* up to THEMIS_PROTO_MAX_MAPPED */
    const uint8_t *bytes; /* decoded with themis_proto_mapped_get; when encoding: themis_proto_mapped_extent_t array */
} themis_proto_mapped_t;

/* Segment 0 is the beacon of util/direct.h. */
typedef struct themis_proto_segment {
    uint64_t segment;
    uint64_t bytes; /* its size; 0 in a request */
} themis_proto_segment_t;

typedef struct themis_proto_size {
    uint64_t end;        /* one past the last byte that was written or set, in object offsets */
    uint64_t allocated;  /* bytes of the store */
    uint64_t modified;   /* ns since 1970 */
    uint32_t listed;     /* entries of the file's list; 0 unless this is its first server */
    const uint8_t *list; /* decoded with themis_proto_listed_get; when encoding: themis_proto_listed_t array */
} themis_proto_size_t;

/* Server number `index` of a file's layout may have an object of it, in the store with that hash of its identity. */
typedef struct themis_proto_listed {
    uint32_t index;
    uint64_t store;
} themis_proto_listed_t;

/* Adds to the list of an object, which needs the right to write. An entry that is there with another store, where bytes
 * may have been lost, stays, and the reply tells of it. With `drop`, which needs the right to truncate, these entries
 * are removed, if they are there with these stores: what was there is not wanted any more. */
typedef struct themis_proto_enlist {
    uint64_t object;
    themis_proto_capability_t capability;
    uint8_t drop;
    uint32_t count;      /* 1 to THEMIS_PROTO_MAX_SERVERS */
    const uint8_t *list; /* as in themis_proto_size_t */
} themis_proto_enlist_t;

typedef struct themis_proto_enlisted {
    uint32_t lost; /* the index of the first entry that stays as it was; UINT32_MAX: there is none */
} themis_proto_enlisted_t;

/* A range that the owner holds already is granted at once (a replayed request). THEMIS_BUSY: the session holds locks of
 * an earlier process of the server, which it has to reclaim before it gets others. UNLOCK frees whatever part of the
 * range the owner holds, and succeeds also if that is none. A LOCK of length 0 locks nothing: it asks for the epoch. */
enum {
    THEMIS_PROTO_LOCK_ADD = 0,
    THEMIS_PROTO_LOCK_REPLACE = 1, /* in one step in place of what the owner holds in the range, also by a weaker one */
    THEMIS_PROTO_LOCK_TEST = 2     /* THEMIS_LOCKED if another holds one that conflicts; nothing is locked */
};
typedef struct themis_proto_lock {
    uint64_t object;
    themis_proto_capability_t capability;
    uint64_t offset, length; /* file offsets; length UINT64_MAX: to the end of all files */
    uint64_t owner;          /* distinguishes lock holders of one session */
    uint8_t exclusive;
    uint8_t wait; /* 0: THEMIS_LOCKED instead of waiting */
    /* 0, or the incarnation of the session by which an earlier process of the server has granted the lock: it is
     * granted again, or THEMIS_STALE, as it may have been lost */
    uint64_t reclaim;
    uint8_t action; /* THEMIS_PROTO_LOCK_*; those but ADD only without waiting and reclaiming */
} themis_proto_lock_t;

typedef struct themis_proto_granted {
    uint64_t epoch; /* at least 1; READ and WRITE under the lock carry it. It grows when another's lock is lost. */
} themis_proto_granted_t;

enum { THEMIS_PROTO_COUNTER_GET, THEMIS_PROTO_COUNTER_SET, THEMIS_PROTO_COUNTER_ADD };
typedef struct themis_proto_counter {
    uint64_t object;
    themis_proto_capability_t capability;
    uint8_t action;
    int64_t value; /* operand */
} themis_proto_counter_t;

typedef struct themis_proto_counted {
    int64_t value; /* before the action */
} themis_proto_counted_t;

typedef struct themis_proto_text_body {
    themis_proto_text_t text; /* up to what a message holds */
} themis_proto_text_body_t;

/* One job as one server sees it. */
typedef struct themis_proto_table_row {
    themis_proto_text_t job;
    uint32_t uid, gid, nodes, priority;
    uint64_t demand; /* bytes queued and moved since the last exchange */
    uint64_t served; /* bytes moved since the server started */
} themis_proto_table_row_t;

typedef struct themis_proto_table {
    uint32_t index; /* of the sending server */
    uint64_t incarnation;
    uint64_t round;
    uint64_t capacity;          /* bytes per second that it can move; 0: unknown */
    themis_proto_text_t policy; /* by which it shares */
    uint64_t policy_set;        /* ns since 1970, when that was set; 0: it is that of its configuration */
    uint32_t total;             /* rows of the table, which may come in several messages */
    uint32_t rows;              /* in this one */
    const uint8_t *bytes;       /* walked with themis_proto_table_next; when encoding: themis_proto_table_row_t array */
    uint32_t length;
} themis_proto_table_t;

/*
 * A step that a server asks of another, to end what the client of a request may have left. Each may be asked for again.
 * DESTROY: frees the object. ENTRY: removes the entry of a name that does not exist; THEMIS_BUSY: it was added not long
 * ago, perhaps for a name that is being created. NAME: REMOVE of a name that was renamed, for that user. RENAME:
 * nothing, but THEMIS_BUSY while that server may yet ask how the old name of that rename has ended.
 */
enum {
    THEMIS_PROTO_SETTLE_DESTROY = 1,
    THEMIS_PROTO_SETTLE_ENTRY = 2,
    THEMIS_PROTO_SETTLE_NAME = 3,
    THEMIS_PROTO_SETTLE_RENAME = 4
};
typedef struct themis_proto_settle_step {
    uint8_t action;
    uint64_t object;     /* of DESTROY and NAME */
    uint64_t generation; /* of NAME */
    uint64_t rename;     /* of NAME and RENAME: generation of the new name */
    uint32_t uid, gid;   /* these and the next one: of NAME */
    themis_proto_text_t renamed;
    themis_proto_text_t path; /* "/" in DESTROY */
} themis_proto_settle_step_t;

typedef struct themis_proto_settle {
    uint32_t count;       /* 1 to THEMIS_PROTO_MAX_SETTLE */
    const uint8_t *bytes; /* walked with themis_proto_settle_next; when encoding: themis_proto_settle_step_t array */
    uint32_t length;
} themis_proto_settle_t;

/* How each step has ended, in their order. */
typedef struct themis_proto_settled {
    uint32_t count;
    const uint8_t *bytes; /* decoded with themis_proto_settled_get; when encoding: themis_status_t array */
} themis_proto_settled_t;

typedef struct themis_proto_none {
    char unused;
} themis_proto_none_t;

/*
 * Writes header and body of a request or reply to `out`, which holds `capacity` bytes, and stores the length. `body`
 * points to the struct that THEMIS_PROTO_OPCODES names (themis_proto_text_body_t for a failed reply; unused for
 * `none`). Of the header, kind, opcode, id and status are used. THEMIS_RANGE: it does not fit or breaks a limit above.
 */
themis_status_t themis_proto_encode(const themis_proto_header_t *header, const void *body, void *out, size_t capacity,
                                    size_t *length);

/*
 * Reads the header alone. THEMIS_VERSION: another version (header->version, opcode and id are set nevertheless, so
 * that a refusal can be sent). THEMIS_OPCODE: likewise for an unknown opcode. THEMIS_PROTOCOL: anything else.
 */
themis_status_t themis_proto_decode_header(const void *bytes, size_t length, themis_proto_header_t *header);

/* Any body, decoded. Which member is valid follows from kind, opcode and status of the header. */
typedef union themis_proto_body {
    themis_proto_none_t none;
    themis_proto_hello_t hello;
    themis_proto_welcome_t welcome;
    themis_proto_lookup_t lookup;
    themis_proto_attr_t attr;
    themis_proto_create_t create;
    themis_proto_remove_t remove;
    themis_proto_setattr_t setattr;
    themis_proto_entry_t entry;
    themis_proto_added_t added;
    themis_proto_extra_t extra;
    themis_proto_setxattr_t setxattr;
    themis_proto_readdir_t readdir;
    themis_proto_entries_t entries;
    themis_proto_io_t io;
    themis_proto_io_done_t io_done;
    themis_proto_resize_t resize;
    themis_proto_touch_t touch;
    themis_proto_range_t range;
    themis_proto_object_t object;
    themis_proto_unmap_t unmap;
    themis_proto_size_t size;
    themis_proto_enlist_t enlist;
    themis_proto_enlisted_t enlisted;
    themis_proto_map_t map;
    themis_proto_mapped_t mapped;
    themis_proto_segment_t segment;
    themis_proto_lock_t lock;
    themis_proto_granted_t granted;
    themis_proto_counter_t counter;
    themis_proto_counted_t counted;
    themis_proto_text_body_t text;
    themis_proto_table_t table;
    themis_proto_rename_end_t rename_end;
    themis_proto_settle_t settle;
    themis_proto_settled_t settled;
} themis_proto_body_t;

/* Reads a whole message: header and body. Errors as themis_proto_decode_header; `body` is written only on success.
 */
themis_status_t themis_proto_decode(const void *bytes, size_t length, themis_proto_header_t *header,
                                    themis_proto_body_t *body);

/* Run number `index` (below io->runs) of a decoded READ or WRITE; checked while decoding the message. */
void themis_proto_run_get(const themis_proto_io_t *io, uint32_t index, themis_proto_run_t *run);

/* Extent number `index` (below mapped->count) of a decoded reply to MAP. */
void themis_proto_mapped_get(const themis_proto_mapped_t *mapped, uint32_t index, themis_proto_mapped_extent_t *extent);

/* Appends an entry to a buffer that becomes themis_proto_entries_t.bytes; THEMIS_RANGE when it does not fit. */
themis_status_t themis_proto_entries_add(void *buffer, size_t capacity, size_t *used, const char *name,
                                         size_t name_length, themis_proto_type_t type);

/* The entry at *cursor (0 at first), which is advanced; returns 0 after the last one. */
int themis_proto_entries_next(const themis_proto_entries_t *entries, uint32_t *cursor, themis_proto_text_t *name,
                              themis_proto_type_t *type);

/* Appends an extended attribute to a buffer that becomes themis_proto_xattrs_t.bytes; THEMIS_RANGE when it does not
 * fit.
 */
themis_status_t themis_proto_xattrs_add(void *buffer, size_t capacity, size_t *used, const themis_proto_text_t *name,
                                        const themis_proto_text_t *value);

/* The extended attribute at *cursor (0 at first), which is advanced; returns 0 after the last one. */
int themis_proto_xattrs_next(const themis_proto_xattrs_t *xattrs, uint32_t *cursor, themis_proto_text_t *name,
                             themis_proto_text_t *value);

/* The same for the rows of a table. */
int themis_proto_table_next(const themis_proto_table_t *table, uint32_t *cursor, themis_proto_table_row_t *row);

/* Entry number `i` of a list of servers, which has more than that. */
themis_proto_listed_t themis_proto_listed_get(const uint8_t *list, uint32_t i);

/* The same for the steps of a SETTLE. */
int themis_proto_settle_next(const themis_proto_settle_t *settle, uint32_t *cursor, themis_proto_settle_step_t *step);

/* How step number `index` (below settled->count) of a decoded reply has ended. */
themis_status_t themis_proto_settled_get(const themis_proto_settled_t *settled, uint32_t index);

/* Is it a request with another result if it were done twice? The server keeps its last replies to these for a client
 * that has not got them. */
int themis_proto_is_done_once(unsigned opcode);

/* "READ", "HELLO", ...; "unknown" for a number that is no opcode. */
const char *themis_proto_opcode_name(unsigned opcode);
