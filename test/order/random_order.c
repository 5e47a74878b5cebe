/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks with random programs that what is read is what a promise about the order of accesses allows.
 *
 *   mpirun -n N ./random_order [OPTION...] FILE
 *     --seeds FROM COUNT    sequences FROM, FROM + 1, .. (default: 1 100)
 *     --steps M             each ends after M steps, for a look at a failure
 *     --rules RULES         promised (default): writes that have ended are seen by all that happens after them, and
 *                           collective calls of a handle take effect in their order;
 *                           documented: moreover no collective call begins before all ranks have begun it;
 *                           local: as ROMIO has it on a local file system (and needs romio_ds_write = disable)
 *     --hint KEY=VALUE      for the opens
 *     --save FILE           where a sequence that fails is written to (default: random_order.failed)
 *     --replay FILE         runs such a file again: its sequence, rules and hints
 *     --print               the sequences, without running them
 *     --has-hint KEY        only tells by its status whether MPI_File_get_info shows that hint
 *
 * Ends at the first sequence that fails, with status 1.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "play.h"

enum { HINTS = 16, LIMIT_S = 120 };

typedef struct options {
    const char *name, *rules, *save, *replay, *asked_hint;
    unsigned long long from, count;
    int steps, print;
    const char *hint[HINTS]; /* "key=value" */
    int hints;
} options_t;

static order_sequence_t sequence;
static order_model_t model;
static int rank, ranks;

/* --- options --- */

static void usage(void)
{
    if (rank == 0)
        fprintf(stderr, "usage: random_order [--seeds FROM COUNT] [--steps M] [--rules promised|documented|local]\n"
                        "    [--hint KEY=VALUE] [--save FILE] [--replay FILE] [--print] [--has-hint KEY] FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static int rules_of(const char *name)
{
    static const struct {
        const char *name;
        int rules;
    } known[] = {{"promised", ORDER_IN_TURN | ORDER_EXACT_SIZE},
                 {"documented", ORDER_IN_TURN | ORDER_ASSEMBLED | ORDER_EXACT_SIZE},
                 {"local", ORDER_ASSEMBLED | ORDER_SIEVING}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].rules;
    return -1;
}

static int is_local(const options_t *options)
{
    return strcmp(options->rules, "local") == 0;
}

/* One option at words[0]; returns how many words it takes, 0 if it is none. */
static int read_option(options_t *options, int left, char **words)
{
    if (left > 2 && strcmp(words[0], "--seeds") == 0) {
        options->from = strtoull(words[1], NULL, 10);
        options->count = strtoull(words[2], NULL, 10);
        return 3;
    }
    if (strcmp(words[0], "--print") == 0) {
        options->print = 1;
        return 1;
    }
    if (left < 2)
        return 0;
    if (strcmp(words[0], "--steps") == 0)
        options->steps = atoi(words[1]);
    else if (strcmp(words[0], "--rules") == 0)
        options->rules = words[1];
    else if (strcmp(words[0], "--hint") == 0 && options->hints < HINTS && strchr(words[1], '='))
        options->hint[options->hints++] = words[1];
    else if (strcmp(words[0], "--save") == 0)
        options->save = words[1];
    else if (strcmp(words[0], "--replay") == 0)
        options->replay = words[1];
    else if (strcmp(words[0], "--has-hint") == 0)
        options->asked_hint = words[1];
    else
        return 0;
    return 2;
}

static void read_options(options_t *options, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken) {
        taken = read_option(options, count - i, words + i);
        if (taken == 0 && (i != count - 1 || words[i][0] == '-'))
            usage();
        if (taken == 0) {
            options->name = words[i];
            taken = 1;
        }
    }
}

/* The first line of a saved sequence, without its first character: options, separated by blanks. */
static void read_saved(options_t *options)
{
    static char line[4096];
    char *words[2 * HINTS + 16];
    int count = 0;
    FILE *file = fopen(options->replay, "r");

    if (!file || !fgets(line, sizeof line, file))
        usage();
    fclose(file);
    for (char *word = strtok(line + 1, " \n"); word && count < 2 * HINTS + 16; word = strtok(NULL, " \n"))
        words[count++] = word;
    read_options(options, count, words);
}

static void save(const options_t *options)
{
    FILE *file = fopen(options->save, "w");

    if (!file) {
        perror(options->save);
        return;
    }
    fprintf(file, "# --seeds %llu 1 --rules %s", (unsigned long long)sequence.seed, options->rules);
    if (options->steps)
        fprintf(file, " --steps %d", options->steps);
    for (int i = 0; i < options->hints; i++)
        fprintf(file, " --hint %s", options->hint[i]);
    fprintf(file, "\n# %d ranks, file %s, striping_unit %lld\n", ranks, options->name,
            (long long)order_sequence_striping_unit(sequence.seed));
    order_sequence_print(&sequence, file);
    fclose(file);
}

/* --- running --- */

static MPI_Info make_info(const options_t *options, int64_t striping_unit)
{
    MPI_Info info;

    MPI_Info_create(&info);
    for (int i = 0; i < options->hints; i++) {
        char key[MPI_MAX_INFO_KEY];
        size_t length = strcspn(options->hint[i], "=");

        snprintf(key, sizeof key, "%.*s", (int)length, options->hint[i]);
        MPI_Info_set(info, key, options->hint[i] + length + 1);
    }
    if (striping_unit) {
        char text[30];

        snprintf(text, sizeof text, "%lld", (long long)striping_unit);
        MPI_Info_set(info, "striping_unit", text);
    }
    return info;
}

/* What ends the program tells the seed. */
static void tell_seed(int number)
{
    char text[100];
    int length = snprintf(text, sizeof text, "random_order: rank %d: signal %d in seed %llu\n", rank, number,
                          (unsigned long long)sequence.seed);

    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

static void watch(void)
{
    static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], tell_seed);
}

