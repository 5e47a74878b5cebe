/* SPDX-License-Identifier: BSD-3-Clause */
#include "play.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a step has begun, or its blocking access. */
typedef struct transfer {
    unsigned char *data;
    MPI_Request request;
    MPI_Status status;
} transfer_t;

typedef struct play {
    const order_model_t *model;
    int rank, ranks;
    const order_files_t *files; /* borrowed */
    transfer_t transfer[ORDER_STEPS];
    int good;
    char *text;
    int step; /* the present one */
} play_t;

static void need(play_t *play, int code)
{
    char error[MPI_MAX_ERROR_STRING], what[400];
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, error, &length);
    order_step_print(play->model->sequence, play->step, play->rank, what, sizeof what);
    fprintf(stderr, "seed %llu: rank %d: %s: %s\n", (unsigned long long)play->model->sequence->seed, play->rank, what,
            error);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static const order_step_t *present(const play_t *play)
{
    return &play->model->sequence->step[play->step];
}

static void wrong(play_t *play, const char *text)
{
    if (play->good)
        snprintf(play->text, ORDER_TEXT, "step %d: rank %d: %s", play->step, play->rank, text);
    play->good = 0;
}

/* --- data --- */

static void prepare(play_t *play, const order_step_t *step, transfer_t *transfer)
{
    const order_place_t *place = &step->place[play->rank];

    transfer->data = malloc((size_t)place->bytes + 1); /* one for no bytes as well */
    if (!transfer->data)
        need(play, MPI_ERR_NO_MEM);
    if (step->writes)
        order_model_fill(place, place->id, transfer->data);
    else
        order_model_poison(place, transfer->data);
}

/* The access of a step is over. */
static void finish(play_t *play, int number)
{
    const order_step_t *step = &play->model->sequence->step[number];
    transfer_t *transfer = &play->transfer[number];
    char text[ORDER_TEXT - 100];
    int got = -1;

    MPI_Get_count(&transfer->status, MPI_BYTE, &got);
    if (!step->writes && !order_model_allows(play->model, order_model_access(play->model, number, play->rank),
                                             transfer->data, got, text, sizeof text))
        wrong(play, text);
    if (step->writes && got != step->place[play->rank].bytes)
        wrong(play, "the status of a write has another number of bytes");
    free(transfer->data);
    transfer->data = NULL;
}

/* --- calls --- */

typedef int at_call_t(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);
typedef int pointer_call_t(MPI_File, void *, int, MPI_Datatype, MPI_Status *);
typedef int iat_call_t(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Request *);
typedef int ipointer_call_t(MPI_File, void *, int, MPI_Datatype, MPI_Request *);
typedef int begin_at_call_t(MPI_File, MPI_Offset, void *, int, MPI_Datatype);
typedef int begin_call_t(MPI_File, void *, int, MPI_Datatype);
typedef int end_call_t(MPI_File, void *, MPI_Status *);

/* Functions that write take a const buffer; the tables hold both kinds as functions that read. */
#define WRITE(type, function) ((type *)(void (*)(void))(function))

static int call_blocking(const order_step_t *step, MPI_File file, const order_place_t *place, transfer_t *transfer)
{
    static at_call_t *const at[2][2] = {
        {MPI_File_read_at, WRITE(at_call_t, MPI_File_write_at)},
        {MPI_File_read_at_all, WRITE(at_call_t, MPI_File_write_at_all)},
    };
    static pointer_call_t *const here[2][2] = {
        {MPI_File_read, WRITE(pointer_call_t, MPI_File_write)},
        {MPI_File_read_all, WRITE(pointer_call_t, MPI_File_write_all)},
    };
    int together = step->kind == ORDER_COLLECTIVE, bytes = (int)place->bytes;

    if (step->explicit_offset)
        return at[together][step->writes](file, place->position, transfer->data, bytes, MPI_BYTE, &transfer->status);
    return here[together][step->writes](file, transfer->data, bytes, MPI_BYTE, &transfer->status);
}

