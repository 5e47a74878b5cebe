/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client API of Themis: files on Themis servers, for C programs, the MPI-IO driver and the tools.
 *
 * A session (themis_t) connects this process to a list of servers, on behalf of one job. Connections are opened on
 * first use, and again when they were lost: an operation on a server that cannot be reached is retried for `timeout`,
 * then fails with THEMIS_UNREACHABLE, THEMIS_DISCONNECTED or THEMIS_TIMED_OUT. Paths are absolute ("/a/b"), components
 * up to 255 bytes, whole paths up to 4,096; "//", "." and ".." are resolved as text.
 *
 * Threads: every function may be called by several threads at once, on the same session or file. The library has no
 * threads of its own: operations progress in the thread that waits, and in themis_request_test. If server and client
 * are on one host, the server moves the bytes by itself, so a request proceeds even if no function is called.
 *
 * Errors: all functions return a status below 0 on failure; themis_last_error() then returns a text that names file,
 * server and cause. Results are written only on success.
 */
#ifndef THEMIS_THEMIS_H
#define THEMIS_THEMIS_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "themis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define THEMIS_API __attribute__((visibility("default")))

typedef struct themis themis_t;
typedef struct themis_file themis_file_t;
typedef struct themis_request themis_request_t;

/* Initialise with themis_options_init, then set what differs from the defaults. Texts are borrowed for the call. */
typedef struct themis_options {
    const char *servers; /* "host:port,host:port"; the order is part of the identity of the file system. NULL: the
                            environment (THEMIS_SERVERS), then the configuration file (THEMIS_CONFIG,
                            ~/.config/themis.conf, /etc/themis/themis.conf: [client] servers = ...) */
    const char *job;     /* NULL: THEMIS_JOB, then the job of Slurm, PBS or Flux, else "user@host/number", where the
                            number is that of Hydra's proxy on this host or of the login session */
    uint32_t nodes;      /* minimum number of nodes of the job; THEMIS_NODES, or if that is not set the number of the
                            batch system, is used if it is larger. 0: not known */
    uint32_t priority;   /* 0: from the environment (THEMIS_PRIORITY), else 1 */
    const char *policy;  /* policy that is requested of the servers; NULL: none */
    uint64_t timeout;    /* ns; how long a server may be unreachable; 0: THEMIS_TIMEOUT, else 60 s, or 9 s for one that
                            this session has not met, and less than 1 s where all servers refuse connections */
    int direct;          /* copies from and to the memory of servers of this host without a message: -1 never, 1 where
                            they grant it; 0: THEMIS_DIRECT (auto, on, off), else as 1 */
    const char *application; /* its name in the history of jobs where neither THEMIS_APPLICATION nor the batch system
                                gives one. NULL: that of the program. "": none, which leaves it to the job's other
                                clients; for tools that work on a job's files */
    const char *placement;   /* "host:port,host:port" of the list of servers: those that new files are on, but for files
                                with a first server of their own. NULL: THEMIS_PLACEMENT, then the configuration file
                                ([client] placement = ...), else all servers. THEMIS_CONFIG: one is not in the list */
} themis_options_t;

THEMIS_API void themis_options_init(themis_options_t *options);

/*
 * Opens a session and waits for the first server that replies; the others are connected on first use. THEMIS_CONFIG: no
 * server list, or an invalid one. THEMIS_UNREACHABLE: no server replied within the timeout. Options NULL: all defaults.
 */
THEMIS_API themis_status_t themis_connect(const themis_options_t *options, themis_t **session);

/*
 * The server list that themis_connect would use with these options (NULL: all defaults), "host:port,host:port" without
 * blanks; owned by the caller: free it. THEMIS_NO_ENTRY: none is configured. THEMIS_CONFIG: it, or another setting, is
 * wrong.
 */
THEMIS_API themis_status_t themis_configured_servers(const themis_options_t *options, char **list);

/* The mount point that the configuration file names ([client] mount), or NULL; owned by the caller: free it.
 * THEMIS_CONFIG: the file is wrong. */
THEMIS_API themis_status_t themis_configured_mount(char **mount);

/* Sets the minimum number of nodes of the job. If it is larger than before, it is sent to the servers, without waiting
 * for their replies. */
