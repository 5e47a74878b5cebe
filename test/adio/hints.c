/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid and invalid hints: hints CASE FILE. */
#include "cases.h"

/* The value of a hint that is in force; "" if it is not shown. */
static const char *shown(MPI_File file, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info used;
    int found = 0;

    MPI_File_get_info(file, &used);
    MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&used);
    return found ? value : "";
}

/* Invalid values, and what is in force instead ("": not shown). errors.sh expects one warning for each. */
static void nonsense(const char *name)
{
    static const char *const rows[][3] = {
        {"cb_buffer_size", "plenty", "16777216"},
        {"cb_buffer_size", "-1", "16777216"},
        {"cb_config_list", "::::", "*:1"},
        {"cb_config_list", "no-such-host:1", "*:1"},
        {"cb_nodes", "-1", "1"},
        {"striping_unit", "-7", "1048576"},
        {"striping_unit", "5000", "1048576"},
        {"striping_unit", "4294967296", "1048576"},
        {"striping_factor", "many", ""},
        {"striping_factor", "99", "2"},
        {"start_iodevice", "-3", ""},
        {"start_iodevice", "77", "1"},
        {"romio_cb_write", "sometimes", "automatic"},
        {"romio_cb_read", "on", "automatic"},
        {"romio_no_indep_rw", "perhaps", "false"},
        {"romio_cb_fr_alignment", "x", ""},
        {"romio_ds_write", "maybe", ""},
        {"ind_rd_buffer_size", "0", ""},
        {"themis_servers", "junk", NULL},
        {"themis_timeout", "always", ""},
        {"themis_collective", "maybe", "auto"},
        {"themis_fd_method", "odd", "auto"},
        {"themis_placement", "anywhere", "auto"},
        {"themis_aggregators", "some", ""},
        {"themis_topology", "/no/such/file", "auto"},
        {"themis_cache", "maybe", "off"},
        {"themis_direct", "perhaps", "auto"},
        {"themis_no_such_thing", "1", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const hint[1][2] = {{rows[i][0], rows[i][1]}};
        MPI_File file = open_hinted(name, 1, hint);
        const char *wanted = rows[i][2] ? rows[i][2] : getenv("THEMIS_SERVERS"), *value = shown(file, rows[i][0]);

        if (strcmp(value, wanted) != 0)
            fprintf(stderr, "%s = %s: \"%s\" is in force\n", rows[i][0], rows[i][1], value);
        expect(strcmp(value, wanted) == 0, "the default is in force instead of an invalid value");
        MPI_File_close(&file);
    }
}

/* All at once, and the file works. */
static void much_nonsense(const char *name)
{
    static const char *const hints[][2] = {
        {"cb_buffer_size", "plenty"},    {"striping_unit", "-7"},      {"striping_factor", "many"},
        {"start_iodevice", "-3"},        {"themis_timeout", "always"}, {"themis_no_such_thing", "1"},
        {"romio_cb_write", "sometimes"}, {"cb_nodes", "-1"},           {"unknown_to_all", "x"},
    };
    int byte = rank, back = -1;
    MPI_File file = open_hinted(name, sizeof hints / sizeof *hints, hints);

    expect(*shown(file, "unknown_to_all") == '\0', "an unknown hint is not shown");
    expect(MPI_File_write_at_all(file, 4 * rank, &byte, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    expect(MPI_File_read_at_all(file, 4 * rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read");
    expect(back == rank, "what was written is read");
    MPI_File_close(&file);
}

/* Ranks give different hints: those of rank 0 are used, and no rank hangs. */
static void differing_hints(const char *name)
{
    static const char *const first[][2] = {{"cb_buffer_size", "1048576"}, {"themis_collective", "list"}};
    static const char *const other[][2] = {{"cb_buffer_size", "plenty"}, {"romio_cb_write", "disable"}};
    MPI_File file = open_hinted(name, rank == 0 ? 2 : rank == 1 ? 0 : 1, rank == 0 ? first : other + (rank == 3));

    expect(strcmp(shown(file, "cb_buffer_size"), "1048576") == 0, "cb_buffer_size of rank 0");
    expect(strcmp(shown(file, "romio_cb_write"), "automatic") == 0, "romio_cb_write of rank 0");
    expect(strcmp(shown(file, "themis_collective"), "list") == 0, "themis_collective of rank 0");
    MPI_File_close(&file);
}

/* Hints after the open change nothing and are not shown; the hints that are shown can be passed to the next open. */
static void late_hints(const char *name)
{
    static const char *const given[][2] = {{"themis_collective", "twophase"}};
    MPI_File file = open_hinted(name, 1, given), again;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "themis_collective", "list");
    MPI_Info_set(info, "cb_buffer_size", "4096");
    expect(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info) == MPI_SUCCESS, "a view with hints");
    expect(MPI_File_set_info(file, info) == MPI_SUCCESS, "hints alone");
    MPI_Info_free(&info);
    expect(strcmp(shown(file, "themis_collective"), "twophase") == 0, "themis_collective is that of the open");
    expect(strcmp(shown(file, "cb_buffer_size"), "16777216") == 0, "so is cb_buffer_size");
    expect(MPI_File_write_at_all(file, rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
    MPI_File_get_info(file, &info);
    MPI_File_close(&file);
    expect(open_class(name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &again) == MPI_SUCCESS, "open with what was shown");
    MPI_Info_free(&info);
    MPI_File_close(&again);
}

/* Whether there is a cache, and so whether writes are seen at once; given again, what was shown brings no warning. */
static void visibility(const char *name)
{
    static const char *const rows[][3] = {{"themis_cache", "off", "off"},
                                          {"themis_cache", "auto", "off"},
                                          {"themis_cache", "on", "on"},
                                          {"cb_nodes", "1", "off"},
                                          {"romio_visibility_immediate", "false", "off"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const hint[1][2] = {{rows[i][0], rows[i][1]}};
        int cached = strcmp(rows[i][2], "on") == 0;
        MPI_File file = open_hinted(name, 1, hint), again;
        MPI_Info info;

        expect(strcmp(shown(file, "themis_cache"), rows[i][2]) == 0, "themis_cache in force");
        expect(strcmp(shown(file, "romio_visibility_immediate"), cached ? "false" : "true") == 0, "visibility");
        MPI_File_get_info(file, &info);
        MPI_File_close(&file);
        expect(open_class(name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &again) == MPI_SUCCESS, "what was shown");
        expect(strcmp(shown(again, "themis_cache"), rows[i][2]) == 0, "themis_cache as it was shown");
        MPI_Info_free(&info);
        MPI_File_close(&again);
    }
}

/* One collective write and read; what each of them did. */
static void expect_used(const char *name, int hints, const char *const hint[][2], const char *write, const char *read)
{
    int value = rank;
    MPI_File file = open_hinted(name, hints, hint);

    MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect(strcmp(shown(file, "themis_collective_used"), write) == 0, "how a collective write goes");
    MPI_File_read_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect(strcmp(shown(file, "themis_collective_used"), read) == 0, "how a collective read goes");
    MPI_File_close(&file);
}

/* On one host calls go as lists, unless the hints want otherwise. */
static void buffering(const char *name)
{
    static const char *const none[][2] = {{"cb_nodes", "2"}};
    static const char *const writes[][2] = {{"romio_cb_write", "enable"}};
    static const char *const reads[][2] = {{"romio_cb_read", "ENABLE"}};
    static const char *const all[][2] = {{"romio_no_indep_rw", "true"}};
    static const char *const overruled[][2] = {{"romio_cb_write", "enable"}, {"themis_collective", "list"}};
    static const char *const forced[][2] = {{"romio_cb_write", "disable"}, {"themis_collective", "twophase"}};
    static const char *const off[][2] = {{"romio_cb_write", "disable"}};

    expect_used(name, 1, none, "list", "list");
    expect_used(name, 1, writes, "twophase", "list");
    expect_used(name, 1, reads, "list", "twophase");
    expect_used(name, 1, all, "twophase", "twophase");
    expect_used(name, 2, overruled, "list", "list");
    expect_used(name, 2, forced, "twophase", "twophase");
    expect_used(name, 1, off, "list", "list");
}

/* THEMIS_SERVERS is wrong, and HINT_SERVERS is what the hint says. */
static void delete_hint(const char *name)
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "themis_servers", getenv("HINT_SERVERS"));
    expect(open_class(name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "open");
    MPI_File_close(&file);
    if (rank == 0) {
        expect(class_of(MPI_File_delete(name, info)) == MPI_SUCCESS, "delete");
        expect(class_of(MPI_File_delete(name, info)) == MPI_ERR_NO_SUCH_FILE, "it is gone");
    }
    MPI_Info_free(&info);
}

static const test_case_t cases[] = {
    {"nonsense", nonsense},     {"much-nonsense", much_nonsense}, {"differing-hints", differing_hints},
    {"late-hints", late_hints}, {"buffering", buffering},         {"delete-hint", delete_hint},
    {"visibility", visibility},
};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
