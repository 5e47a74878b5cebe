/* SPDX-License-Identifier: BSD-3-Clause */
/* What the array examples share. Bandwidths are those of the slowest rank, from a barrier to the end of the close,
 * since a write that is not closed may still be on its way. */
#include "example.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPEATS = 1000 };

void example_check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void usage(const char *program, const char *about)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr,
                "usage: %s [options] FILE\n%s\n"
                "  -n, --size N or NX,NY,NZ  elements in each dimension (64)\n"
                "  -r, --repeats N           write and read so many times, report medians (1)\n"
                "  -i, --hint KEY=VALUE      an MPI-IO hint, may be repeated\n"
                "  -s, --show-hints          print the hints in force\n"
                "  -k, --keep                do not delete the file\n"
                "  -j, --json                report as a JSON object\n"
                "  -w, --write-only          do not read\n"
                "  -c, --call-only           time the collective call alone, not open and close\n"
                "  -S, --shift N             rank r takes the part of rank r + N\n"
                "FILE may have a prefix, such as themis: or ufs:\n",
                program, about);
    MPI_Finalize();
    exit(2);
}

static bool parse_size(const char *text, int size[3])
{
    int fields = sscanf(text, "%d,%d,%d", &size[0], &size[1], &size[2]);

    if (fields == 1)
        size[1] = size[2] = size[0];
    return (fields == 1 || fields == 3) && size[0] > 0 && size[1] > 0 && size[2] > 0;
}

static bool parse_hint(char *text, MPI_Info info)
{
    char *value = strchr(text, '=');

    if (value == NULL || value == text)
        return false;
    *value++ = '\0';
    return MPI_Info_set(info, text, value) == MPI_SUCCESS;
}

void example_options_parse(int argc, char **argv, const char *about, example_options_t *options)
{
    static const struct option names[] = {
        {"size", required_argument, NULL, 'n'},  {"repeats", required_argument, NULL, 'r'},
        {"hint", required_argument, NULL, 'i'},  {"show-hints", no_argument, NULL, 's'},
        {"keep", no_argument, NULL, 'k'},        {"json", no_argument, NULL, 'j'},
        {"write-only", no_argument, NULL, 'w'},  {"call-only", no_argument, NULL, 'c'},
        {"shift", required_argument, NULL, 'S'}, {NULL, 0, NULL, 0},
    };
    bool good = true;
    int option;

    *options = (example_options_t){.size = {64, 64, 64}, .repeats = 1};
    example_check(MPI_Info_create(&options->info), "MPI_Info_create");
    opterr = 0;
    while ((option = getopt_long(argc, argv, "n:r:i:skjwcS:", names, NULL)) != -1) {
        switch (option) {
        case 'n':
            good = good && parse_size(optarg, options->size);
            break;
        case 'r':
            options->repeats = atoi(optarg);
            break;
        case 'i':
            good = good && parse_hint(optarg, options->info);
            break;
        case 's':
            options->show_hints = true;
            break;
        case 'k':
            options->keep = true;
            break;
        case 'j':
            options->json = true;
            break;
        case 'w':
            options->write_only = true;
            break;
        case 'c':
            options->call_only = true;
            break;
        case 'S':
            options->shift = atoi(optarg);
            break;
        default:
            good = false;
        }
    }
    if (!good || optind != argc - 1 || options->repeats < 1 || options->repeats > MAX_REPEATS || options->shift < 0)
        usage(argv[0], about);
    options->file = argv[optind];
}

void example_options_free(example_options_t *options)
{
    MPI_Info_free(&options->info);
}

void example_part(int n, int parts, int index, int *begin, int *length)
{
    int whole = n / parts, rest = n % parts;

    *begin = index * whole + (index < rest ? index : rest);
    *length = whole + (index < rest);
}

int example_part_of_rank(const example_options_t *options)
{
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return (rank + options->shift) % ranks;
}

double example_value(MPI_Offset index, int repeat)
{
    return (double)index + 1.0 + 0.25 * (double)(repeat % 4);
}

static void fill(const example_array_t *array, int repeat, double *data)
{
    for (size_t i = 0; i < array->count; i++)
        data[i] = example_value(array->index(array->context, i), repeat);
}

