/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/client/fake.h"
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/clock.h"
#include "util/min.h"

enum { OBJECT = 7, SEGMENT = 3, MAX_REPLY = 32 << 10, CELL_AT = 32 << 10, EXTENTS_AT = 65536 };

/* Byte of the segment; in another order than in the object. */
static uint64_t place_of(const fake_t *fake, uint64_t extent)
{
    return EXTENTS_AT + (fake->half * FAKE_EXTENTS + (extent * 29 + 5) % FAKE_EXTENTS) * FAKE_EXTENT;
}

static char *extent_memory(const fake_t *fake, uint64_t extent)
{
    return fake->memory + place_of(fake, extent);
}

static void extent_allocate(fake_t *fake, uint64_t extent)
{
    if (!fake->allocated[extent])
        memset(extent_memory(fake, extent), 0, FAKE_EXTENT);
    fake->allocated[extent] = 1;
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static void reply_with(fake_t *fake, const themis_proto_header_t *request, const void *body, int fd)
{
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                    .kind = THEMIS_PROTO_REPLY,
                                    .opcode = request->opcode,
                                    .id = request->id,
                                    .status = request->status};
    unsigned char message[MAX_REPLY];
    size_t length;

    if (themis_proto_encode(&header, body, message, sizeof message, &length) != THEMIS_OK)
        fputs("fake server: a reply cannot be encoded\n", stderr);
    else if (fd >= 0)
        themis_net_send_descriptor(fake->conn, message, length, fd);
    else
        themis_net_send(fake->conn, message, length);
}

static void serve_map(fake_t *fake, const themis_proto_header_t *header, const themis_proto_map_t *map)
{
    themis_proto_mapped_extent_t extents[FAKE_EXTENTS];
    themis_proto_mapped_t reply = {.retry = fake->refuse,
                                   .slot = {SEGMENT, fake->lie == FAKE_SLOT ? 8 : 0},
                                   .cell = {SEGMENT, CELL_AT},
                                   .bytes = (const uint8_t *)extents};
    uint64_t end = themis_util_min(map->offset + map->length, FAKE_BYTES);

    fake->maps++;
    for (uint64_t i = map->offset / FAKE_EXTENT; !fake->refuse && i * FAKE_EXTENT < end; i++) {
        if (map->allocate)
            extent_allocate(fake, i);
        if (!fake->allocated[i])
            continue;
        themis_proto_location_t at = {SEGMENT, place_of(fake, i)};
        if (fake->lie == FAKE_OUTSIDE)
            at.at = FAKE_SEGMENT - FAKE_EXTENT + 1;
        else if (fake->lie == FAKE_OVERFLOW)
            at.at = INT64_MAX - FAKE_EXTENT;
        else if (fake->lie == FAKE_BEACON)
            at = (themis_proto_location_t){0, 0};
        extents[reply.count++] = (themis_proto_mapped_extent_t){i * FAKE_EXTENT, FAKE_EXTENT, at};
    }
    if (!fake->refuse) {
        reply.grant = fake->grant;
        fake->slot->grant = fake->grant;
    }
    reply_with(fake, header, &reply, -1);
}

/* A file that a client must not map; without rights to give it away it is open to others. */
static int unsafe_file(int lie)
{
    FILE *file = tmpfile();
    int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;

    if (file)
        fclose(file);
    if (fd < 0 || ftruncate(fd, FAKE_SEGMENT) != 0 ||
        ((lie == FAKE_OPEN || fchown(fd, geteuid() + 1, (gid_t)-1) != 0) && fchmod(fd, 0602) != 0))
        perror("file");
    return fd;
}

static void serve_segment(fake_t *fake, const themis_proto_header_t *header, const themis_proto_segment_t *segment)
{
    themis_proto_segment_t reply = {segment->segment, segment->segment ? FAKE_SEGMENT : 4096};
    int fd = segment->segment ? fake->segment_fd : fake->beacon_fd, other = -1;

    fake->segments++;
    if (segment->segment && (fake->lie == FAKE_UNSEALED || fake->lie == FAKE_SHORT)) {
        fd = other = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (ftruncate(other, fake->lie == FAKE_SHORT ? 4096 : FAKE_SEGMENT) != 0 ||
            (fake->lie == FAKE_SHORT && fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK) != 0))
            perror("memfd");
    }
    if (segment->segment && (fake->lie == FAKE_OPEN || fake->lie == FAKE_FOREIGN))
        fd = other = unsafe_file((int)fake->lie);
    /* with what the true one has, or the client would find no grant there and not use it for that */
    if (other >= 0 && fake->lie != FAKE_SHORT && pwrite(other, fake->memory, FAKE_SEGMENT, 0) != FAKE_SEGMENT)
        perror("pwrite");
    reply_with(fake, header, &reply, fake->lie == FAKE_NO_FILE ? -1 : fd);
    if (other >= 0)
        close(other);
}

