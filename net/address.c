/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/address.h"
#include <ifaddrs.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "util/log.h"

/* Clients try to connect again and again: an unknown host is reported once in a row. */
static void report_unknown(const char *host, const char *cause)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char reported[256];

    pthread_mutex_lock(&lock);
    int again = strcmp(reported, host) == 0;
    snprintf(reported, sizeof reported, "%s", host);
    pthread_mutex_unlock(&lock);
    if (!again)
        themis_error("cannot find an IPv4 address of host '%s': %s", host, cause);
}

themis_status_t themis_net_address_resolve(const char *host, uint16_t port, int passive, struct sockaddr_in *address)
{
    /* UCX 1.13 overruns its heap with IPv6 over TCP */
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
    struct addrinfo *found;
    char service[8];

    snprintf(service, sizeof service, "%u", port);
    int failed = getaddrinfo(host != NULL && *host != '\0' ? host : NULL, service, &hints, &found);
    if (failed) {
        report_unknown(host != NULL ? host : "", gai_strerror(failed));
        return failed == EAI_MEMORY ? THEMIS_NO_MEMORY : THEMIS_UNREACHABLE;
    }
    memcpy(address, found->ai_addr, sizeof *address);
    freeaddrinfo(found);
    return THEMIS_OK;
}

int themis_net_address_is_own(const struct sockaddr_in *address)
{
    in_addr_t wanted = address->sin_addr.s_addr;
    struct ifaddrs *own;
    int found = 0;

    if (address->sin_family != AF_INET || ntohl(wanted) >> 24 == IN_LOOPBACKNET || getifaddrs(&own) != 0)
        return 1;
    for (const struct ifaddrs *at = own; at != NULL && !found; at = at->ifa_next)
        found = at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET &&
                ((const struct sockaddr_in *)at->ifa_addr)->sin_addr.s_addr == wanted;
    freeifaddrs(own);
    return found;
}
