/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ROMIO driver "themis:". It overrides what servers can do better and leaves the rest to ADIOI_GEN_*:
 * - ad_themis_open.c: one rank opens, the others get the handle by broadcast;
 * - ad_themis_io.c, _list.c, _async.c: data, contiguous and, as lists in one request, noncontiguous; blocking and not;
 * - ad_themis_coll*.c: collective calls; _pending.c: what calls behind an MPI request have in common;
 * - ad_themis_control.c: size, sync, locks, delete; _hints.c, _error.c, _session.c: what their names say.
 *
 * Functions have the signatures of ROMIO's table of operations; *error_code is MPI_SUCCESS or a code of MPICH's.
 */
#ifndef AD_THEMIS_H
#define AD_THEMIS_H
#include "adio.h"
#include "ad_themis_romio.h"
#include "themis/themis.h"
#include "util/direction.h"
#include "util/flat_type.h"
#ifndef AD_THEMIS_GRAFTED
#include "adio/glue/glue.h"
#endif

#ifndef ADIO_THEMIS
#define ADIO_THEMIS 190 /* in ROMIO's numbering of file systems */
#endif

extern struct ADIOI_Fns_struct ADIO_THEMIS_operations;

/* --- hints ---------------------------------------------------------------------------------------------------------
 * X(name, kind, choices): the hint is "themis_<name>"; its value is checked by its kind (ad_themis_hint_check.c).
 */
#define AD_THEMIS_HINTS(X)                                                                                             \
    X(servers, SERVERS, NULL)                                                                                          \
    X(policy, TEXT, NULL)                                                                                              \
    X(timeout, DURATION, NULL)                                                                                         \
    X(collective, CHOICE, "auto|twophase|list")                                                                        \
    X(fd_method, CHOICE, "auto|even|aligned|stripe-size|static-cyclic|group-cyclic|transpose")                         \
    X(placement, CHOICE, "auto|default|locality|topology")                                                             \
    X(aggregators, AGGREGATORS, NULL)                                                                                  \
    X(topology, TOPOLOGY, NULL)                                                                                        \
    X(cache, CHOICE, "auto|off|on")                                                                                    \
    X(stripe_count, SHOWN, NULL)                                                                                       \
    X(stripe_first, SHOWN, NULL)                                                                                       \
    X(topology_used, SHOWN, NULL)                                                                                      \
    X(collective_used, SHOWN, NULL)                                                                                    \
    X(hop_bytes, SHOWN, NULL)                                                                                          \
    X(hop_bytes_default, SHOWN, NULL)                                                                                  \
    X(server_hop_bytes, SHOWN, NULL)                                                                                   \
    X(server_hop_bytes_default, SHOWN, NULL)                                                                           \
    X(max_link_bytes, SHOWN, NULL)                                                                                     \
    X(max_link_bytes_default, SHOWN, NULL)                                                                             \
    X(aggregators_used, SHOWN, NULL)                                                                                   \
    X(moved_bytes, SHOWN, NULL)                                                                                        \
    X(plans_made, SHOWN, NULL)

typedef enum ADIOI_THEMIS_Hint {
#define AD_THEMIS_HINT_ENUM(name, kind, choices) AD_THEMIS_HINT_##name,
    AD_THEMIS_HINTS(AD_THEMIS_HINT_ENUM)
#undef AD_THEMIS_HINT_ENUM
        AD_THEMIS_HINT_NUMBER
} ADIOI_THEMIS_Hint;

/* A datatype that was flattened, kept until another one is used in its place. All zero is none. */
typedef struct ADIOI_THEMIS_Flat {
    uint64_t name; /* of ROMIO's flattened type that it was made from; 0: none */
    themis_util_flat_type_t type;
} ADIOI_THEMIS_Flat;

