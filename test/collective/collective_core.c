/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective/ against a brute-force model, without ROMIO and without servers: random patterns, and file operations on a
 * local file.
 *
 *     mpirun -n N collective_core FILE [SEED [CALLS]]
 *
 * Each session of up to 8 calls has a random choice of mode, method, placement, number of aggregators, buffer size and
 * stripes; each call has one of direction, memory layout, and blocking or not. Rank 0 prints a summary. After a failure
 * the run stops, says on stderr what was wrong, and returns 1.
 */
#include <fcntl.h>
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collective/collective.h"
#include "util/config.h"

static int rank, ranks, failures;

static uint64_t random_state;
static uint64_t draw(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below ? (random_state >> 33) % below : 0;
}

/* --- allocations that fail: the linker wraps those of this program --- */

static long allocations_left = -1; /* allocations before one fails; negative: none does */
static int refused;

static int refuse(void)
{
    if (allocations_left < 0 || allocations_left-- > 0)
        return 0;
    refused = 1;
    return 1;
}

/* Memory is zeroed before it is freed, so that a use after free shows. */
void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
    if (memory)
        memset(memory, 0, malloc_usable_size(memory));
    __asm__ volatile("" : : "r"(memory) : "memory"); /* the zeros are not dropped as dead stores */
    __real_free(memory);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return refuse() ? NULL : __real_realloc(old, size);
}

/* --- operations on a local file, whose requests complete only after they were tested a few times --- */

typedef struct local_file {
    int fd;
    int fail_at; /* starts that succeed before all later ones fail; -1: none fails */
} local_file_t;

typedef struct file_request {
    themis_direction_t direction;
    struct iovec *memory;
    themis_run_t *runs;
    size_t memory_count, run_count;
    int tests_left;
    int fails;
} file_request_t;

static themis_status_t ops_start(void *arg, themis_direction_t direction, const themis_list_t *list, void **request)
{
    local_file_t *file = arg;
    long left = allocations_left;
    allocations_left = -1; /* allocations by the file operations are not counted */
    file_request_t *r = calloc(1, sizeof *r);
    r->direction = direction;
    r->memory_count = list->memory_count;
    r->run_count = list->run_count;
    r->memory = malloc(list->memory_count * sizeof *r->memory);
    r->runs = malloc(list->run_count * sizeof *r->runs);
    memcpy(r->memory, list->memory, list->memory_count * sizeof *r->memory);
    memcpy(r->runs, list->runs, list->run_count * sizeof *r->runs);
    r->tests_left = (int)(list->run_count % 4);
    if (file->fail_at >= 0 && file->fail_at-- == 0) {
        r->fails = 1;
        file->fail_at = 0;
    }
    *request = r;
    allocations_left = left;
    return THEMIS_OK;
}