static int call_nonblocking(const order_step_t *step, MPI_File file, const order_place_t *place, transfer_t *transfer)
{
    static iat_call_t *const at[2][2] = {
        {MPI_File_iread_at, WRITE(iat_call_t, MPI_File_iwrite_at)},
        {MPI_File_iread_at_all, WRITE(iat_call_t, MPI_File_iwrite_at_all)},
    };
    static ipointer_call_t *const here[2][2] = {
        {MPI_File_iread, WRITE(ipointer_call_t, MPI_File_iwrite)},
        {MPI_File_iread_all, WRITE(ipointer_call_t, MPI_File_iwrite_all)},
    };
    int together = step->kind == ORDER_ICOLLECTIVE, bytes = (int)place->bytes;

    if (step->explicit_offset)
        return at[together][step->writes](file, place->position, transfer->data, bytes, MPI_BYTE, &transfer->request);
    return here[together][step->writes](file, transfer->data, bytes, MPI_BYTE, &transfer->request);
}

static int call_split(const order_step_t *step, MPI_File file, const order_place_t *place, transfer_t *transfer)
{
    static begin_at_call_t *const at[2] = {MPI_File_read_at_all_begin,
                                           WRITE(begin_at_call_t, MPI_File_write_at_all_begin)};
    static begin_call_t *const here[2] = {MPI_File_read_all_begin, WRITE(begin_call_t, MPI_File_write_all_begin)};

    if (step->explicit_offset)
        return at[step->writes](file, place->position, transfer->data, (int)place->bytes, MPI_BYTE);
    return here[step->writes](file, transfer->data, (int)place->bytes, MPI_BYTE);
}

static int call_ordered(const order_step_t *step, MPI_File file, const order_place_t *place, transfer_t *transfer)
{
    static pointer_call_t *const here[2] = {MPI_File_read_ordered, WRITE(pointer_call_t, MPI_File_write_ordered)};

    return here[step->writes](file, transfer->data, (int)place->bytes, MPI_BYTE, &transfer->status);
}

static int call_end(const order_step_t *begun, MPI_File file, transfer_t *transfer)
{
    static end_call_t *const at[2] = {MPI_File_read_at_all_end, WRITE(end_call_t, MPI_File_write_at_all_end)};
    static end_call_t *const here[2] = {MPI_File_read_all_end, WRITE(end_call_t, MPI_File_write_all_end)};

    if (begun->kind != ORDER_SPLIT)
        return MPI_Wait(&transfer->request, &transfer->status);
    return (begun->explicit_offset ? at : here)[begun->writes](file, transfer->data, &transfer->status);
}

/* --- steps --- */

static void play_access(play_t *play)
{
    const order_step_t *step = present(play);
    const order_place_t *place = &step->place[play->rank];
    transfer_t *transfer = &play->transfer[play->step];
    MPI_File file = play->files->file[step->handle];

    if (!(step->ranks & 1u << play->rank))
        return;
    prepare(play, step, transfer);
    if (step->kind == ORDER_ORDERED) {
        if (step->place[0].seek)
            need(play, MPI_File_seek_shared(file, step->place[0].position, MPI_SEEK_SET));
        need(play, call_ordered(step, file, place, transfer));
    } else {
        if (place->seek)
            need(play, MPI_File_seek(file, place->position, MPI_SEEK_SET));
        if (step->kind == ORDER_SPLIT)
            need(play, call_split(step, file, place, transfer));
        else if (order_step_begins(step))
            need(play, call_nonblocking(step, file, place, transfer));
        else
            need(play, call_blocking(step, file, place, transfer));
    }
    if (!order_step_begins(step))
        finish(play, play->step);
}

static void play_end(play_t *play)
{
    int of = present(play)->of;
    const order_step_t *begun = &play->model->sequence->step[of];

    if (!(begun->ranks & 1u << play->rank))
        return;
    need(play, call_end(begun, play->files->file[begun->handle], &play->transfer[of]));
    finish(play, of);
}