THEMIS_API themis_status_t themis_session_set_nodes(themis_t *session, uint32_t nodes);

/* Ends the session. All files must be closed and all requests ended before. NULL is allowed. */
THEMIS_API void themis_disconnect(themis_t *session);

/* Text of the last failure in this thread; "" at first. Valid until the next call in this thread. */
THEMIS_API const char *themis_last_error(void);

/* What is in force; policy and stripes as of the first server that is connected. */
typedef struct themis_session_info {
    uint32_t servers;
    const char *server_list; /* "host:port,..."; lives as long as the session */
    const char *job;
    const char *policy;
    int policy_granted;       /* 1: the policy that was requested is in force */
    const char *policy_fault; /* if the requested text is not a policy: why, and at which character; else "" */
    uint64_t stripe_size;     /* of new files */
    uint32_t stripe_count;
    int all_local; /* 1: every server is on this host and copies directly */
    int direct;    /* as in themis_options_t, for new handles */
} themis_session_info_t;
THEMIS_API themis_status_t themis_session_info(themis_t *session, themis_session_info_t *info);

/* --- names ------------------------------------------------------------------------------------------------------- */

/* Bytes of the longest path, with the terminating NUL. */
enum { THEMIS_PATH_BYTES = 4096 + 1 };

/* Resolves empty, "." and ".." components and a trailing slash as text, as all functions do with paths.
 * THEMIS_BAD_NAME: not absolute; THEMIS_NAME_TOO_LONG. */
THEMIS_API themis_status_t themis_path_normalise(const char *path, char normal[THEMIS_PATH_BYTES]);

typedef enum themis_type { THEMIS_TYPE_FILE = 1, THEMIS_TYPE_DIRECTORY = 2, THEMIS_TYPE_SYMLINK = 3 } themis_type_t;

/* Stripe k of a file is on server (first + k mod count) mod (number of servers); fixed at creation. */
typedef struct themis_layout {
    uint64_t stripe_size; /* bytes, a multiple of 4 KiB; 0 at creation: the server's default */
    uint32_t count;       /* 0 at creation: all servers */
    uint32_t first;       /* THEMIS_FIRST_ANY at creation: by hash of the path, within the session's placement */
} themis_layout_t;
#define THEMIS_FIRST_ANY UINT32_MAX

typedef struct themis_stat {
    themis_type_t type;
    uint32_t mode, uid, gid;
    uint64_t size;              /* bytes; the largest end over the file's servers, or the length of a link's target */
    uint64_t allocated;         /* bytes of store in use */
    uint64_t created, modified; /* ns since 1970 */
    uint64_t id;
    themis_layout_t layout; /* of a directory: that of new files in it, 0 where the servers' default counts */
    uint32_t
        lost; /* servers that have lost bytes of the file, whose size is then that of the rest; to read is an error */
} themis_stat_t;

/*
 * Symbolic links in a path are followed, but for the last name in themis_lstat, themis_readlink, themis_symlink,
 * themis_mkdir, themis_rmdir, themis_unlink and themis_rename. A target that begins with a slash is a path of the name
 * space. THEMIS_LOOP: more than 40 links.
 */
THEMIS_API themis_status_t themis_stat(themis_t *session, const char *path, themis_stat_t *stat);
THEMIS_API themis_status_t themis_lstat(themis_t *session, const char *path, themis_stat_t *stat);
/* The target is any text of 1 to 4,095 bytes; whether it exists is not looked at. */
THEMIS_API themis_status_t themis_symlink(themis_t *session, const char *target, const char *path);
/* THEMIS_INVALID: not a symbolic link. */
THEMIS_API themis_status_t themis_readlink(themis_t *session, const char *path, char target[THEMIS_PATH_BYTES]);
THEMIS_API themis_status_t themis_mkdir(themis_t *session, const char *path, uint32_t mode);
THEMIS_API themis_status_t themis_rmdir(themis_t *session, const char *path);
THEMIS_API themis_status_t themis_unlink(themis_t *session, const char *path);
/* Replaces a file of the new name. A directory is moved with all that is below it, entry by entry: not atomic, but
 * after a crash each entry has at least one of its names. */