/* Moves one piece; returns 0 at the end of the file. */
static int move_piece(local_file_t *file, file_request_t *r, uint64_t offset, uint64_t length, size_t *iov, size_t *at,
                      size_t *done)
{
    while (length) {
        while (*at == r->memory[*iov].iov_len) {
            ++*iov;
            *at = 0;
        }
        size_t part = r->memory[*iov].iov_len - *at;
        part = part < length ? part : length;
        char *place = (char *)r->memory[*iov].iov_base + *at;
        ssize_t n = r->direction == THEMIS_READ ? pread(file->fd, place, part, (off_t)offset)
                                                : pwrite(file->fd, place, part, (off_t)offset);
        if (n <= 0)
            return 0;
        *at += (size_t)n;
        *done += (size_t)n;
        offset += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return 1;
}

static themis_status_t ops_test(void *arg, void *request, size_t *done)
{
    file_request_t *r = request;
    if (r->tests_left-- > 0)
        return THEMIS_IN_PROGRESS;
    size_t iov = 0, at = 0;
    int more = 1;
    *done = 0;
    for (size_t i = 0; i < r->run_count && more && !r->fails; i++)
        for (uint64_t p = 0; p < r->runs[i].count && more; p++)
            more = move_piece(arg, r, r->runs[i].offset + p * r->runs[i].stride, r->runs[i].length, &iov, &at, done);
    themis_status_t status = r->fails ? THEMIS_DISCONNECTED : THEMIS_OK;
    free(r->memory);
    free(r->runs);
    free(r);
    return status;
}

static themis_status_t ops_wait(void *arg, void *request, size_t *done)
{
    themis_status_t status;
    while ((status = ops_test(arg, request, done)) == THEMIS_IN_PROGRESS)
        ;
    return status;
}

/* --- random patterns, the same on all ranks --- */

enum { SPACE = 1 << 20 };

/* owner[i]: the rank that accesses byte i, or -1. */
static void make_owners(int *owner)
{
    uint64_t kind = draw(4), piece = 1 + draw(kind == 0 ? 64 : kind == 1 ? 5000 : 70000), shift = draw(100000);
    uint64_t holes = draw(3), space = piece < 64 ? SPACE / 16 : SPACE;
    for (uint64_t i = 0; i < SPACE; i++)
        owner[i] = -1;
    for (uint64_t at = shift; at < space;) {
        uint64_t length = kind == 3 ? 1 + draw(piece) : piece;
        int who = kind == 3 ? (int)draw((uint64_t)ranks) : (int)((at - shift) / piece % (uint64_t)ranks);
        if (holes && draw(4) == 0)
            who = -1;
        for (uint64_t i = at; i < at + length && i < space; i++)
            owner[i] = who;
        at += length;
    }
    if (draw(8) == 0)
        for (uint64_t i = 0; i < SPACE; i++)
            owner[i] = owner[i] == 0 ? -1 : owner[i];
}

static void take_own(const int *owner, uint64_t base, themis_util_runs_t *runs)
{
    for (uint64_t i = 0; i < SPACE;) {
        uint64_t from = i;
        while (i < SPACE && owner[i] == owner[from])
            i++;
        if (owner[from] == rank)
            themis_util_runs_add(runs, base + from, i - from);
    }
}

/* Memory with gaps, or in one piece. */
static void make_memory(uint64_t bytes, themis_util_runs_t *memory)
{
    uint64_t piece = draw(2) ? 1 + draw(3000) : bytes, gap = draw(100), at = draw(50);
    for (uint64_t left = bytes; left;) {
        uint64_t part = piece < left ? piece : left;
        themis_util_runs_add(memory, at, part);
        at += part + gap;
        left -= part;
    }
}

static unsigned char content(uint64_t offset, unsigned call)
{
    return (unsigned char)(offset * 7 + offset / 251 + call * 13);
}

static void report(const char *what, unsigned call, uint64_t at)
{
    if (failures++ < 5)
        fprintf(stderr, "rank %d: %s, call %u, byte %llu\n", rank, what, call, (unsigned long long)at);
}

/* --- one call --- */

typedef struct call {
    unsigned number;
    themis_direction_t direction;
    uint64_t base, size; /* of the pattern; of the file */
    int *owner;
    themis_util_runs_t file, memory;
    unsigned char *buffer, *expected;
    uint64_t buffer_bytes, done;
} call_t;

static void fill_memory(call_t *call)
{
    call->buffer_bytes = call->memory.end + 64;
    call->buffer = malloc(call->buffer_bytes);
    memset(call->buffer, 0xA5, call->buffer_bytes);
    if (call->direction == THEMIS_READ)
        return;
    for (uint64_t p = 0; p < call->file.bytes; p++)
        call->buffer[themis_util_runs_offset(&call->memory, p)] =
            content(themis_util_runs_offset(&call->file, p), call->number);
}

static void check_read(call_t *call)
{
    uint64_t expected = 0;
    unsigned char *copy = malloc(call->buffer_bytes);
    memcpy(copy, call->buffer, call->buffer_bytes);
    for (uint64_t p = 0; p < call->file.bytes; p++) {
        uint64_t offset = themis_util_runs_offset(&call->file, p), at = themis_util_runs_offset(&call->memory, p);
        if (offset < call->size) {
            expected++;
            if (copy[at] != call->expected[offset])
                report("wrong byte read", call->number, offset);
        }
        copy[at] = 0xA5;
    }
    for (uint64_t i = 0; i < call->buffer_bytes; i++)
        if (copy[i] != 0xA5)
            report("memory between the pieces changed", call->number, i);
    if (call->done != expected)
        report("wrong count read", call->number, call->done);
    free(copy);
}

static void check_written(call_t *call, int fd)
{
    unsigned char *found = calloc(1, call->size + 1);
    if (pread(fd, found, call->size, 0) != (ssize_t)call->size)
        report("short file", call->number, call->size);
    for (uint64_t i = 0; i < call->size; i++)
        if (found[i] != call->expected[i])
            report("wrong byte in the file", call->number, i);
    free(found);
    if (call->done != call->file.bytes)
        report("wrong count written", call->number, call->done);
}

static themis_collective_options_t draw_config(void)
{
    themis_collective_options_t config = {
        .mode = (themis_collective_mode_t)draw(3),
        .method = (themis_aggregation_method_t)draw(THEMIS_AGGREGATION_METHODS + 1),
        .placement = (themis_aggregation_placement_t)draw(4),
        .aggregators = (int64_t)draw(4),
        .config_list = draw(2) ? "*:2" : NULL,
        .buffer_size = UINT64_C(1) << (12 + draw(9)),
        .layout = {.stripe_size = UINT64_C(4096) << draw(5), .servers = 1 + (uint32_t)draw(3)},
        .fake_nodes = 1 + (int)draw((uint64_t)ranks),
        .staging = UINT64_C(65536) << draw(6)};
    return config;
}

static void describe(const themis_collective_options_t *config, const call_t *call, int blocking)
{
    fprintf(stderr,
            "call %u: %s %s, mode %s, method %s, placement %s, aggregators %lld, buffer %llu, stripe %llu x %u, nodes "
            "%d, base %llu\n",
            call->number, blocking ? "blocking" : "non-blocking", call->direction ? "write" : "read",
            themis_collective_mode_name(config->mode), themis_aggregation_method_name(config->method),
            themis_aggregation_placement_name(config->placement), (long long)config->aggregators,
            (unsigned long long)config->buffer_size, (unsigned long long)config->layout.stripe_size,
            config->layout.servers, config->fake_nodes, (unsigned long long)call->base);
}

static themis_status_t perform(themis_collective_t *coll, call_t *call, int blocking, themis_status_t own)
{
    themis_collective_access_t access = {call->direction, &call->file, &call->memory, call->buffer};
    if (blocking)
        return themis_collective_run(coll, &access, own, &call->done);
    themis_collective_operation_t *op = themis_collective_start(coll, &access, own);
    if (!op) /* no memory for it, which the others have to learn */
        return themis_collective_decline(coll, &access, THEMIS_NO_MEMORY);
    themis_status_t status = THEMIS_IN_PROGRESS;
    for (int i = 0; i < 200 && status == THEMIS_IN_PROGRESS; i++)
        status = themis_collective_test(op, &call->done);
    return status == THEMIS_IN_PROGRESS ? themis_collective_wait(op, &call->done) : status;
}

static void update_expected(call_t *call)
{
    for (uint64_t i = 0; i < SPACE; i++) {
        uint64_t offset = call->base + i;
        if (call->direction == THEMIS_WRITE && call->owner[i] >= 0) {
            call->expected[offset] = content(offset, call->number);
            call->size = offset + 1 > call->size ? offset + 1 : call->size;
        }
    }
}

/* Some calls of one open file; patterns repeat at other places, as the time steps of a checkpoint do. */
static void session(call_t *call, local_file_t *files, const themis_collective_file_ops_t *ops, unsigned calls)
{
    themis_collective_options_t config = draw_config();
    themis_collective_t *coll = NULL;
    int blocking = 1, fresh = 1;
    if (themis_collective_create(MPI_COMM_WORLD, &config, ops, &coll) != THEMIS_OK) {
        report("create failed", call->number, 0);
        return;
    }
    for (unsigned i = 0; i < calls && !failures; i++, call->number++) {
        call->direction = draw(2) ? THEMIS_WRITE : THEMIS_READ;
        blocking = draw(3) > 0;
        if (fresh || draw(2))
            make_owners(call->owner);
        fresh = 0;
        call->base = draw(2) ? draw(4) * 4096 * 16 * 6 * 4 : draw(2 * SPACE);
        themis_util_runs_clear(&call->file);
        themis_util_runs_clear(&call->memory);
        take_own(call->owner, call->base, &call->file);
        uint64_t state = random_state;
        make_memory(call->file.bytes, &call->memory);
        random_state = state;
        draw(1);
        fill_memory(call);
        update_expected(call);
        call->done = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        themis_status_t status = perform(coll, call, blocking, THEMIS_OK);
        MPI_Barrier(MPI_COMM_WORLD);
        if (status != THEMIS_OK)
            report("call failed", call->number, (uint64_t)-status);
        else if (call->direction == THEMIS_READ)
            check_read(call);
        else
            check_written(call, files->fd);
        free(call->buffer);
        if (failures)
            describe(&config, call, blocking);
        MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    themis_collective_destroy(coll);
}

/* Non-blocking calls of more patterns than a file keeps plans for; their results are asked for when all have ended, by
 * some ranks from the first to the last and by others from the last to the first. */
static void many_patterns(local_file_t *files, const themis_collective_file_ops_t *ops)
{
    enum { CALLS = 9, BYTES = 1000 };
    themis_collective_options_t config = {.mode = THEMIS_COLLECTIVE_TWOPHASE,
                                          .method = THEMIS_AGGREGATION_ALIGNED,
                                          .buffer_size = 16384,
                                          .layout = {.stripe_size = 4096, .servers = 2},
                                          .fake_nodes = 1};
    static unsigned char buffer[CALLS][BYTES + CALLS], found[BYTES + CALLS];
    themis_collective_operation_t *op[CALLS];
    themis_util_runs_t file[CALLS] = {{0}}, memory[CALLS] = {{0}};
    themis_collective_t *coll = NULL;
    if (themis_collective_create(MPI_COMM_WORLD, &config, ops, &coll) != THEMIS_OK)
        report("create failed", 0, 0);
    for (unsigned k = 0; k < CALLS && coll; k++) {
        uint64_t at = ((uint64_t)k * (uint64_t)ranks + (uint64_t)rank) * sizeof *buffer;
        memset(buffer[k], (int)(k * 16 + (unsigned)rank + 1), sizeof *buffer);
        themis_util_runs_add(&file[k], at, BYTES + k);
        themis_util_runs_add(&memory[k], 0, BYTES + k);
        op[k] = themis_collective_start(
            coll, &(themis_collective_access_t){THEMIS_WRITE, &file[k], &memory[k], buffer[k]}, THEMIS_OK);
    }
    if (coll && themis_collective_sync(coll, THEMIS_OK) != THEMIS_OK)
        report("sync failed", 0, 0);
    for (unsigned i = 0; i < CALLS && coll; i++) {
        unsigned k = rank % 2 ? CALLS - 1 - i : i;
        uint64_t done = 0, at = themis_util_runs_first(&file[k]);
        if (themis_collective_wait(op[k], &done) != THEMIS_OK || done != BYTES + k)
            report("one of many calls failed", k, done);
        if (pread(files->fd, found, BYTES + k, (off_t)at) != BYTES + (int)k || memcmp(found, buffer[k], BYTES + k) != 0)
            report("wrong bytes of one of many calls", k, at);
        themis_util_runs_free(&file[k]);
        themis_util_runs_free(&memory[k]);
    }
    themis_collective_destroy(coll);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A rank that cannot take part, and one whose server is gone: all ranks get the same status, and the next call works.
 */
static void errors(call_t *call, local_file_t *files, const themis_collective_file_ops_t *ops)
{
    themis_collective_options_t config = draw_config();
    themis_collective_t *coll = NULL;
    int victim = (int)draw((uint64_t)ranks), kind = (int)draw(2), blocking = (int)draw(2);
    if (themis_collective_create(MPI_COMM_WORLD, &config, ops, &coll) != THEMIS_OK)
        return;
    make_owners(call->owner);
    call->base = 0;
    call->direction = THEMIS_WRITE;
    themis_util_runs_clear(&call->file);
    themis_util_runs_clear(&call->memory);
    take_own(call->owner, 0, &call->file);
    make_memory(call->file.bytes, &call->memory);
    fill_memory(call);
    themis_status_t own = kind == 0 && rank == victim ? THEMIS_INVALID : THEMIS_OK;
    files->fail_at = kind == 1 ? 0 : -1;
    themis_status_t status = perform(coll, call, blocking, own);
    themis_status_t expected = kind == 0 ? THEMIS_INVALID : THEMIS_DISCONNECTED;
    int any = call->file.bytes > 0;
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (status != (kind == 1 && !any ? THEMIS_OK : expected)) {
        report("not the error of the consensus", call->number, (uint64_t)-status);
        describe(&config, call, blocking);
    }
    files->fail_at = -1;
    if (perform(coll, call, 1, THEMIS_OK) != THEMIS_OK)
        report("the call after an error failed", call->number, 0);
    free(call->buffer);
    themis_collective_destroy(coll);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* The same status on all ranks: OK, or that memory is short if an allocation failed somewhere. */
static int is_same_status(const char *what, themis_status_t status, long n)
{
    int mine[3] = {status, -status, -refused}, all[3];
    MPI_Allreduce(mine, all, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all[0] != -all[1] || (all[0] != THEMIS_OK && (all[0] != THEMIS_NO_MEMORY || !all[2])))
        report(what, (unsigned)n, (uint64_t)-status);
    return all[0] == THEMIS_OK;
}

/* Create and one call, in which the n-th allocation of one rank fails, and then a call that works. Returns 1 if there
 * were so many allocations. */
static int short_of_memory(const themis_collective_options_t *config, call_t *call,
                           const themis_collective_file_ops_t *ops, int blocking, int victim, long n)
{
    themis_collective_t *coll = NULL;
    refused = 0;
    allocations_left = rank == victim ? n : -1;
    themis_status_t status = themis_collective_create(MPI_COMM_WORLD, config, ops, &coll);
    long left = allocations_left;
    allocations_left = -1;
    if (is_same_status("create differs among ranks", status, n)) {
        allocations_left = left;
        status = perform(coll, call, blocking, THEMIS_OK);
        allocations_left = -1;
        is_same_status("a call differs among ranks", status, n);
        if (perform(coll, call, 1, THEMIS_OK) != THEMIS_OK)
            report("the call after one without memory failed", (unsigned)n, 0);
        themis_collective_destroy(coll);
    }
    MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return refused;
}

/* Every allocation of create and of a call fails once, on the first and on the last rank; list I/O, planning and
 * shuffle, both directions. Returns how many there were. */
static long memory(call_t *call, const themis_collective_file_ops_t *ops)
{
    long all = 0;
    call->base = 0;
    for (int kind = 0; kind < 6 && !failures; kind++) {
        themis_collective_options_t config = {.mode = kind < 2 ? THEMIS_COLLECTIVE_LIST : THEMIS_COLLECTIVE_TWOPHASE,
                                              .method = kind < 4 ? THEMIS_AGGREGATION_STATIC_CYCLIC
                                                                 : THEMIS_AGGREGATION_ALIGNED,
                                              .placement = THEMIS_AGGREGATION_TOPOLOGY,
                                              .aggregators = 2,
                                              .config_list = "*:2",
                                              .buffer_size = 16384,
                                              .layout = {.stripe_size = 4096, .servers = 2},
                                              .fake_nodes = ranks > 2 ? 2 : 1,
                                              .staging = 100000};
        call->direction = kind % 2 ? THEMIS_READ : THEMIS_WRITE;
        themis_util_runs_clear(&call->file);
        themis_util_runs_clear(&call->memory);
        for (uint64_t i = 0; i < 100; i++)
            themis_util_runs_add(&call->file, (i * (uint64_t)ranks + (uint64_t)rank) * 700 + i, 700);
        for (uint64_t i = 0; i < 700; i++) /* pieces so small that they are packed, and others */
            themis_util_runs_add(&call->memory, i * (kind < 4 ? 130 : 101), 100);
        fill_memory(call);
        for (int victim = 0; victim < ranks && !failures; victim += ranks > 1 ? ranks - 1 : 1) {
            long n = 0;
            while (!failures && short_of_memory(&config, call, ops, (int)(n % 2) ^ victim % 2, victim, n))
                n++;
            all += n;
        }
        free(call->buffer);
    }
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2) {
        MPI_Finalize();
        return 2;
    }
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned calls = argc > 3 ? (unsigned)atoi(argv[3]) : 100;
    if (rank == 0)
        unlink(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    local_file_t files = {open(argv[1], O_RDWR | O_CREAT, 0600), -1};
    themis_collective_file_ops_t ops = {.arg = &files, .start = ops_start, .test = ops_test, .wait = ops_wait};
    call_t call = {.owner = malloc(SPACE * sizeof(int)), .expected = calloc(1, 6 * SPACE)};
    while (call.number < calls && !failures)
        session(&call, &files, &ops, 1 + (unsigned)draw(8));
    for (unsigned i = 0; i < calls / 8 && !failures; i++)
        errors(&call, &files, &ops);
    if (!failures)
        many_patterns(&files, &ops);
    /* Many short calls, in each of which all ranks wait for one another: too slow with more ranks than processors. */
    long allocations = failures || ranks > 3 ? 0 : memory(&call, &ops);
    if (rank == 0)
        printf("%u calls, %ld allocations that failed, %d failures\n", call.number, allocations, failures);
    close(files.fd);
    themis_util_runs_free(&call.file);
    themis_util_runs_free(&call.memory);
    free(call.owner);
    free(call.expected);
    MPI_Finalize();
    return failures != 0;
}