/* The driver's part of an open file (fd->fs_ptr); made by the first SetInfo, ended by Close. */
typedef struct ADIOI_THEMIS_File {
    themis_file_t *handle; /* owned; NULL while it is not open */
    themis_t *session;     /* borrowed from the table of sessions */
    char *name;            /* as the program gave it; owned; NULL while fd->filename is that */
    themis_layout_t layout;
    unsigned collective_calls;           /* that have reached the driver */
    int shared_failed;                   /* 1: the last access to the shared file pointer failed */
    int everywhere;                      /* 1: all ranks of fd->comm have it open, so Close may communicate */
    char *hint[AD_THEMIS_HINT_NUMBER];   /* owned; NULL: not given, or nonsense */
    int striping_factor, start_iodevice; /* wishes for a new file; 0 and -1: none */
    int cb_nodes;                        /* given by the user; 0: not */
    ADIOI_THEMIS_Flat view;              /* the file type, unless that is contiguous */
    struct ADIOI_THEMIS_Coll *coll;      /* the collective path; owned; NULL until it is needed */
    struct ADIOI_THEMIS_Cache *cache;    /* of independent accesses; owned; NULL: none yet */
} ADIOI_THEMIS_File;

static inline ADIOI_THEMIS_File *ADIOI_THEMIS_file(ADIO_File fd)
{
    return fd->fs_ptr;
}

/* The file as the program named it behind "themis:", for messages. Borrowed. */
static inline const char *ADIOI_THEMIS_Name(ADIO_File fd)
{
    return ADIOI_THEMIS_file(fd) && ADIOI_THEMIS_file(fd)->name ? ADIOI_THEMIS_file(fd)->name : fd->filename;
}

/* Who goes by a hint. */
typedef enum ADIOI_THEMIS_Hint_use {
    AD_THEMIS_USE_NONE,
    AD_THEMIS_USE_GIVEN, /* nobody; shown if it was given */
    AD_THEMIS_USE_OURS,
    AD_THEMIS_USE_ROMIO
} ADIOI_THEMIS_Hint_use;

/* Checks what a program gave for a hint. *why: what is wrong with it, static, or NULL; NONE without a reason for what
 * is not of our concern or has no effect here. text[MPI_MAX_INFO_VAL + 1]: the value in ROMIO's spelling. */
ADIOI_THEMIS_Hint_use ADIOI_THEMIS_Hint_check(const char *key, const char *value, char *text, const char **why);
const char *ADIOI_THEMIS_Hint_key(ADIOI_THEMIS_Hint hint);
/* The keys of ROMIO's hints that have no effect here, from index 0; NULL behind the last. */
const char *ADIOI_THEMIS_Hint_without_effect(size_t index);
/* 1: `info` (may be MPI_INFO_NULL) has one of our hints with a sound value, which goes to text[MPI_MAX_INFO_VAL + 1];
 * otherwise warns, naming `name`, if it has one. */
int ADIOI_THEMIS_Hint_given(MPI_Info info, ADIOI_THEMIS_Hint hint, const char *name, char *text);

void ADIOI_THEMIS_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code);
/* The checked text of a hint, or NULL. Borrowed. */
const char *ADIOI_THEMIS_Hint_text(ADIO_File fd, ADIOI_THEMIS_Hint hint);
/* Shows a hint's value in what MPI_File_get_info returns. */
void ADIOI_THEMIS_Hint_show(ADIO_File fd, const char *key, const char *value);
void ADIOI_THEMIS_Hint_show_number(ADIO_File fd, const char *key, long long value);
/* The driver's part of the file; NULL: out of memory. */
ADIOI_THEMIS_File *ADIOI_THEMIS_File_make(ADIO_File fd);
void ADIOI_THEMIS_File_free(ADIO_File fd);

/* --- errors --------------------------------------------------------------------------------------------------------*/

enum { AD_THEMIS_TEXT = 512 };

/* An MPI error code for `status`, whose text names the file `name` and the cause `text`; MPI_SUCCESS for THEMIS_OK. The
 * only place where a status becomes an MPI error class. */
int ADIOI_THEMIS_Error(const char *function, int line, themis_status_t status, const char *name, const char *text);
/* The same with the text of the client library's last failure in this thread. */
#define ADIOI_THEMIS_FAILURE(status, name) ADIOI_THEMIS_Error(__func__, __LINE__, (status), (name), themis_last_error())

