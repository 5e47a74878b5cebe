/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective MPI-IO against brute force: random views and memory types, blocking, non-blocking and split calls, several
 * calls under way. A plain MPI program.
 *
 *     collective_mpi random FILE SEED CALLS    every byte compared after every call
 *     collective_mpi until-error FILE SECONDS KIND [strided]
 *                                              calls until one fails: prints the class that all ranks got; KIND is
 *                                              write, read, iwrite or iread
 *     collective_mpi invalid FILE              one rank gives a bad count and gets an error; the next call works
 *     collective_mpi overlap FILE              1 rank: non-blocking calls go on without any call of MPI
 *     collective_mpi cyclic FILE               small and large calls: all have the same aggregators
 *     collective_mpi info FILE                 one strided call each way, then what MPI_File_get_info says
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPACE = 1 << 18, PIECES = 4096 };

static int rank, ranks, failures;
static unsigned long long random_state;

static unsigned long long draw(unsigned long long below)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return below ? (random_state >> 33) % below : 0;
}

static void need(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void report(const char *what, int call, long long at)
{
    if (failures++ < 5)
        fprintf(stderr, "rank %d: call %d: %s at %lld\n", rank, call, what, at);
}

static unsigned char content(long long offset, int call)
{
    return (unsigned char)(offset * 7 + offset / 253 + call * 11);
}

/* One call's pattern: owner of each byte of the space, and this rank's pieces of it. */
typedef struct pattern {
    signed char owner[SPACE];
    int pieces, length[PIECES];
    MPI_Aint offset[PIECES];
    int bytes;
    int position[SPACE]; /* in the stream of its owner */
} pattern_t;

static void draw_pattern(pattern_t *p)
{
    int piece = 1 + (int)draw(draw(2) ? 200 : 20000), regular = (int)draw(2), holes = (int)draw(3);
    int turn = (int)draw((unsigned long long)ranks), taken[64] = {0};
    piece = piece < SPACE / PIECES ? SPACE / PIECES : piece;
    p->pieces = p->bytes = 0;
    for (int at = 0; at < SPACE; turn++) {
        int length = regular ? piece : 1 + (int)draw((unsigned long long)(2 * piece));
        int owner = regular ? turn % ranks : (int)draw((unsigned long long)ranks);
        length = length < SPACE - at ? length : SPACE - at;
        if ((holes && draw(4) == 0) || taken[owner] >= PIECES)
            owner = -1;
        else
            taken[owner]++;
        memset(p->owner + at, owner, (size_t)length);
        if (owner == rank) {
            p->offset[p->pieces] = at;
            p->length[p->pieces++] = length;
            for (int i = 0; i < length; i++)
                p->position[at + i] = p->bytes++;
        }
        at += length;
    }
}

/* Memory for a number of bytes: in one piece, or in pieces with gaps. Byte i is at place[i]. */
typedef struct memory {
    unsigned char *base;
    int *place, size, count;
    MPI_Datatype type;
} memory_t;

static void make_memory(int bytes, memory_t *m)
{
    int piece = draw(2) ? 16 + (int)draw(3000) : 0, gap = 1 + (int)draw(40), pieces = 0;
    int *length = malloc(((size_t)bytes / 16 + 2) * sizeof *length);
    MPI_Aint *offset = malloc(((size_t)bytes / 16 + 2) * sizeof *offset);
    m->place = malloc((size_t)(bytes + 1) * sizeof *m->place);
    m->size = 0;
    for (int at = 0; at < bytes;) {
        int part = piece && piece < bytes - at ? piece : bytes - at;
        offset[pieces] = m->size;
        length[pieces++] = part;
        for (int i = 0; i < part; i++)
            m->place[at + i] = m->size + i;
        m->size += part + (piece ? gap : 0);
        at += part;
    }
    m->base = malloc((size_t)m->size + 16);
    memset(m->base, 0x5A, (size_t)m->size + 16);
    m->count = 1;
    if (!piece) {
        m->count = bytes;
        m->type = MPI_BYTE;
    } else {
        MPI_Type_create_hindexed(pieces, length, offset, MPI_BYTE, &m->type);
        MPI_Type_commit(&m->type);
    }
    free(length);
    free(offset);
}

static void free_memory(memory_t *m)
{
    if (m->type != MPI_BYTE)
        MPI_Type_free(&m->type);
    free(m->base);
    free(m->place);
}

enum { BLOCKING, NONBLOCKING, SPLIT, POINTER, KINDS };

static void read_call(MPI_File file, int kind, memory_t *m, MPI_Status *status)
{
    MPI_Request request;
    if (kind == NONBLOCKING) {
        int done = 0;
        need(MPI_File_iread_at_all(file, 0, m->base, m->count, m->type, &request), "iread_at_all");
        for (int i = 0; i < 10 && !done; i++)
            need(MPI_Test(&request, &done, status), "test");
        if (!done)
            need(MPI_Wait(&request, status), "wait");
    } else if (kind == SPLIT) {
        need(MPI_File_read_at_all_begin(file, 0, m->base, m->count, m->type), "read_at_all_begin");
        need(MPI_File_read_at_all_end(file, m->base, status), "read_at_all_end");
    } else if (kind == POINTER) {
        need(MPI_File_read_all(file, m->base, m->count, m->type, status), "read_all");
    } else {
        need(MPI_File_read_at_all(file, 0, m->base, m->count, m->type, status), "read_at_all");
    }
}

static void write_call(MPI_File file, int kind, memory_t *m, MPI_Status *status)
{
    MPI_Request request;
    if (kind == NONBLOCKING) {
        need(MPI_File_iwrite_at_all(file, 0, m->base, m->count, m->type, &request), "iwrite_at_all");
        need(MPI_Wait(&request, status), "wait");
    } else if (kind == SPLIT) {
        need(MPI_File_write_at_all_begin(file, 0, m->base, m->count, m->type), "write_at_all_begin");
        need(MPI_File_write_at_all_end(file, m->base, status), "write_at_all_end");
    } else if (kind == POINTER) {
        need(MPI_File_write_all(file, m->base, m->count, m->type, status), "write_all");
    } else {
        need(MPI_File_write_at_all(file, 0, m->base, m->count, m->type, status), "write_at_all");
    }
}

static void set_view(MPI_File file, const pattern_t *p, long long base)
{
    MPI_Datatype view, whole;
    if (p->pieces) {
        MPI_Type_create_hindexed(p->pieces, p->length, p->offset, MPI_BYTE, &view);
    } else {
        MPI_Type_contiguous(1, MPI_BYTE, &view);
    }
    MPI_Type_create_resized(view, 0, SPACE, &whole);
    MPI_Type_commit(&whole);
    need(MPI_File_set_view(file, base, MPI_BYTE, whole, "native", MPI_INFO_NULL), "set_view");
    MPI_Type_free(&view);
    MPI_Type_free(&whole);
}

static void check_count(MPI_Status *status, int call, int expected)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    if (count != expected)
        report("count", call, count);
}