static void serve_io(fake_t *fake, themis_proto_header_t *header, const themis_proto_io_t *io)
{
    themis_proto_io_done_t done = {0};
    uint64_t at = 0;
    themis_proto_run_t run;

    *(header->opcode == THEMIS_OP_WRITE ? &fake->writes : &fake->reads) += 1;
    for (uint32_t r = 0; r < io->runs; r++) {
        themis_proto_run_get(io, r, &run);
        for (uint64_t piece = 0; piece < run.count; piece++)
            for (uint64_t i = 0, part; i < run.length; i += part, at += part) {
                uint64_t offset = run.offset + piece * run.stride + i, within = offset % FAKE_EXTENT;
                part = themis_util_min(run.length - i, FAKE_EXTENT - within);
                extent_allocate(fake, offset / FAKE_EXTENT);
                struct iovec local = {extent_memory(fake, offset / FAKE_EXTENT) + within, part};
                if (header->opcode == THEMIS_OP_WRITE && offset + part > fake->cell->end)
                    fake->cell->end = offset + part;
                if (header->opcode == THEMIS_OP_READ)
                    local.iov_len = offset < fake->cell->end ? themis_util_min(part, fake->cell->end - offset) : 0;
                if (local.iov_len > 0 && (header->opcode == THEMIS_OP_WRITE ? themis_net_pull : themis_net_push)(
                                             fake->conn, io->descriptor, at, &local, 1, NULL, NULL) != THEMIS_OK)
                    header->status = THEMIS_IO;
                done.bytes += local.iov_len;
            }
    }
    done.end = fake->cell->end;
    reply_with(fake, header, &done, -1);
}

static void serve_others(fake_t *fake, themis_proto_header_t *header)
{
    themis_proto_welcome_t welcome = {.incarnation = 1, .servers = 1, .heartbeat = THEMIS_NS_PER_S};
    themis_proto_attr_t attr = {.id = OBJECT,
                                .type = THEMIS_PROTO_FILE,
                                .mode = 0666,
                                .uid = geteuid(),
                                .layout = {1 << 20, 1, 0},
                                .capability.rights = THEMIS_PROTO_RIGHTS};
    themis_proto_size_t size = {.end = fake->cell->end};
    themis_proto_none_t none = {0};

    welcome.layout = attr.layout;
    fake->unmaps += header->opcode == THEMIS_OP_UNMAP;
    reply_with(fake, header,
               header->opcode == THEMIS_OP_HELLO    ? (const void *)&welcome
               : header->opcode == THEMIS_OP_LOOKUP ? (const void *)&attr
               : header->opcode == THEMIS_OP_SIZE   ? (const void *)&size
                                                    : &none,
               -1);
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    fake_t *fake = arg;
    themis_proto_header_t header;
    themis_proto_body_t body;

    if (themis_proto_decode(bytes, length, &header, &body) != THEMIS_OK) {
        fputs("fake server: a request cannot be decoded\n", stderr);
        return;
    }
    pthread_mutex_lock(&fake->lock);
    fake->conn = conn;
    if (header.opcode == THEMIS_OP_MAP)
        serve_map(fake, &header, &body.map);
    else if (header.opcode == THEMIS_OP_SEGMENT)
        serve_segment(fake, &header, &body.segment);
    else if (header.opcode == THEMIS_OP_READ || header.opcode == THEMIS_OP_WRITE)
        serve_io(fake, &header, &body.io);
    else
        serve_others(fake, &header);
    pthread_mutex_unlock(&fake->lock);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    fake_t *fake = arg;

    if (fake->conn == conn)
        fake->conn = NULL;
}

/* --- what tests do ------------------------------------------------------------------------------------------------ */

static void *serve(void *arg)
{
    fake_t *fake = arg;

    while (!fake->ended)
        themis_net_progress(fake->net, THEMIS_NS_PER_S);
    return NULL;
}

static int memory_create(size_t bytes, void *address)
{
    int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    memcpy(address, &memory, sizeof memory);
    return fd;
}

void fake_start(fake_t *fake)
{
    static const themis_net_handlers_t handlers = {.message = on_message, .closed = on_closed};
    uint16_t port;

    memset(fake, 0, sizeof *fake);
    pthread_mutex_init(&fake->lock, NULL);
    fake->segment_fd = memory_create(FAKE_SEGMENT, &fake->memory);
    fake->beacon_fd = memory_create(4096, &fake->beacon);
    ck_assert_int_eq(fcntl(fake->beacon_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    fake->beacon->word = 1;
    fake->slot = (void *)fake->memory;
    fake->cell = (void *)(fake->memory + CELL_AT);
    fake->grant = 1;
    ck_assert_int_eq(themis_net_create(NULL, &handlers, fake, &fake->net), THEMIS_OK);
    ck_assert_int_eq(themis_net_listen(fake->net, "127.0.0.1", 0, &port), THEMIS_OK);
    snprintf(fake->list, sizeof fake->list, "127.0.0.1:%u", port);
    ck_assert_int_eq(pthread_create(&fake->thread, NULL, serve, fake), 0);
}

void fake_stop(fake_t *fake)
{
    fake->ended = 1;
    themis_net_wake(fake->net);
    pthread_join(fake->thread, NULL);
    themis_net_destroy(fake->net);
    munmap(fake->memory, FAKE_SEGMENT);
    munmap(fake->beacon, 4096);
    close(fake->segment_fd);
    close(fake->beacon_fd);
    pthread_mutex_destroy(&fake->lock);
}

void fake_revoke(fake_t *fake)
{
    pthread_mutex_lock(&fake->lock);
    char *old = fake->memory + EXTENTS_AT + (size_t)fake->half * FAKE_BYTES;
    fake->slot->grant = 0;
    fake->grant++;
    fake->half = !fake->half;
    memcpy(fake->memory + EXTENTS_AT + (size_t)fake->half * FAKE_BYTES, old, FAKE_BYTES);
    memset(old, 0xee, FAKE_BYTES);
    while (fake->slot->copies > 0) /* the old memory is not used again before */
        usleep(10);
    pthread_mutex_unlock(&fake->lock);
}

void fake_disconnect(fake_t *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->slot->grant = 0;
    fake->grant++;
    themis_net_conn_close(fake->conn);
    fake->conn = NULL;
    pthread_mutex_unlock(&fake->lock);
}
