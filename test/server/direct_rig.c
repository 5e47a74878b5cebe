/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/server/direct_rig.h"
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "util/clock.h"

static int report_end = -1; /* of a process of a crew */

rig_direct_t *rig_direct_open(const themis_server_t *server, uint64_t session, const char *job)
{
    rig_direct_t *direct = calloc(1, sizeof *direct);

    direct->client = rig_client_open(server, session, job);
    return direct;
}

void rig_direct_close(rig_direct_t *direct, int goodbye)
{
    rig_client_close(direct->client, goodbye);
    for (int i = 0; i < direct->count; i++)
        munmap(direct->segments[i].base, direct->segments[i].bytes);
    free(direct);
}

themis_status_t rig_direct_segment(rig_direct_t *direct, uint64_t serial, rig_segment_t *segment)
{
    themis_proto_segment_t request = {.segment = serial};
    int protection = serial ? PROT_READ | PROT_WRITE : PROT_READ;

    for (int i = 0; i < direct->count; i++)
        if (direct->segments[i].serial == serial) {
            *segment = direct->segments[i];
            return THEMIS_OK;
        }
    themis_status_t status = rig_call(direct->client, THEMIS_OP_SEGMENT, &request);
    if (status != THEMIS_OK)
        return status;
    int fd = direct->client->descriptor;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_lt(direct->count, RIG_SEGMENTS);
    *segment = (rig_segment_t){.serial = serial, .bytes = direct->client->body.segment.bytes};
    segment->base = mmap(NULL, segment->bytes, protection, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(segment->base, MAP_FAILED);
    direct->segments[direct->count++] = *segment;
    return THEMIS_OK;
}

static void *at(rig_direct_t *direct, themis_proto_location_t location)
{
    rig_segment_t segment;

    ck_assert_int_eq(rig_direct_segment(direct, location.segment, &segment), THEMIS_OK);
    ck_assert_uint_lt(location.at, segment.bytes);
    return segment.base + location.at;
}

rig_grant_t rig_direct_map(rig_direct_t *direct, uint64_t object, uint64_t offset, uint64_t length, int how)
{
    themis_proto_map_t request = {.object = object,
                                  .offset = offset,
                                  .length = length,
                                  .allocate = (how & RIG_ALLOCATE) != 0,
                                  .incomplete = (how & RIG_INCOMPLETE) != 0,
                                  .listed = 1};
    rig_grant_t grant = {.status = rig_call(direct->client, THEMIS_OP_MAP, &request)};
    themis_proto_mapped_extent_t first = {0};

    if (grant.status != THEMIS_OK)
        return grant;
    themis_proto_mapped_t reply = direct->client->body.mapped;
    grant.number = reply.grant;
    grant.retry = reply.retry;
    grant.extents = reply.count;
    if (reply.count)
        themis_proto_mapped_get(&reply, 0, &first); /* before other messages come */
    if (grant.number == 0)
        return grant;
    grant.slot = at(direct, reply.slot);
    grant.cell = at(direct, reply.cell);
    if (first.offset > offset || first.offset + first.length <= offset)
        return grant;
    grant.memory = (uint8_t *)at(direct, first.location) + (offset - first.offset);
    grant.length = first.offset + first.length - offset;
    if (first.pages.segment)
        grant.pages = at(direct, first.pages);
    return grant;
}

rig_grant_t rig_direct_await(rig_direct_t *direct, uint64_t object, uint64_t offset, uint64_t length, int allocate)
{
    uint64_t until = themis_util_clock_now() + 20 * THEMIS_NS_PER_S;

    for (;;) {
        rig_grant_t grant = rig_direct_map(direct, object, offset, length, allocate);
        ck_assert_int_eq(grant.status, THEMIS_OK);
        if (grant.number && grant.memory)
            return grant;
        ck_assert_msg(themis_util_clock_now() < until, "no grant; retry in %llu ns", (unsigned long long)grant.retry);
        usleep(grant.retry < 100 * THEMIS_NS_PER_MS ? 1000 : 100000);
    }
}

static int enter(const rig_grant_t *grant)
{
    atomic_fetch_add(&grant->slot->copies, 1);
    if (atomic_load(&grant->slot->grant) == grant->number)
        return 1;
    atomic_fetch_sub(&grant->slot->copies, 1);
    return 0;
}

static int leave(const rig_grant_t *grant, size_t read, size_t written)
{
    int valid = atomic_load(&grant->slot->grant) == grant->number;

    atomic_fetch_add(&grant->slot->read, read);
    atomic_fetch_add(&grant->slot->written, written);
    atomic_fetch_sub(&grant->slot->copies, 1);
    return valid;
}

int rig_direct_write(const rig_grant_t *grant, uint64_t end, const void *bytes, size_t length)
{
    uint64_t known;

    ck_assert_uint_le(length, grant->length);
    if (!enter(grant))
        return 0;
    memcpy(grant->memory, bytes, length);
    known = atomic_load(&grant->cell->end);
    while (known < end && !atomic_compare_exchange_weak(&grant->cell->end, &known, end))
        ;
    atomic_store(&grant->cell->modified, themis_util_clock_wall());
    return leave(grant, 0, length);
}

int rig_direct_read(const rig_grant_t *grant, void *bytes, size_t length)
{
    ck_assert_uint_le(length, grant->length);
    if (!enter(grant))
        return 0;
    memcpy(bytes, grant->memory, length);
    return leave(grant, length, 0);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void crew_member(int go, int reports, int number, rig_crew_main_fn main, void *arg)
{
    themis_server_t *server = calloc(1, sizeof *server); /* of which clients use the port only */

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    report_end = reports;
    if (read(go, &server->port, sizeof server->port) == sizeof server->port)
        main(server, number, arg);
    _exit(1);
}

rig_crew_t rig_crew_fork(int count, rig_crew_main_fn main, void *arg)
{
    rig_crew_t crew = {.count = count, .pids = calloc((size_t)count, sizeof(pid_t))};
    int go[2], reports[2];

    ck_assert_int_eq(pipe(go) | pipe(reports), 0);
    for (int i = 0; i < count; i++) {
        crew.pids[i] = fork();
        ck_assert_int_ge(crew.pids[i], 0);
        if (crew.pids[i] == 0) {
            close(go[1]);
            close(reports[0]);
            crew_member(go[0], reports[1], i, main, arg);
        }
    }
    close(go[0]);
    close(reports[1]);
    crew.go = go[1];
    crew.reports = reports[0];
    return crew;
}

void rig_crew_start(const rig_crew_t *crew, const themis_server_t *server, int count)
{
    char byte;

    for (int i = 0; i < count; i++)
        ck_assert_int_eq(write(crew->go, &server->port, sizeof server->port), sizeof server->port);
    for (int i = 0; i < count; i++)
        ck_assert_msg(read(crew->reports, &byte, 1) == 1, "a process of the crew has failed");
}

void rig_crew_report(void)
{
    ck_assert_int_eq(write(report_end, "", 1), 1);
}

void rig_crew_kill(rig_crew_t *crew)
{
    for (int i = 0; i < crew->count; i++)
        kill(crew->pids[i], SIGKILL);
    for (int i = 0; i < crew->count; i++)
        waitpid(crew->pids[i], NULL, 0);
    close(crew->go);
    close(crew->reports);
    free(crew->pids);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

themis_server_direct_usage_t rig_usage(themis_server_t *server)
{
    themis_server_direct_usage_t usage;

    pthread_mutex_lock(&server->lock);
    themis_server_direct_usage(server, &usage);
    pthread_mutex_unlock(&server->lock);
    return usage;
}

void rig_await_grants(themis_server_t *server, uint32_t grants, uint32_t revoked)
{
    uint64_t until = themis_util_clock_now() + 20 * THEMIS_NS_PER_S;
    themis_server_direct_usage_t usage = rig_usage(server);

    while (usage.grants != grants || usage.revoked != revoked) {
        ck_assert_msg(themis_util_clock_now() < until, "%u grants, %u revoked instead of %u and %u", usage.grants,
                      usage.revoked, grants, revoked);
        usleep(1000);
        usage = rig_usage(server);
    }
}