static void check_file(MPI_File file, const unsigned char *expected, long long size, int call)
{
    unsigned char *found = calloc(1, (size_t)size + 1);
    MPI_Status status;
    need(MPI_File_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    need(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view");
    need(MPI_File_read_at(file, 0, found, (int)size, MPI_BYTE, &status), "read_at");
    for (long long i = 0; i < size && failures < 5; i++)
        if (found[i] != expected[i])
            report("wrong byte in the file", call, i);
    free(found);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_call(MPI_File file, int call, pattern_t *p, unsigned char *expected, long long *size)
{
    int writes = (int)draw(2), kind = (int)draw(KINDS);
    long long base = (long long)draw(4) * SPACE / 2;
    MPI_Status status;
    memory_t m;
    draw_pattern(p);
    unsigned long long state = random_state;
    make_memory(p->bytes, &m);
    random_state = state + 1;
    set_view(file, p, base);
    int before = 0;
    for (int i = 0; i < SPACE; i++) {
        if (p->owner[i] < 0)
            continue;
        if (p->owner[i] == rank && writes)
            m.base[m.place[p->position[i]]] = content(base + i, call);
        if (p->owner[i] == rank && base + i < *size)
            before++;
        if (writes)
            expected[base + i] = content(base + i, call);
    }
    if (writes) {
        write_call(file, kind, &m, &status);
        for (int i = 0; i < SPACE; i++)
            if (p->owner[i] >= 0 && base + i + 1 > *size)
                *size = base + i + 1;
        check_count(&status, call, p->bytes);
        check_file(file, expected, *size, call);
    } else {
        read_call(file, kind, &m, &status);
        check_count(&status, call, before);
        for (int i = 0; i < SPACE; i++)
            if (p->owner[i] == rank && base + i < *size && m.base[m.place[p->position[i]]] != expected[base + i])
                report("wrong byte read", call, base + i);
    }
    free_memory(&m);
}

/* Two non-blocking calls under way at once, waited for in the other order on odd ranks. */
static void two_at_once(MPI_File file, unsigned char *expected, long long *size)
{
    static unsigned char first[3000], second[5000];
    MPI_Request request[2];
    MPI_Status status;
    long long where = 3 * SPACE;
    need(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view");
    for (size_t i = 0; i < sizeof first; i++)
        first[i] = content(where + rank * (int)sizeof first + (int)i, 1000);
    where += ranks * (int)sizeof first;
    for (size_t i = 0; i < sizeof second; i++)
        second[i] = content(where + rank * (int)sizeof second + (int)i, 1000);
    need(MPI_File_iwrite_at_all(file, 3 * SPACE + rank * (int)sizeof first, first, sizeof first, MPI_BYTE, &request[0]),
         "iwrite_at_all");
    need(MPI_File_iwrite_at_all(file, where + rank * (int)sizeof second, second, sizeof second, MPI_BYTE, &request[1]),
         "iwrite_at_all");
    for (int i = 0; i < 2; i++)
        need(MPI_Wait(&request[(i + rank) % 2], &status), "wait");
    long long end = where + ranks * (int)sizeof second;
    for (long long i = 3 * SPACE; i < end; i++)
        expected[i] = content(i, 1000);
    *size = *size > end ? *size : end;
    check_file(file, expected, *size, 1000);
}

/* Many small calls in both directions. */
static void small_calls(MPI_File file, unsigned char *expected, long long *size)
{
    enum { BYTES = 512, CALLS = 100 };
    static unsigned char buffer[BYTES];
    MPI_Status status;
    for (int call = 0; call < CALLS; call++) {
        long long at = ((long long)call * ranks + rank) * BYTES;
        for (int i = 0; i < BYTES; i++)
            buffer[i] = content(at + i, 2000);
        need(MPI_File_write_at_all(file, at, buffer, BYTES, MPI_BYTE, &status), "write_at_all");
    }
    for (int i = 0; i < CALLS * ranks * BYTES; i++)
        expected[i] = content(i, 2000);
    *size = *size > CALLS * ranks * BYTES ? *size : CALLS * ranks * BYTES;
    for (int call = 0; call < CALLS; call++) {
        /* What another rank has written. */
        long long at = ((long long)call * ranks + (rank + 1) % ranks) * BYTES;
        need(MPI_File_read_at_all(file, at, buffer, BYTES, MPI_BYTE, &status), "read_at_all");
        check_count(&status, 2000 + call, BYTES);
        for (int i = 0; i < BYTES; i++)
            if (buffer[i] != content(at + i, 2000))
                report("wrong byte in a small read", 2000 + call, at + i);
    }
    check_file(file, expected, *size, 2100);
}

static int run_random(const char *name, int calls)
{
    pattern_t *p = malloc(sizeof *p);
    unsigned char *expected = calloc(1, 4 * SPACE);
    long long size = 0;
    MPI_File file;
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    for (int call = 0; call < calls && !failures; call++)
        one_call(file, call, p, expected, &size);
    if (!failures)
        two_at_once(file, expected, &size);
    if (!failures)
        small_calls(file, expected, &size);
    need(MPI_File_close(&file), "close");
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(p);
    free(expected);
    return failures != 0;
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* One call of a kind: "write" and "read" block, "iwrite" and "iread" do not. The class of its result. */
static int call_of_kind(MPI_File file, const char *kind, MPI_Offset at, unsigned char *buffer, int bytes)
{
    int writes = strstr(kind, "write") != NULL, code;
    MPI_Request request;
    if (*kind != 'i')
        return class_of(writes ? MPI_File_write_at_all(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                               : MPI_File_read_at_all(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    code = writes ? MPI_File_iwrite_at_all(file, at, buffer, bytes, MPI_BYTE, &request)
                  : MPI_File_iread_at_all(file, at, buffer, bytes, MPI_BYTE, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return class_of(code);
}

/* The view of a rank's part: one piece, or pieces that alternate among ranks. */
static void part_of_file(MPI_File file, int strided, int bytes)
{
    enum { PIECE = 3000 };
    MPI_Datatype vector;
    if (!strided) {
        need(MPI_File_set_view(file, (MPI_Offset)rank * bytes, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
             "set_view");
        return;
    }
    MPI_Type_vector(bytes / PIECE + 1, PIECE, PIECE * ranks, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    need(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, vector, "native", MPI_INFO_NULL), "set_view");
    MPI_Type_free(&vector);
}

/* All ranks must get an error, of the same class, in the same call. */
static int run_until_error(const char *name, double seconds, const char *kind, int strided)
{
    enum { BYTES = 1 << 20 };
    unsigned char *buffer = calloc(1, BYTES);
    MPI_File file;
    int class = MPI_SUCCESS, low, high;
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    part_of_file(file, strided, BYTES);
    need(MPI_File_write_at_all(file, 0, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "the first write");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("running\n");
        fflush(stdout);
    }
    for (double end = MPI_Wtime() + seconds; class == MPI_SUCCESS;) {
        int over = MPI_Wtime() > end;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (over)
            break;
        class = call_of_kind(file, kind, 0, buffer, BYTES);
    }
    MPI_Allreduce(&class, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&class, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_File_close(&file);
    if (rank == 0)
        printf("classes %d to %d\n", low, high);
    free(buffer);
    return low == MPI_SUCCESS || low != high;
}

static int run_invalid(const char *name)
{
    char bytes[16] = "";
    MPI_File file;
    int bad = rank == ranks - 1, code, wrong;
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    code = MPI_File_write_at_all(file, rank * 16, bytes, bad ? -1 : 16, MPI_BYTE, MPI_STATUS_IGNORE);
    printf("rank %d: class %d\n", rank, class_of(code));
    wrong = bad && code == MPI_SUCCESS;
    need(MPI_File_write_at_all(file, rank * 16, bytes, 16, MPI_BYTE, MPI_STATUS_IGNORE), "the call after it");
    need(MPI_File_close(&file), "close");
    return wrong;
}

static int run_info(const char *name)
{
    enum { COUNT = 4096, BLOCK = 64 };
    char *buffer = calloc(COUNT, BLOCK);
    MPI_Datatype vector;
    MPI_File file;
    MPI_Info info;
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_Type_vector(COUNT, BLOCK, BLOCK * ranks, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    need(MPI_File_set_view(file, rank * BLOCK, MPI_BYTE, vector, "native", MPI_INFO_NULL), "set_view");
    for (int step = 0; step < 3; step++) {
        need(MPI_File_write_at_all(file, 0, buffer, COUNT * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write");
        need(MPI_File_read_at_all(file, 0, buffer, COUNT * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "read");
    }
    need(MPI_File_get_info(file, &info), "get_info");
    int keys, found;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; rank == 0 && i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        printf("%s = %s\n", key, value);
    }
    MPI_Info_free(&info);
    MPI_Type_free(&vector);
    need(MPI_File_close(&file), "close");
    free(buffer);
    return 0;
}

/* Calls of 64 KiB and of 64 MiB in turn at moving places; rank 0 prints the aggregators after each. All must be the
 * same, since a stripe's aggregator depends on nothing else. */
static int run_cyclic(const char *name)
{
    enum { SMALL = 64 << 10, LARGE = 64 << 20, PIECE = 4096 };
    char *buffer = calloc(1, LARGE), first[MPI_MAX_INFO_VAL + 1] = "", value[MPI_MAX_INFO_VAL + 1];
    MPI_Offset at = 0;
    MPI_Datatype vector;
    MPI_File file;
    MPI_Info info;
    int differ = 0, found;
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_Type_vector(LARGE / PIECE / ranks, PIECE, PIECE * ranks, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    for (int call = 0; call < 6; call++) {
        int bytes = (call % 2 ? LARGE : SMALL) / ranks;
        need(MPI_File_set_view(file, at + rank * PIECE, MPI_BYTE, vector, "native", MPI_INFO_NULL), "set_view");
        need(MPI_File_write_at_all(file, 0, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write");
        at += call % 2 ? PIECE * 17 : (MPI_Offset)LARGE + PIECE;
        need(MPI_File_get_info(file, &info), "get_info");
        MPI_Info_get(info, "romio_aggregator_list", MPI_MAX_INFO_VAL, value, &found);
        MPI_Info_free(&info);
        if (rank == 0)
            printf("%d bytes: aggregators %s\n", bytes * ranks, found ? value : "none");
        if (call == 0)
            strcpy(first, value);
        differ |= !found || strcmp(first, value) != 0;
    }
    MPI_Type_free(&vector);
    need(MPI_File_close(&file), "close");
    free(buffer);
    return differ;
}

/* How many MPI_Test a call of 32 MiB needs to be complete when nothing calls MPI for a long while after its start. */
static int tests_needed(MPI_File file, const char *kind, unsigned char *buffer, int bytes, useconds_t pause)
{
    enum { MOST = 1000000 };
    MPI_Request request;
    int done = 0, tests = 0;
    need(*kind == 'w' ? MPI_File_iwrite_at_all(file, 0, buffer, bytes, MPI_BYTE, &request)
                      : MPI_File_iread_at_all(file, 0, buffer, bytes, MPI_BYTE, &request),
         kind);
    usleep(pause);
    for (; !done && tests < MOST; tests++)
        need(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "test");
    if (!done)
        need(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    return tests;
}

/* Where the server moves the bytes by itself, a call goes on while the program computes: after a pause that is many
 * times as long as the blocking call, the first few MPI_Test find it complete. A busy machine may spoil some tries. */
static int run_overlap(const char *name)
{
    enum { BYTES = 32 << 20, TRIES = 8, FEW = 3 };
    static const char *const kinds[] = {"write", "read"};
    unsigned char *buffer = malloc(BYTES);
    MPI_File file;
    int bad = 0;
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    part_of_file(file, 1, BYTES);
    for (int k = 0; k < 2; k++) {
        int best = 1 << 30;
        for (int i = 0; i < BYTES && k == 0; i++)
            buffer[i] = content(i, 1);
        memset(buffer, 0, k == 0 ? 0 : BYTES);
        double start = MPI_Wtime();
        call_of_kind(file, kinds[k], 0, buffer, BYTES);
        double took = MPI_Wtime() - start;
        memset(buffer, 0, k == 0 ? 0 : BYTES);
        for (int try = 0; try < TRIES && best > FEW; try++) {
            int tests = tests_needed(file, kinds[k], buffer, BYTES, (useconds_t)(took * 1e6) * 10 + 500000);
            best = tests < best ? tests : best;
        }
        printf("%s: complete after %d MPI_Test\n", kinds[k], best);
        bad |= best > FEW;
    }
    for (int i = 0; i < BYTES && !bad; i++)
        bad |= buffer[i] != content(i, 1);
    need(MPI_File_close(&file), "close");
    free(buffer);
    return bad;
}

static int run(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "random")) {
        random_state = strtoull(argv[3], NULL, 10);
        return run_random(argv[2], atoi(argv[4]));
    }
    if ((argc == 5 || argc == 6) && !strcmp(argv[1], "until-error"))
        return run_until_error(argv[2], atof(argv[3]), argv[4], argc == 6);
    if (argc == 3 && !strcmp(argv[1], "invalid"))
        return run_invalid(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "overlap"))
        return run_overlap(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "cyclic"))
        return run_cyclic(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "info"))
        return run_info(argv[2]);
    return 2;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int result = run(argc, argv);
    MPI_Finalize();
    return result;
}