THEMIS_API themis_status_t themis_rename(themis_t *session, const char *from, const char *to);
/* The owner and uid 0 may. */
THEMIS_API themis_status_t themis_chmod(themis_t *session, const char *path, uint32_t mode);
/* UINT32_MAX leaves the owner or the group. Only uid 0 changes the owner; the owner may give a file to a group of his.
 */
THEMIS_API themis_status_t themis_chown(themis_t *session, const char *path, uint32_t uid, uint32_t gid);

/*
 * Called for each entry, in byte order of names; a value other than 0 ends the listing, with success. Every name that
 * exists during the whole listing is in it once. A name whose creation was interrupted may be in it, too: themis_stat
 * then returns THEMIS_NO_ENTRY, and programs that show names to users should omit it.
 */
typedef int (*themis_entry_fn)(void *arg, const char *name, themis_type_t type);
THEMIS_API themis_status_t themis_readdir(themis_t *session, const char *path, themis_entry_fn entry, void *arg);

/*
 * Extended attributes of files and directories: names of up to 255 bytes that begin with "user.", values of up to
 * 64 KiB, 128 KiB together. Who may read the name, or owns it, sees them; who may write it changes them. They are as
 * durable as the name, and move with it. THEMIS_UNSUPPORTED: another name, or a symbolic link. THEMIS_NO_DATA: there is
 * none of that name. THEMIS_NO_SPACE: too much.
 */
enum { THEMIS_XATTR_CREATE = 1, THEMIS_XATTR_REPLACE = 2 };
/* *length is written also with THEMIS_RANGE, when the value is longer than `capacity`; 0 asks for the length only. */
THEMIS_API themis_status_t themis_xattr_get(themis_t *session, const char *path, const char *name, void *value,
                                            size_t capacity, size_t *length);
THEMIS_API themis_status_t themis_xattr_set(themis_t *session, const char *path, const char *name, const void *value,
                                            size_t length, int flags);
THEMIS_API themis_status_t themis_xattr_remove(themis_t *session, const char *path, const char *name);
/* Called for each, until it returns other than 0. */
typedef int (*themis_xattr_fn)(void *arg, const char *name, const void *value, size_t length);
THEMIS_API themis_status_t themis_xattr_list(themis_t *session, const char *path, themis_xattr_fn xattr, void *arg);

/* Sets the layout of a directory, which new files and directories in it get, or of a file that is empty and that nobody
 * has open: other handles fail with THEMIS_STALE from then on. Who owns it may. THEMIS_BUSY: the file is not empty. */
THEMIS_API themis_status_t themis_set_layout(themis_t *session, const char *path, const themis_layout_t *layout);

/* --- files ------------------------------------------------------------------------------------------------------- */

enum {
    THEMIS_OPEN_READ = 1,
    THEMIS_OPEN_WRITE = 2,
    THEMIS_OPEN_CREATE = 4,
    THEMIS_OPEN_EXCLUSIVE = 8, /* with CREATE: THEMIS_EXISTS if the file exists */
    THEMIS_OPEN_TRUNCATE = 16
};

/*
 * `mode` and `layout` are used if the file is created; layout NULL: defaults. Connects to the servers of the file; one
 * that does not answer within a second is left for later.
 *
 * A server that comes back with another store, such as an arena that was started again, or with another directory, has
 * none of the data. All operations by handles from before that concern it fail with THEMIS_LOST as soon as it has
 * answered. So do those on an object that the handle has written and the server no longer has, and a sync after the
 * server's machine was restarted since the file was opened, as written bytes may be gone.
 *
 * A handle keeps the rights that it was opened with, whatever becomes of the mode, for the lifetime that the servers'
 * configuration says (a day). After that the name is looked up again: THEMIS_ACCESS, the mode does not allow what the
 * file was opened for; THEMIS_STALE, the file was renamed or removed.
 */
THEMIS_API themis_status_t themis_open(themis_t *session, const char *path, int flags, uint32_t mode,
                                       const themis_layout_t *layout, themis_file_t **file);

/* Releases the handle and its locks, whatever the result, which is that of releasing the locks. THEMIS_LOST: a server
 * that the handle has written to has lost what it had. Does not sync. */
THEMIS_API themis_status_t themis_close(themis_file_t *file);