/* Rank `root` tells all ranks of fd->comm the outcome of what it did alone; all get the same code. */
void ADIOI_THEMIS_Agree(ADIO_File fd, int root, const char *function, themis_status_t status, int *error_code);

/* Waiting for a server gives ROMIO's lock to other threads. */
static inline int ADIOI_THEMIS_Lock_release(void)
{
#ifdef AD_THEMIS_GRAFTED
    return 0;
#else
    return themis_glue_lock_release();
#endif
}

static inline void ADIOI_THEMIS_Lock_acquire(int held)
{
#ifndef AD_THEMIS_GRAFTED
    themis_glue_lock_acquire(held);
#endif
}

/* status = THEMIS call, without ROMIO's lock. */
#define AD_THEMIS_UNLOCKED(status, call)                                                                               \
    do {                                                                                                               \
        int held_ = ADIOI_THEMIS_Lock_release();                                                                       \
        (status) = (call);                                                                                             \
        ADIOI_THEMIS_Lock_acquire(held_);                                                                              \
    } while (0)

/* --- sessions and names --------------------------------------------------------------------------------------------*/

/* What a session is asked for; texts borrowed, NULL: not given. Equal wishes share a session. */
typedef struct ADIOI_THEMIS_Wish {
    const char *servers, *job, *policy;
    uint64_t timeout; /* ns, 0: default */
    uint32_t nodes;   /* 0: unknown */
} ADIOI_THEMIS_Wish;

/* A session of this process, made if need be; it lives until MPI_Finalize. A job that turns out to have more nodes is
 * made larger. */
themis_status_t ADIOI_THEMIS_Session(const ADIOI_THEMIS_Wish *asked, themis_t **session);

/* 1 the first time that it is called for a session: a wish for a policy that was not granted is told once. */
int ADIOI_THEMIS_Session_untold(const themis_t *session);

/* What stands for a list of servers in names that are too long otherwise: the same in all processes of a job, and
 * understood by those that have a session with these servers. */
enum { AD_THEMIS_SHORT_SERVERS = 18 }; /* bytes, with the final zero */
void ADIOI_THEMIS_Servers_shorten(const char *servers, char text[AD_THEMIS_SHORT_SERVERS]);

/* Splits "//host:port,host:port/path" or "/path" or "path" (what ROMIO leaves of the name given by the user). *servers
 * (empty: none named) and *path, absolute, are owned by the caller (free). */
themis_status_t ADIOI_THEMIS_Name_split(const char *name, char **servers, char **path);

/* --- datatypes and lists ------------------------------------------------------------------------------------------ */

static inline uint64_t ADIOI_THEMIS_Bytes(AD_THEMIS_COUNT count, MPI_Datatype datatype)
{
    MPI_Count size;

    MPI_Type_size_x(datatype, &size);
    return (uint64_t)size * (uint64_t)count;
}

/* Tells MPI how many bytes were moved; status may be MPI_STATUS_IGNORE. */
static inline void ADIOI_THEMIS_Status_set(ADIO_Status *status, MPI_Datatype datatype, uint64_t bytes)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (status)
        MPIR_Status_set_bytes(status, datatype, (MPI_Count)bytes);
#endif
}

/* The datatype in this form; NULL: out of memory. Borrowed until another type takes its place or it is freed. */
const themis_util_flat_type_t *ADIOI_THEMIS_Flat_type(ADIOI_THEMIS_Flat *flat, MPI_Datatype datatype);
void ADIOI_THEMIS_Flat_free(ADIOI_THEMIS_Flat *flat);

/* Where an access begins, in bytes of the view's data: at `offset` in etypes for ADIO_EXPLICIT_OFFSET, else at the
 * individual file pointer. And, after that, the offset in the file of such a position. */
uint64_t ADIOI_THEMIS_View_position(ADIO_File fd, int file_ptr_type, ADIO_Offset offset);
ADIO_Offset ADIOI_THEMIS_View_offset(ADIO_File fd, uint64_t position);

