/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages over sockets, which may carry descriptors to other processes. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include "preload/entry/entry.h"
#include "preload/kernel.h"

static int has_descriptors(const struct cmsghdr *part)
{
    return part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS;
}

/* Calls `visit` for each descriptor in the message, which becomes what that returns. A length that does not fit is the
 * kernel's to refuse. */
static void descriptors_visit(struct msghdr *message, int (*visit)(int fd))
{
    const char *end = (const char *)message->msg_control + message->msg_controllen;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_len > (size_t)(end - (const char *)part))
            return;
        if (!has_descriptors(part))
            continue;
        for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (char *)part + at, sizeof fd);
            const int becomes = visit(fd);
            if (becomes != fd)
                memcpy((char *)part + at, &becomes, sizeof becomes);
        }
    }
}

/* It says itself whether it is one of a file on servers. */
static int receive(int fd)
{
    fd = themis_preload_internal(fd);
    if (!themis_preload_inside)
        themis_preload_received(fd);
    return fd;
}

EXPORTED ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    const ssize_t done = REAL(recvmsg)(fd, message, flags);

    if (done >= 0)
        descriptors_visit(message, receive);
    return done;
}

EXPORTED int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    const int done = REAL(recvmmsg)(fd, messages, count, flags, timeout);

    for (int i = 0; i < done; i++)
        descriptors_visit(&messages[i].msg_hdr, receive);
    return done;
}

/* From now on another process may change its offset. */
static int send_away(int fd)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (core && themis_preload_is_ours(fd) && (core = themis_preload_enter())) {
        core->inherit();
        themis_preload_leave();
    }
    return fd;
}

static void sent(const struct msghdr *message)
{
    struct msghdr copy;

    if (!message || message->msg_controllen == 0 || !themis_preload_loaded() || themis_preload_inside)
        return;
    copy = *message;
    descriptors_visit(&copy, send_away);
}

EXPORTED ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    sent(message);
    return REAL(sendmsg)(fd, message, flags);
}

EXPORTED int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    for (unsigned i = 0; i < count; i++)
        sent(&messages[i].msg_hdr);
    return REAL(sendmmsg)(fd, messages, count, flags);
}

/* --- by their numbers: unlike the functions, these do not end threads that are cancelled ---------------------------
 */

long themis_preload_message_call(long number, const long a[6])
{
    struct mmsghdr *messages = (struct mmsghdr *)a[1];

    if (number == SYS_sendmsg)
        sent((const struct msghdr *)a[1]);
    for (unsigned i = 0; number == SYS_sendmmsg && i < (unsigned)a[2]; i++)
        sent(&messages[i].msg_hdr);
    const long done = themis_preload_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_recvmsg && done >= 0)
        descriptors_visit((struct msghdr *)a[1], receive);
    for (long i = 0; number == SYS_recvmmsg && i < done; i++)
        descriptors_visit(&messages[i].msg_hdr, receive);
    return done;
}