/* 1 if all ranks found nothing wrong. */
static int run_sequence(const options_t *options, uint64_t seed, const order_files_t *files)
{
    char text[ORDER_TEXT] = "";
    int good, all;

    order_sequence_make(seed, ranks, is_local(options), options->steps, &sequence);
    order_model_make(&sequence, (unsigned)rules_of(options->rules), &model);
    alarm(LIMIT_S);
    good = order_play(&model, files, text);
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!good)
        printf("seed %llu: %s\n", (unsigned long long)seed, text);
    fflush(stdout);
    return all;
}

/* Those of one group, from `seed` on. */
static int run_group(const options_t *options, uint64_t *seed)
{
    MPI_Info info = make_info(options, order_sequence_striping_unit(*seed));
    uint64_t end = options->from + options->count, group = (*seed / ORDER_GROUP + 1) * ORDER_GROUP;
    order_files_t files;
    int good = 1;

    alarm(LIMIT_S);
    order_files_open(options->name, info, &files);
    for (; good && *seed < end && *seed < group; ++*seed)
        good = run_sequence(options, *seed, &files);
    order_files_close(&files);
    alarm(0);
    MPI_Info_free(&info);
    return good;
}

static int run_sequences(const options_t *options)
{
    uint64_t seed = options->from;
    int good = 1;

    watch();
    while (good && seed < options->from + options->count)
        good = run_group(options, &seed);
    if (rank == 0) {
        printf("random_order: %d ranks, %s, rules %s, seeds from %llu: %llu sequences, %s", ranks, options->name,
               options->rules, options->from, (unsigned long long)seed - options->from,
               good ? "all right\n" : "the last of ");
        if (!good) {
            printf("which is wrong; %s has it\n", options->save);
            save(options);
        }
    }
    return good;
}

static void print_sequences(const options_t *options)
{
    for (unsigned long long i = 0; i < options->count && rank == 0; i++) {
        order_sequence_make(options->from + i, ranks, is_local(options), options->steps, &sequence);
        printf("seed %llu\n", options->from + i);
        order_sequence_print(&sequence, stdout);
    }
}

static int has_hint(const options_t *options)
{
    char value[MPI_MAX_INFO_VAL];
    MPI_Info info = make_info(options, 0);
    MPI_File file;
    int flag = 0, code = MPI_File_open(MPI_COMM_WORLD, options->name,
                                       MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file);

    MPI_Info_free(&info);
    if (code != MPI_SUCCESS)
        return 0;
    MPI_File_get_info(file, &info);
    MPI_Info_get(info, options->asked_hint, MPI_MAX_INFO_VAL - 1, value, &flag);
    MPI_Info_free(&info);
    MPI_File_close(&file);
    return flag;
}

int main(int count, char **words)
{
    options_t options = {.rules = "promised", .save = "random_order.failed", .from = 1, .count = 100};
    int good = 1;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_options(&options, count - 1, words + 1);
    if (options.replay)
        read_saved(&options);
    if ((!options.name && !options.print) || rules_of(options.rules) < 0 || ranks > ORDER_RANKS)
        usage();
    if (options.print)
        print_sequences(&options);
    else if (options.asked_hint)
        good = has_hint(&options);
    else
        good = run_sequences(&options);
    MPI_Finalize();
    return good ? 0 : 1;
}