/*
 * A handle as bytes, so that one rank opens a file and broadcasts it to the others, without a message to any server.
 * Pack writes at most `capacity` bytes and stores the length; THEMIS_HANDLE_BYTES always suffice.
 */
#define THEMIS_HANDLE_BYTES (4352 + 16 * 4097)
THEMIS_API themis_status_t themis_file_pack(const themis_file_t *file, void *bytes, size_t capacity, size_t *length);
THEMIS_API themis_status_t themis_file_unpack(themis_t *session, const void *bytes, size_t length,
                                              themis_file_t **file);

/*
 * The objects of a file that a handle knows to exist, as it has written them: bit i is that of server i of the layout.
 * A sync by a handle that was told of those of all ranks fails with THEMIS_LOST if a server has lost one.
 */
#define THEMIS_KNOWN_WORDS(count) (((size_t)(count) + 31) / 32)
THEMIS_API void themis_file_known(const themis_file_t *file, uint32_t *words);
THEMIS_API void themis_file_learn(themis_file_t *file, const uint32_t *words);

THEMIS_API void themis_file_layout(const themis_file_t *file, themis_layout_t *layout);
THEMIS_API const char *themis_file_path(const themis_file_t *file); /* borrowed, as long as the file */
THEMIS_API themis_t *themis_file_session(const themis_file_t *file);
/* Size and times as of the servers now, the other attributes as of themis_open. */
THEMIS_API themis_status_t themis_file_stat(themis_file_t *file, themis_stat_t *stat);

/* Direct access by this handle from now on, as in themis_options_t. THEMIS_INVALID: another value. */
THEMIS_API themis_status_t themis_file_set_direct(themis_file_t *file, int direct);
/* Bytes that this handle has moved so far. */
typedef struct themis_moved {
    uint64_t direct, messages;
} themis_moved_t;
THEMIS_API void themis_file_moved(const themis_file_t *file, themis_moved_t *moved);

/* --- data -------------------------------------------------------------------------------------------------------- */

/*
 * `count` pieces of `length` bytes each, `stride` bytes from start to start: one row of a vector. count 1 is a plain
 * extent. The pieces of a list may be in any order; bytes that one call writes twice get one of the values.
 */
typedef struct themis_run {
    uint64_t offset, length, stride, count;
} themis_run_t;

/* Reads stop at the end of the file (fewer bytes, 0 at or past it); holes read as zeros. *done: bytes moved. */
THEMIS_API themis_status_t themis_read(themis_file_t *file, void *buffer, size_t bytes, uint64_t offset, size_t *done);
THEMIS_API themis_status_t themis_write(themis_file_t *file, const void *buffer, size_t bytes, uint64_t offset,
                                        size_t *done);

/*
 * List I/O: the bytes of `memory`, in order, are the bytes of `runs`, in order; both sums are equal (else
 * THEMIS_INVALID). One request per server, however many pieces. In a read, memory for bytes past the end of the file is
 * left untouched, and *done counts the bytes before the first of them.
 */
typedef struct themis_list {
    const struct iovec *memory;
    size_t memory_count;
    const themis_run_t *runs;
    size_t run_count;
} themis_list_t;
THEMIS_API themis_status_t themis_read_list(themis_file_t *file, const themis_list_t *list, size_t *done);
THEMIS_API themis_status_t themis_write_list(themis_file_t *file, const themis_list_t *list, size_t *done);

/*
 * Non-blocking forms. The lists are copied; the memory they name must remain valid until the request has ended. Every
 * request is ended by one themis_request_wait, or by a themis_request_test that reports completion; both free it then.
 */
THEMIS_API themis_status_t themis_iread_list(themis_file_t *file, const themis_list_t *list,
                                             themis_request_t **request);
THEMIS_API themis_status_t themis_iwrite_list(themis_file_t *file, const themis_list_t *list,
                                              themis_request_t **request);
/* The status of the operation; *done as above. */
THEMIS_API themis_status_t themis_request_wait(themis_request_t *request, size_t *done);
/* THEMIS_IN_PROGRESS while it runs, else as wait. */
THEMIS_API themis_status_t themis_request_test(themis_request_t *request, size_t *done);

/* Waits until some request of the session has ended or `timeout` ns are over; for callers with several requests. */
THEMIS_API themis_status_t themis_progress(themis_t *session, uint64_t timeout);

