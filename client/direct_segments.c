/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "client/direct_segments.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client/error.h"

/* Addresses, not memory: the server keeps none of a segment that it no longer uses. */
static const uint64_t max_idle = UINT64_C(16) << 30;
static const uint64_t alignment = 2 << 20; /* of huge pages */

void themis_client_direct_segments_init(themis_client_direct_segments_t *segments, themis_client_calls_t *calls)
{
    *segments = (themis_client_direct_segments_t){.calls = calls};
    pthread_mutex_init(&segments->lock, NULL);
}

static void segment_destroy(themis_client_direct_segment_t *segment)
{
    munmap(segment->base, segment->bytes);
    free(segment);
}

void themis_client_direct_segments_free(themis_client_direct_segments_t *segments)
{
    themis_client_direct_segment_t *next;

    for (themis_client_direct_segment_t *segment = segments->first; segment; segment = next) {
        next = segment->next;
        segment_destroy(segment);
    }
    pthread_mutex_destroy(&segments->lock);
}

/* --- mapping ------------------------------------------------------------------------------------------------------ */

/* What another user could cut off under our hands would end this process with SIGBUS. Memory is sealed against that. A
 * file, which cannot be, has to be this user's and of no use to others: then no server of another user has made it. */
static int is_safe(int fd, uint64_t bytes)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat found;

    if (fstat(fd, &found) != 0 || (uint64_t)found.st_size < bytes)
        return 0;
    if (seals >= 0 && (seals & F_SEAL_SHRINK))
        return 1;
    return S_ISREG(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* An aligned place for so many bytes; MAP_FAILED: none. */
static char *place_reserve(uint64_t bytes)
{
    char *space = mmap(NULL, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (space == MAP_FAILED)
        return space;
    uint64_t before = (alignment - (uintptr_t)space % alignment) % alignment;
    if (before > 0)
        munmap(space, before);
    munmap(space + before + bytes, alignment - before);
    return space + before;
}

static themis_status_t segment_map(themis_client_direct_segment_t *segment, int fd)
{
    int protection = segment->serial == 0 ? PROT_READ : PROT_READ | PROT_WRITE;

    if (!is_safe(fd, segment->bytes))
        return themis_client_fail(THEMIS_PROTOCOL, "a server's memory could become smaller");
    segment->base = place_reserve(segment->bytes);
    if (segment->base == MAP_FAILED)
        return themis_client_fail(THEMIS_NO_MEMORY, "no addresses for a server's memory");
    if (mmap(segment->base, segment->bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
        madvise(segment->base, segment->bytes, MADV_DONTFORK) != 0) {
        munmap(segment->base, segment->bytes);
        return themis_client_fail(THEMIS_NO_MEMORY, "a server's memory could not be mapped");
    }
    madvise(segment->base, segment->bytes, MADV_DONTDUMP);
    return THEMIS_OK;
}

static themis_status_t check_size(uint64_t bytes)
{
    if (bytes > 0 && bytes <= INT64_MAX && bytes % (uint64_t)sysconf(_SC_PAGESIZE) == 0)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_PROTOCOL, "a server's memory has a size that is not one of pages");
}

/* Asks the server; the descriptor belongs to the call. */
static themis_status_t segment_fetch(themis_client_direct_segments_t *segments, themis_client_direct_segment_t *segment)
{
    themis_proto_segment_t request = {.segment = segment->serial};
    themis_proto_body_t reply;
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_get(segments->calls, segment->server, &call);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_do(call, THEMIS_OP_SEGMENT, &request, NULL, &reply);
    if (status == THEMIS_OK && call->connection != segment->connection)
        status = THEMIS_DISCONNECTED;
    else if (status == THEMIS_OK && call->descriptor < 0)
        status = themis_client_fail(THEMIS_PROTOCOL, "no descriptor came with a server's memory");
    else if (status == THEMIS_OK && (status = check_size(reply.segment.bytes)) == THEMIS_OK) {
        segment->bytes = reply.segment.bytes;
        status = segment_map(segment, call->descriptor);
    }
    themis_client_call_put(call);
    return status;
}

/* --- the list; with its lock held --------------------------------------------------------------------------------- */

static themis_client_direct_segment_t *find(const themis_client_direct_segments_t *segments, uint32_t server,
                                            uint64_t connection, uint64_t serial)
{
    themis_client_direct_segment_t *segment = segments->first;

    while (segment && (segment->serial != serial || segment->connection != connection || segment->server != server))
        segment = segment->next;
    return segment;
}

static void segment_ref(themis_client_direct_segments_t *segments, themis_client_direct_segment_t *segment)
{
    if (segment->references++ == 0)
        segments->idle -= segment->bytes;
}

static void add(themis_client_direct_segments_t *segments, themis_client_direct_segment_t *segment)
{
    themis_client_direct_segment_t **end = &segments->first;

    while (*end)
        end = &(*end)->next;
    segment->next = NULL;
    *end = segment;
    segments->idle += segment->bytes;
}

/* Those that nothing refers to, if their connection has gone or there are too many. */
static void trim(themis_client_direct_segments_t *segments)
{
    const themis_client_peer_t *peers = segments->calls->peers->array;
    themis_client_direct_segment_t **at = &segments->first, *segment;

    while ((segment = *at) != NULL) {
        int lost = segment->connection != peers[segment->server].connection;
        if (segment->references > 0 || (!lost && segments->idle <= max_idle)) {
            at = &segment->next;
            continue;
        }
        *at = segment->next;
        segments->idle -= segment->bytes;
        segment_destroy(segment);
    }
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

/* A segment that was just mapped, unless another thread was faster. */
static themis_client_direct_segment_t *add_or_find(themis_client_direct_segments_t *segments,
                                                   themis_client_direct_segment_t *segment)
{
    pthread_mutex_lock(&segments->lock);
    themis_client_direct_segment_t *other = find(segments, segment->server, segment->connection, segment->serial);
    if (!other)
        add(segments, segment);
    segment_ref(segments, other ? other : segment);
    pthread_mutex_unlock(&segments->lock);
    if (!other)
        return segment;
    segment_destroy(segment);
    return other;
}

themis_status_t themis_client_direct_segments_get(themis_client_direct_segments_t *segments, uint32_t server,
                                                  uint64_t connection, uint64_t serial,
                                                  themis_client_direct_segment_t **result)
{
    pthread_mutex_lock(&segments->lock);
    themis_client_direct_segment_t *segment = find(segments, server, connection, serial);
    if (segment)
        segment_ref(segments, segment);
    pthread_mutex_unlock(&segments->lock);
    if (segment) {
        *result = segment;
        return THEMIS_OK;
    }
    segment = calloc(1, sizeof *segment);
    if (!segment)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a segment");
    segment->server = server;
    segment->connection = connection;
    segment->serial = serial;
    themis_status_t status = segment_fetch(segments, segment);
    if (status != THEMIS_OK) {
        free(segment);
        return status;
    }
    *result = add_or_find(segments, segment);
    return THEMIS_OK;
}

void themis_client_direct_segments_ref(themis_client_direct_segments_t *segments,
                                       themis_client_direct_segment_t *segment)
{
    pthread_mutex_lock(&segments->lock);
    segment_ref(segments, segment);
    pthread_mutex_unlock(&segments->lock);
}

void themis_client_direct_segments_put(themis_client_direct_segments_t *segments,
                                       themis_client_direct_segment_t *segment)
{
    if (!segment)
        return;
    pthread_mutex_lock(&segments->lock);
    if (--segment->references == 0) {
        segments->idle += segment->bytes;
        trim(segments);
    }
    pthread_mutex_unlock(&segments->lock);
}