/* An access that is worked off in batches, each a list for the client library. Must not be copied. */
typedef struct ADIOI_THEMIS_Access {
    const themis_util_flat_type_t *view, *memory; /* borrowed from the open file; `buffer`, or contiguous bytes */
    ADIOI_THEMIS_Flat buffer;
    uint64_t origin, position; /* of the view: its displacement; the next byte of its data */
    uint64_t base, moved;      /* the address of the buffer; bytes of it that batches have taken */
    uint64_t left;             /* bytes that no batch has taken yet */
    uint64_t batch;            /* bytes of the current batch */
    themis_util_runs_t runs, pieces;
    struct iovec *iov; /* the pieces one by one */
    size_t iov_count, iov_capacity;
} ADIOI_THEMIS_Access;

/* Prepares an access of `count` elements where ADIOI_THEMIS_View_position says. 0, or -1: out of memory. To be ended in
 * any case. */
int ADIOI_THEMIS_Access_begin(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIOI_THEMIS_Access *access);
/* The same for contiguous bytes at an absolute offset; cannot fail. */
void ADIOI_THEMIS_Access_plain(const void *buf, uint64_t bytes, uint64_t offset, ADIOI_THEMIS_Access *access);
/* The next batch; 0 bytes in access->batch at the end. 0, or -1: out of memory. */
int ADIOI_THEMIS_Access_next(ADIOI_THEMIS_Access *access);
/* The batch as the client library wants it; borrowed until the next batch. */
themis_list_t ADIOI_THEMIS_Access_list(const ADIOI_THEMIS_Access *access);
/* The offset of the byte that follows the whole access, where the individual file pointer goes. */
ADIO_Offset ADIOI_THEMIS_Access_target(const ADIOI_THEMIS_Access *access);
/* The range [*first, *end) of the file in which all bytes lie that no batch has taken yet; there is one at least. */
void ADIOI_THEMIS_Access_range(const ADIOI_THEMIS_Access *access, uint64_t *first, uint64_t *end);
void ADIOI_THEMIS_Access_end(ADIOI_THEMIS_Access *access);

/* --- independent accesses through a cache (ad_themis_cache.c) ------------------------------------------------------
 */

typedef struct ADIOI_THEMIS_Cache ADIOI_THEMIS_Cache;

/* 1: the hint asks for a cache, for small collective calls as well. */
int ADIOI_THEMIS_Cache_asked(ADIO_File fd);
/* 1: the hint asks for it, the file is not in atomic mode, and its shared pointer was not used; the file has its cache
 * then. With ROMIO's lock. */
int ADIOI_THEMIS_Cache_wanted(ADIO_File fd);
/* Reads or writes a list through the file's cache, which it has. */
themis_status_t ADIOI_THEMIS_Cache_move(ADIO_File fd, themis_direction_t direction, const themis_list_t *list,
                                        size_t *done);
/* Local: what was written goes to the servers, what was read is forgotten. */
themis_status_t ADIOI_THEMIS_Cache_settle(ADIO_File fd);
/* The same at the end of the file. */
themis_status_t ADIOI_THEMIS_Cache_end(ADIO_File fd);
/* Local: the same for collective calls' cache and this one, before anything else looks at the file. */
themis_status_t ADIOI_THEMIS_Settle(ADIO_File fd);

/* --- collective calls ---------------------------------------------------------------------------------------------*/

/* Local: what this rank's collective calls have kept back goes to the servers, before an independent access. */
themis_status_t ADIOI_THEMIS_Coll_settle(ADIO_File fd);
/* Collective: the same on all ranks, and the first failure of what was kept back; an MPI error code. */
int ADIOI_THEMIS_Coll_sync(ADIO_File fd);
/* Collective: sets up the collective path, so that later calls need not. All ranks get the same code. */
int ADIOI_THEMIS_Coll_open(ADIO_File fd);
/* Collective: ends the collective path; what was kept back is lost unless sync came before. */
void ADIOI_THEMIS_Coll_close(ADIO_File fd);
/* Local, called by all ranks alike: nothing is kept back from now on (0), or again as the hints say (1). */
void ADIOI_THEMIS_Coll_allow_cache(ADIO_File fd, int allowed);

