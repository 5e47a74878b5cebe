/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities and their key, without a server. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/capabilities.h"
#include "server/capability_key.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "util/clock.h"

#define HOUR (3600 * THEMIS_NS_PER_S)
enum { UID = 1000, RIGHTS = THEMIS_PROTO_RIGHT_READ | THEMIS_PROTO_RIGHT_SIZE, MANY = 1000 };

static themis_server_capabilities_t *made_with(const char *key, uint64_t lifetime)
{
    themis_server_capabilities_t *capabilities;

    ck_assert_int_eq(themis_server_capabilities_create(key, strlen(key), lifetime, &capabilities), THEMIS_OK);
    return capabilities;
}

static themis_proto_attr_t sign(const themis_server_capabilities_t *capabilities, uint64_t id, uint32_t rights)
{
    themis_proto_attr_t attr = {.id = id, .type = THEMIS_PROTO_FILE, .capability.rights = rights};

    themis_server_capabilities_sign(capabilities, UID, &attr);
    return attr;
}

static themis_status_t check(themis_server_capabilities_t *capabilities, const themis_proto_attr_t *attr,
                             uint32_t rights)
{
    return themis_server_capabilities_check(capabilities, attr->id, &attr->capability, UID, rights);
}

/* More of them than a thread keeps, in an order in which they replace each other. */
TEST(what_is_signed_is_accepted_however_many_there_are)
{
    themis_server_capabilities_t *capabilities = made_with("key", HOUR), *others = made_with("other", HOUR);
    static themis_proto_attr_t attrs[MANY];

    for (int i = 0; i < MANY; i++)
        attrs[i] = sign(capabilities, 1 + (uint64_t)i, RIGHTS);
    for (int i = 0; i < 3 * MANY; i++) {
        themis_proto_attr_t forged = attrs[i % MANY];
        ck_assert_int_eq(check(capabilities, &forged, RIGHTS), THEMIS_OK);
        ck_assert_int_eq(check(others, &forged, RIGHTS), THEMIS_ACCESS);
        forged.capability.mac[i % THEMIS_PROTO_MAC_BYTES] ^= 1;
        ck_assert_int_eq(check(capabilities, &forged, RIGHTS), THEMIS_ACCESS); /* also just after the genuine one */
        ck_assert_int_eq(check(capabilities, &attrs[i % MANY], RIGHTS), THEMIS_OK);
    }
    themis_server_capabilities_destroy(capabilities);
    themis_server_capabilities_destroy(others);
}

TEST(object_user_and_rights_are_bound)
{
    themis_server_capabilities_t *capabilities = made_with("key", HOUR);
    themis_proto_attr_t attr = sign(capabilities, 5, RIGHTS);
    const themis_proto_capability_t *capability = &attr.capability;

    ck_assert_int_eq(check(capabilities, &attr, 0), THEMIS_OK);
    ck_assert_int_eq(check(capabilities, &attr, THEMIS_PROTO_RIGHT_READ), THEMIS_OK);
    ck_assert_int_eq(check(capabilities, &attr, THEMIS_PROTO_RIGHT_WRITE), THEMIS_ACCESS);
    ck_assert_int_eq(check(capabilities, &attr, RIGHTS | THEMIS_PROTO_RIGHT_WRITE), THEMIS_ACCESS);
    ck_assert_int_eq(themis_server_capabilities_check(capabilities, 6, capability, UID, RIGHTS), THEMIS_ACCESS);
    ck_assert_int_eq(themis_server_capabilities_check(capabilities, 5, capability, UID + 1, RIGHTS), THEMIS_ACCESS);
    attr = sign(capabilities, 0, RIGHTS);
    ck_assert_uint_eq(capability->rights, 0);
    themis_server_capabilities_destroy(capabilities);
}

/* Servers with the same key and other clocks: here the lifetimes differ instead. */
TEST(clocks_may_differ_a_little)
{
    themis_server_capabilities_t *capabilities = made_with("key", HOUR);
    static const struct {
        uint64_t lifetime;
        themis_status_t status;
    } cases[] = {{HOUR / 32 * 33, THEMIS_OK},
                 {24 * HOUR, THEMIS_OK},         /* of a server with a longer lifetime */
                 {THEMIS_NS_PER_MS, THEMIS_OK}}; /* over by less than a sixteenth */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        themis_server_capabilities_t *others = made_with("key", cases[i].lifetime);
        themis_proto_attr_t attr = sign(others, 9, RIGHTS);
        usleep(2000);
        ck_assert_int_eq(check(capabilities, &attr, RIGHTS), cases[i].status);
        themis_server_capabilities_destroy(others);
    }
    themis_proto_attr_t attr = sign(capabilities, 9, RIGHTS);
    themis_server_capabilities_set_lifetime(capabilities, THEMIS_NS_PER_S);
    ck_assert_int_eq(check(capabilities, &attr, RIGHTS), THEMIS_OK); /* while the servers are reloaded */
    themis_server_capabilities_destroy(capabilities);
}

/* Those who look a name up at about the same time get the same capability, and none that lasts longer than it may. */
TEST(ranks_share_a_capability)
{
    themis_server_capabilities_t *capabilities = made_with("key", 24 * HOUR);
    themis_proto_attr_t first, second;
    int same = 0;

    for (int i = 0; i < 10; i++) {
        first = sign(capabilities, 5, RIGHTS), second = sign(capabilities, 5, RIGHTS);
        same += memcmp(&first.capability, &second.capability, sizeof first.capability) == 0;
        ck_assert_uint_le(first.capability.expires, themis_util_clock_wall() + 24 * HOUR);
        ck_assert_uint_ge(first.capability.expires, themis_util_clock_wall() + 23 * HOUR);
    }
    ck_assert_int_ge(same, 9);
    themis_server_capabilities_destroy(capabilities);
}