/* Compares bit by bit; tells of the first few that differ. */
static long wrong_elements(const example_array_t *array, int repeat, const double *data)
{
    long wrong = 0;

    for (size_t i = 0; i < array->count; i++) {
        double want = example_value(array->index(array->context, i), repeat);

        if (memcmp(&want, &data[i], sizeof(want)) == 0)
            continue;
        if (wrong++ < 3)
            fprintf(stderr, "element %lld: wrote %.17g, read %.17g\n", (long long)array->index(array->context, i), want,
                    data[i]);
    }
    return wrong;
}

static void print_hints(MPI_File file)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int keys, found;

    example_check(MPI_File_get_info(file, &info), "MPI_File_get_info");
    MPI_Info_get_nkeys(info, &keys);
    printf("hints in force:\n");
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found)
            printf("  %-26s %s\n", key, value);
    }
    MPI_Info_free(&info);
}

/* One collective pass in one direction, open and close included; returns the slowest rank's seconds. */
static double pass(const example_options_t *options, const example_array_t *array, bool write, bool show, double *data)
{
    int amode = write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY, rank, got;
    double begin, took;
    MPI_Status status;
    MPI_File file;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    example_check(MPI_File_open(MPI_COMM_WORLD, options->file, amode, options->info, &file), options->file);
    example_check(MPI_File_set_view(file, 0, MPI_DOUBLE, array->view, "native", MPI_INFO_NULL), "MPI_File_set_view");
    if (options->call_only) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
    }
    if (write)
        example_check(MPI_File_write_all(file, data, (int)array->count, MPI_DOUBLE, &status), "MPI_File_write_all");
    else
        example_check(MPI_File_read_all(file, data, (int)array->count, MPI_DOUBLE, &status), "MPI_File_read_all");
    took = MPI_Wtime() - begin;
    MPI_Get_count(&status, MPI_DOUBLE, &got);
    if ((size_t)got != array->count)
        fprintf(stderr, "rank %d: %d elements instead of %zu\n", rank, got, array->count);
    if (show && rank == 0)
        print_hints(file);
    begin = MPI_Wtime();
    example_check(MPI_File_close(&file), "MPI_File_close");
    took += options->call_only ? 0 : MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts them. 0 for none. */
static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_size);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static double rate(double mib, double seconds)
{
    return seconds > 0 ? mib / seconds : 0;
}

static const char *verdict(const example_options_t *options, long wrong)
{
    if (options->write_only)
        return "not read";
    return wrong == 0 ? "every byte verified" : "WRONG DATA";
}

static void report(const example_options_t *options, const example_array_t *array, double write_s, double read_s,
                   long wrong)
{
    double mib = (double)array->bytes / 1048576.0;
    char passes[32] = "";
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank != 0)
        return;
    if (options->repeats > 1)
        snprintf(passes, sizeof passes, "median of %d times: ", options->repeats);
    if (options->json)
        printf("{\"case\": \"%s\", \"ranks\": %d, \"mib\": %.3f, \"write_mib_s\": %.1f, \"read_mib_s\": %.1f, "
               "\"wrong_elements\": %ld}\n",
               array->name, ranks, mib, rate(mib, write_s), rate(mib, read_s), wrong);
    else
        printf("%s: %d x %d x %d doubles, %.1f MiB, %d ranks, %s: %swrite %.1f MiB/s, read %.1f MiB/s, %s\n",
               array->name, options->size[0], options->size[1], options->size[2], mib, ranks, options->file, passes,
               rate(mib, write_s), rate(mib, read_s), verdict(options, wrong));
}

bool example_array_run(const example_options_t *options, const example_array_t *array)
{
    double *data = malloc((array->count + 1) * sizeof(*data)), write_s[MAX_REPEATS], read_s[MAX_REPEATS];
    long wrong = 0;
    int rank;

    if (data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int repeat = 0; repeat < options->repeats; repeat++) {
        fill(array, repeat, data);
        write_s[repeat] = pass(options, array, true, options->show_hints && repeat == 0, data);
        if (options->write_only)
            continue;
        memset(data, 0, array->count * sizeof(*data));
        read_s[repeat] = pass(options, array, false, false, data);
        wrong += wrong_elements(array, repeat, data);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    report(options, array, median(write_s, options->repeats),
           options->write_only ? 0 : median(read_s, options->repeats), wrong);
    if (!options->keep && rank == 0)
        MPI_File_delete(options->file, MPI_INFO_NULL);
    free(data);
    return wrong == 0;
}