/* 1: a null pointer, or a small number, where bytes are to be (with a type of absolute addresses it may be). */
int ADIOI_THEMIS_Buffer_bad(const void *buf, MPI_Count count, MPI_Datatype datatype);

/* --- calls behind an MPI request --------------------------------------------------------------------------------- */

/* The first member of the state of such a call (an extended generalized request). */
typedef struct ADIOI_THEMIS_Pending {
    MPI_Request mpi;
    uint64_t done;       /* bytes moved */
    int code;            /* MPI error code of the whole */
    uint64_t polled;     /* ns; the last time that MPI asked */
    unsigned impatience; /* how often it asked in quick succession */
} ADIOI_THEMIS_Pending;

/* 1: MPI asks in quick succession, that is, it waits, and may be kept waiting for some microseconds. Programs that
 * compute between two tests are not kept. */
int ADIOI_THEMIS_Pending_waits(ADIOI_THEMIS_Pending *pending);

/* How a kind of call goes on; each kind has one such object, static, with the functions set. */
typedef struct ADIOI_THEMIS_Pending_class {
    MPIX_Grequest_poll_function *poll;
    MPIX_Grequest_wait_function *wait;
    MPI_Grequest_free_function *free; /* of the state, when MPI needs it no more */
    MPIX_Grequest_class class;        /* MPICH wants one for a process; made at the first call */
    int made;
} ADIOI_THEMIS_Pending_class;

/* Makes the request; MPI owns the state from here on. */
void ADIOI_THEMIS_Pending_start(ADIOI_THEMIS_Pending_class *class, ADIOI_THEMIS_Pending *pending, MPI_Request *request);

/* --- operations --------------------------------------------------------------------------------------------------- */

void ADIOI_THEMIS_Open(ADIO_File fd, int *error_code);
void ADIOI_THEMIS_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code);
void ADIOI_THEMIS_Close(ADIO_File fd, int *error_code);
void ADIOI_THEMIS_ReadContig(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                             ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_THEMIS_WriteContig(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_THEMIS_ReadStrided(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                              ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_THEMIS_WriteStrided(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_THEMIS_ReadStridedColl(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                  int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_THEMIS_WriteStridedColl(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_THEMIS_IreadContig(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                              ADIO_Offset offset, ADIO_Request *request, int *error_code);
void ADIOI_THEMIS_IwriteContig(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code);
void ADIOI_THEMIS_IreadStrided(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                               ADIO_Offset offset, ADIO_Request *request, int *error_code);
void ADIOI_THEMIS_IwriteStrided(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code);
void ADIOI_THEMIS_IreadStridedColl(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code);
void ADIOI_THEMIS_IwriteStridedColl(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                    int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code);
void ADIOI_THEMIS_Fcntl(ADIO_File fd, int flag, ADIO_Fcntl_t *arg, int *error_code);
void ADIOI_THEMIS_Flush(ADIO_File fd, int *error_code);
void ADIOI_THEMIS_Resize(ADIO_File fd, ADIO_Offset size, int *error_code);
void ADIOI_THEMIS_Delete(const char *filename, int *error_code);
/* The hints of this thread's next delete; MPI_INFO_NULL: none. Borrowed until then. */
void ADIOI_THEMIS_Delete_hints(MPI_Info info);
int ADIOI_THEMIS_Feature(ADIO_File fd, int flag);
int ADIOI_THEMIS_SetLock(ADIO_File fd, int cmd, int type, ADIO_Offset offset, int whence, ADIO_Offset len);

/* The shared file pointer, in etypes: adds `increment` to the counter of the hidden file fd->shared_fp_fd, which is
 * open, and gives what it was before; or sets it. */
void ADIOI_THEMIS_Shared_add(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *error_code);
void ADIOI_THEMIS_Shared_set(ADIO_File fd, ADIO_Offset value, int *error_code);
#endif