THEMIS_API themis_status_t themis_truncate(themis_file_t *file, uint64_t size);
/* Reserves space for [0, size) and makes the file at least that long. */
THEMIS_API themis_status_t themis_allocate(themis_file_t *file, uint64_t size);
/* When it returns, written bytes, the file's name and those of the directories above it are as durable as the store of
 * the servers: on disk with `posix`, until the server process ends with `arena`. */
THEMIS_API themis_status_t themis_sync(themis_file_t *file);

/* --- locks and the shared file pointer ---------------------------------------------------------------------------- */

/* With TRY only: REPLACE, as one step in place of what the handle holds in the range, stronger or weaker; TEST, locks
 * nothing, and is THEMIS_LOCKED if another holds a lock that conflicts. */
enum {
    THEMIS_LOCK_SHARED = 0,
    THEMIS_LOCK_EXCLUSIVE = 1,
    THEMIS_LOCK_TRY = 2,
    THEMIS_LOCK_REPLACE = 4,
    THEMIS_LOCK_TEST = 8
};
/* length UINT64_MAX: without end. THEMIS_LOCKED: with TRY, instead of waiting; else, a wait that the server has seen to
 * be a deadlock, or that has lasted for its lock_wait (doc/configuration.md). Locks belong to the file handle and end
 * with it, with the session, or when its lease expires after the client was lost. Each lock is released by one unlock
 * of the same range, or all of them by one of the whole file.
 *
 * Locks are lost when the server that keeps them restarts, or when the lease expires. All reads, writes and locks by
 * the handle then fail with THEMIS_STALE until it has released what it held; these unlocks fail with it, too. What the
 * handle accesses while it holds a lock goes by messages, and servers refuse it once the next holder of a lost lock has
 * accessed the file. */
THEMIS_API themis_status_t themis_lock(themis_file_t *file, uint64_t offset, uint64_t length, int flags);
THEMIS_API themis_status_t themis_unlock(themis_file_t *file, uint64_t offset, uint64_t length);

/* One counter per file, on its first server: the shared file pointer. *before: the value before the addition. */
THEMIS_API themis_status_t themis_counter_get(themis_file_t *file, int64_t *value);
THEMIS_API themis_status_t themis_counter_set(themis_file_t *file, int64_t value);
THEMIS_API themis_status_t themis_counter_add(themis_file_t *file, int64_t delta, int64_t *before);

/* --- administration ----------------------------------------------------------------------------------------------- */

/* Status of server `index`: "server", "jobs", "metrics" or "policy"; JSON (or OpenMetrics text) that the caller frees.
 * "jobs" has 400 jobs at most; "jobs N" continues after the one whose "number" is N, until the array is empty.
 * "instance" is a word that is different for each server process: two sessions that get the same one have that server
 * in common, under whatever name, and a path then means the same file or directory in both. */
THEMIS_API themis_status_t themis_query(themis_t *session, uint32_t index, const char *what, char **text);
/* Sets the policy of server `index`; *text (freed by the caller) is the policy in force. After a failure
 * themis_last_error() has the position of the error. */
THEMIS_API themis_status_t themis_policy_set(themis_t *session, uint32_t index, const char *policy, char **text);
/* Gives server `index` a plan of periodic I/O (JSON, doc/periodic.md) and the policy that follows it; *text as above.
 */
THEMIS_API themis_status_t themis_plan_set(themis_t *session, uint32_t index, const char *plan, char **text);
/* Asks the allocation service of server `index` for servers, or about them (JSON, server/allocation_requests.h); *text,
 * JSON as well, is freed by the caller. THEMIS_UNSUPPORTED: that server has none. */
THEMIS_API themis_status_t themis_allocation_ask(themis_t *session, uint32_t index, const char *question, char **text);
/* Asks server `index` what it has, or has it mend something, as `themis check` does (server/check.h has the questions
 * and the form of the answers, which are not stable); the text is freed by the caller. For administrators. */
THEMIS_API themis_status_t themis_check(themis_t *session, uint32_t index, const char *question, char **text);
/* Tells server `index` to complete its requests and stop. */
THEMIS_API themis_status_t themis_shutdown(themis_t *session, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
