/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "util/secret.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/config.h"

__attribute__((format(printf, 3, 4))) static themis_status_t secret_refuse(char *why, size_t size, const char *format,
                                                                           ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(why, size, format, list);
    va_end(list);
    return THEMIS_CONFIG;
}

static themis_status_t length_check(size_t length, size_t min, char *why, size_t size)
{
    if (length < min)
        return secret_refuse(why, size, "a key of %zu bytes is too short: at least %zu are needed", length, min);
    return THEMIS_OK;
}

themis_status_t themis_util_secret_take(int fd, size_t min, themis_util_secret_t *secret, char *why, size_t size)
{
    size_t used = 0;
    ssize_t got;

    do {
        got = pread(fd, secret->bytes + used, sizeof secret->bytes - used, (off_t)used);
        if (got < 0 && errno == ESPIPE)
            got = read(fd, secret->bytes + used, sizeof secret->bytes - used);
        used += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && used < sizeof secret->bytes) || (got < 0 && errno == EINTR));
    secret->length = used;
    return got < 0 ? secret_refuse(why, size, "%s", strerror(errno)) : length_check(used, min, why, size);
}

static themis_status_t file_check(int fd, char *why, size_t size)
{
    struct stat file;

    if (fstat(fd, &file) != 0)
        return secret_refuse(why, size, "%s", strerror(errno));
    if (!S_ISREG(file.st_mode))
        return secret_refuse(why, size, "not a file");
    if (file.st_uid != geteuid() && file.st_uid != 0)
        return secret_refuse(why, size, "belongs to user %u, and not to the user of this process, %u, or root",
                             (unsigned)file.st_uid, (unsigned)geteuid());
    if (file.st_mode & 077)
        return secret_refuse(why, size, "mode %04o lets other users access it; make it 0600",
                             (unsigned)file.st_mode & 07777);
    return THEMIS_OK;
}

themis_status_t themis_util_secret_read(const char *path, size_t min, themis_util_secret_t *secret, char *why,
                                        size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return secret_refuse(why, size, "%s", strerror(errno));
    themis_status_t status = file_check(fd, why, size);
    if (status == THEMIS_OK)
        status = themis_util_secret_take(fd, min, secret, why, size);
    close(fd);
    return status;
}

static int digit_of(char character)
{
    if (isdigit((unsigned char)character))
        return character - '0';
    return isxdigit((unsigned char)character) ? tolower((unsigned char)character) - 'a' + 10 : -1;
}

themis_status_t themis_util_secret_parse(const char *text, size_t min, themis_util_secret_t *secret, char *why,
                                         size_t size)
{
    size_t digits = strlen(text);

    if (digits % 2 || digits / 2 > sizeof secret->bytes)
        return secret_refuse(why, size, "not pairs of hexadecimal digits");
    for (size_t i = 0; i < digits; i += 2) {
        int high = digit_of(text[i]), low = digit_of(text[i + 1]);
        if (high < 0 || low < 0)
            return secret_refuse(why, size, "not pairs of hexadecimal digits");
        secret->bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    secret->length = digits / 2;
    return length_check(secret->length, min, why, size);
}

themis_status_t themis_util_secret_of_environment(size_t min, themis_util_secret_t *secret, char *why, size_t size)
{
    const char *path = themis_util_config_env("THEMIS_SECRET_FILE"), *digits = themis_util_config_env("THEMIS_SECRET");
    int used = snprintf(why, size, "%s: ", path ? "THEMIS_SECRET_FILE" : "THEMIS_SECRET");
    size_t skip = (size_t)used < size ? (size_t)used : 0;

    if (path)
        return themis_util_secret_read(path, min, secret, why + skip, size - skip);
    return digits ? themis_util_secret_parse(digits, min, secret, why + skip, size - skip) : THEMIS_NO_ENTRY;
}