/* All ranks have written as many bytes of their own number, in any order: one slot belongs to each. */
static void check_slots(play_t *play, const order_step_t *step)
{
    int64_t bytes = step->place[0].bytes;
    unsigned char *all = calloc((size_t)play->ranks, (size_t)bytes);
    unsigned seen = 0;
    int good = all != NULL;

    need(play, MPI_File_read_at(play->files->file[ORDER_SHARING], step->place[0].position, all,
                                (int)bytes * play->ranks, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int slot = 0; good && slot < play->ranks; slot++) {
        const unsigned char *first = all + slot * bytes;

        good = *first >= 1 && *first <= play->ranks && (bytes == 1 || memcmp(first, first + 1, (size_t)bytes - 1) == 0);
        seen |= good ? 1u << (*first - 1) : 0;
    }
    if (!good || seen != (1u << play->ranks) - 1)
        wrong(play, "what the ranks wrote at the shared pointer is not there once for each rank");
    free(all);
}

/* Then each rank writes to the slot that the sequence has for it, by its offset. */
static void write_together(play_t *play, const order_step_t *step, transfer_t *transfer)
{
    const order_place_t *place = &step->place[play->rank];
    MPI_File file = play->files->file[ORDER_SHARING];

    memset(transfer->data, 1 + play->rank, (size_t)place->bytes);
    if (play->step % 2)
        need(play, MPI_File_write_shared(file, transfer->data, (int)place->bytes, MPI_BYTE, &transfer->status));
    else
        need(play, MPI_File_iwrite_shared(file, transfer->data, (int)place->bytes, MPI_BYTE, &transfer->request));
    need(play, MPI_Wait(&transfer->request, &transfer->status));
    MPI_Barrier(MPI_COMM_WORLD);
    check_slots(play, step);
    MPI_Barrier(MPI_COMM_WORLD);
    order_model_fill(place, place->id, transfer->data);
    need(play,
         MPI_File_write_at(file, place->position, transfer->data, (int)place->bytes, MPI_BYTE, &transfer->status));
    finish(play, play->step);
}

/* Each rank gets the bytes of one slot. */
static void read_together(play_t *play, const order_step_t *step, transfer_t *transfer)
{
    order_access_t read = *order_model_access(play->model, play->step, play->rank);
    char text[ORDER_TEXT - 100];
    int got = -1, good = 0;

    need(play, MPI_File_read_shared(play->files->file[ORDER_SHARING], transfer->data, (int)read.place.bytes, MPI_BYTE,
                                    &transfer->status));
    MPI_Get_count(&transfer->status, MPI_BYTE, &got);
    for (int slot = 0; !good && slot < play->ranks; slot++) {
        read.place = step->place[slot];
        read.first = order_view_offset(&read.place.view, read.place.position);
        read.end = order_place_end(&read.place);
        good = order_model_allows(play->model, &read, transfer->data, got, text, sizeof text);
    }
    if (!good)
        wrong(play, text);
    free(transfer->data);
    transfer->data = NULL;
}

static void play_together(play_t *play)
{
    const order_step_t *step = present(play);
    transfer_t *transfer = &play->transfer[play->step];
    MPI_Offset position = -1, after = step->place[0].position + step->place[0].bytes * play->ranks;

    MPI_Barrier(MPI_COMM_WORLD);
    if (step->place[0].seek)
        need(play, MPI_File_seek_shared(play->files->file[ORDER_SHARING], step->place[0].position, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
    prepare(play, step, transfer);
    if (step->writes)
        write_together(play, step, transfer);
    else
        read_together(play, step, transfer);
    MPI_Barrier(MPI_COMM_WORLD);
    need(play, MPI_File_get_position_shared(play->files->file[ORDER_SHARING], &position));
    if (position != after)
        wrong(play, "the shared pointer is elsewhere");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void play_message(play_t *play)
{
    const order_step_t *step = present(play);
    int token = play->step;

    if (play->rank == step->from)
        MPI_Send(&token, 1, MPI_INT, step->to, 0, MPI_COMM_WORLD);
    if (play->rank == step->to)
        MPI_Recv(&token, 1, MPI_INT, step->from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void play_set_view(play_t *play)
{
    const order_step_t *step = present(play);
    const order_view_t *view = &step->place[play->rank].view;
    MPI_Datatype block = MPI_BYTE, type = MPI_BYTE;

    if (view->block != view->stride) {
        MPI_Type_contiguous((int)view->block, MPI_BYTE, &block);
        MPI_Type_create_resized(block, 0, view->stride, &type);
        MPI_Type_commit(&type);
    }
    need(play,
         MPI_File_set_view(play->files->file[step->handle], view->start, MPI_BYTE, type, "native", MPI_INFO_NULL));
    if (view->block != view->stride) {
        MPI_Type_free(&type);
        MPI_Type_free(&block);
    }
}

static void play_size(play_t *play)
{
    const order_step_t *step = present(play);
    MPI_File file = play->files->file[step->handle];

    MPI_Barrier(MPI_COMM_WORLD);
    if (step->kind == ORDER_SET_SIZE)
        need(play, MPI_File_set_size(file, step->size));
    else
        need(play, MPI_File_preallocate(file, step->size));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void play_get_size(play_t *play)
{
    int64_t least, most;
    MPI_Offset size = -1;
    char text[100];

    need(play, MPI_File_get_size(play->files->file[present(play)->handle], &size));
    order_model_size(play->model, order_model_access(play->model, play->step, play->rank), &least, &most);
    snprintf(text, sizeof text, "the size is %lld instead of %lld to %lld", (long long)size, (long long)least,
             (long long)most);
    if (size < least || size > most)
        wrong(play, text);
}

/* All ranks have to find the same, where the order of writes left several possibilities. */
static void play_compare(play_t *play)
{
    const order_step_t *step = present(play);
    transfer_t *transfer = &play->transfer[play->step];
    const order_place_t *place = &step->place[play->rank];
    uint64_t hash[2] = {0, 0}, most[2];

    MPI_Barrier(MPI_COMM_WORLD);
    prepare(play, step, transfer);
    need(play, MPI_File_read_at(play->files->file[ORDER_OWN], place->position, transfer->data, (int)place->bytes,
                                MPI_BYTE, &transfer->status));
    for (int64_t i = 0; i < place->bytes; i++)
        hash[0] = hash[0] * 31 + transfer->data[i];
    finish(play, play->step);
    hash[1] = ~hash[0];
    MPI_Allreduce(hash, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] != hash[0] || most[1] != hash[1])
        wrong(play, "after a barrier, ranks read different bytes");
}

static void play_step(play_t *play)
{
    const order_step_t *step = present(play);

    if (step->pauses & 1u << play->rank)
        usleep(100u << (play->step % 5));
    if (step->kind == ORDER_TOGETHER)
        play_together(play);
    else if (order_step_is_access(step))
        play_access(play);
    else if (step->kind == ORDER_END)
        play_end(play);
    else if (step->kind == ORDER_BARRIER)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (step->kind == ORDER_MESSAGE)
        play_message(play);
    else if (step->kind == ORDER_SET_VIEW)
        play_set_view(play);
    else if (step->kind == ORDER_GET_SIZE)
        play_get_size(play);
    else if (step->kind == ORDER_COMPARE)
        play_compare(play);
    else
        play_size(play);
}

void order_files_open(const char *name, MPI_Info info, order_files_t *files)
{
    for (int h = 0; h < ORDER_HANDLES; h++) {
        int mode = MPI_MODE_RDWR | (h == 0 ? MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE : 0);

        if (MPI_File_open(h == ORDER_OWN ? MPI_COMM_SELF : MPI_COMM_WORLD, name, mode, info, &files->file[h]) !=
            MPI_SUCCESS) {
            fprintf(stderr, "%s cannot be opened\n", name);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

void order_files_close(order_files_t *files)
{
    for (int h = ORDER_HANDLES - 1; h >= 0; h--)
        MPI_File_close(&files->file[h]);
}

int order_play(const order_model_t *model, const order_files_t *files, char text[ORDER_TEXT])
{
    play_t *play = calloc(1, sizeof *play);
    int good;

    if (!play)
        MPI_Abort(MPI_COMM_WORLD, 1);
    *play = (play_t){.model = model, .files = files, .good = 1, .text = text};
    MPI_Comm_rank(MPI_COMM_WORLD, &play->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &play->ranks);
    for (int i = 0; i < ORDER_STEPS; i++)
        play->transfer[i].request = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    need(play, MPI_File_set_size(files->file[ORDER_MAIN], 0));
    MPI_Barrier(MPI_COMM_WORLD);
    for (play->step = 0; play->step < model->sequence->steps; play->step++)
        play_step(play);
    good = play->good;
    free(play);
    return good;
}