TEST(seals_are_for_renaming_only_and_for_a_minute)
{
    themis_server_capabilities_t *capabilities = made_with("key", HOUR);
    themis_proto_attr_t attr = sign(capabilities, 5, RIGHTS), proof = sign(capabilities, 5, THEMIS_PROTO_RIGHT_RENAME);
    static const uint8_t none[THEMIS_PROTO_MAC_BYTES];

    ck_assert_mem_eq(attr.seal, none, sizeof none);
    ck_assert_int_eq(themis_server_capabilities_check_seal(capabilities, &attr, UID), THEMIS_ACCESS);
    ck_assert_int_eq(themis_server_capabilities_check_seal(capabilities, &proof, UID), THEMIS_OK);
    ck_assert_int_eq(themis_server_capabilities_check_seal(capabilities, &proof, UID + 1), THEMIS_ACCESS);
    ck_assert_uint_le(proof.capability.expires, themis_util_clock_wall() + 60 * THEMIS_NS_PER_S);
    attr = sign(capabilities, 5, THEMIS_PROTO_RIGHT_RENAME | THEMIS_PROTO_RIGHT_DESTROY); /* of a replaced file */
    ck_assert_uint_ge(attr.capability.expires, themis_util_clock_wall() + HOUR / 2);
    proof.mode++;
    ck_assert_int_eq(themis_server_capabilities_check_seal(capabilities, &proof, UID), THEMIS_ACCESS);
    themis_server_capabilities_destroy(capabilities);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void file_write(const char *path, size_t bytes, mode_t mode)
{
    static const char zeros[2 * THEMIS_SERVER_CAPABILITY_KEY_MAX];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    ck_assert_int_eq(write(fd, zeros, bytes), (ssize_t)bytes);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

TEST(a_key_file_is_the_servers_alone)
{
    static const struct {
        size_t bytes;
        mode_t mode;
        const char *why; /* NULL: accepted */
    } cases[] = {{32, 0600, NULL},     {32, 0400, NULL},        {8192, 0600, NULL},      {31, 0600, "31 bytes"},
                 {0, 0600, "0 bytes"}, {32, 0640, "mode 0640"}, {32, 0604, "mode 0604"}, {32, 0602, "0600"}};
    themis_server_capability_key_t key;
    char path[512], why[256];

    test_scratch_make();
    snprintf(path, sizeof path, "%s/key", test_scratch);
    ck_assert_int_eq(themis_server_capability_key_read(path, &key, why, sizeof why), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_write(path, cases[i].bytes, cases[i].mode);
        themis_status_t status = themis_server_capability_key_read(path, &key, why, sizeof why);
        ck_assert_int_eq(status, cases[i].why ? THEMIS_CONFIG : THEMIS_OK);
        ck_assert_msg(!cases[i].why || strstr(why, cases[i].why), "%s", why);
    }
    if (geteuid() == 0) {
        file_write(path, 32, 0600);
        ck_assert_int_eq(chown(path, 4001, 0), 0);
        ck_assert_int_eq(themis_server_capability_key_read(path, &key, why, sizeof why), THEMIS_CONFIG);
        ck_assert_ptr_nonnull(strstr(why, "belongs to user 4001"));
    }
    ck_assert_int_eq(themis_server_capability_key_read(test_scratch, &key, why, sizeof why), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(why, "not a file"));
    test_scratch_remove();
}

/* Several servers have the same open file, and each reads all of it. */
TEST(a_key_comes_by_a_descriptor)
{
    static const char text[] = "thirty-two bytes that nobody saw.";
    static themis_server_config_t config;
    themis_server_capability_key_t key;
    int ends[2], memory = memfd_create("key", 0);

    themis_server_config_init(&config);
    ck_assert_int_eq(write(memory, text, sizeof text), sizeof text);
    for (int i = 0; i < 2; i++) {
        config.key_fd = dup(memory);
        ck_assert_int_eq(themis_server_capability_key_load(&config, &key), THEMIS_OK);
        ck_assert_uint_eq(key.length, sizeof text);
        ck_assert_mem_eq(key.bytes, text, sizeof text);
        ck_assert_int_eq(close(config.key_fd), -1); /* it was read */
    }
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], text, sizeof text), sizeof text);
    close(ends[1]);
    config.key_fd = ends[0];
    ck_assert_int_eq(themis_server_capability_key_load(&config, &key), THEMIS_OK);
    ck_assert_uint_eq(key.length, sizeof text);
    config.key_fd = open("/dev/null", O_RDONLY);
    ck_assert_int_eq(themis_server_capability_key_load(&config, &key), THEMIS_CONFIG);
}

int main(void)
{
    Suite *suite = suite_create("capabilities");

    test_case(suite, "capabilities", 30, NULL, NULL,
              TESTS({what_is_signed_is_accepted_however_many_there_are, 1}, {object_user_and_rights_are_bound, 1},
                    {clocks_may_differ_a_little, 1}, {ranks_share_a_capability, 1},
                    {seals_are_for_renaming_only_and_for_a_minute, 1}));
    test_case(suite, "keys", 30, NULL, NULL,
              TESTS({a_key_file_is_the_servers_alone, 1}, {a_key_comes_by_a_descriptor, 1}));
    return test_run(suite);
}
