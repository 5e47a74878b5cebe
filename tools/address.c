/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/address.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include "tools/command.h"
#include "util/config.h"

static const struct sockaddr_in *ipv4(const struct sockaddr *address)
{
    return address && address->sa_family == AF_INET ? (const void *)address : NULL;
}

static int is_up(const struct ifaddrs *interface)
{
    return ipv4(interface->ifa_addr) && (interface->ifa_flags & IFF_UP) && !(interface->ifa_flags & IFF_LOOPBACK);
}

/* Is it of this interface or network? */
static int matches(const struct ifaddrs *interface, const char *network)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr wanted;
    int64_t bits;
    const char *slash = strchr(network, '/');

    if (!slash)
        return strcmp(interface->ifa_name, network) == 0;
    if (snprintf(text, sizeof text, "%.*s", (int)(slash - network), network) >= (int)sizeof text ||
        inet_pton(AF_INET, text, &wanted) != 1 || themis_util_config_integer(slash + 1, 0, 32, &bits) != THEMIS_OK)
        return 0;
    uint32_t mask = bits ? ~0u << (32 - bits) : 0;
    return ((ntohl(ipv4(interface->ifa_addr)->sin_addr.s_addr) ^ ntohl(wanted.s_addr)) & mask) == 0;
}

/* Whether `address` is that of an interface that is up. */
static int is_own(const struct ifaddrs *interfaces, struct in_addr address)
{
    for (; interfaces; interfaces = interfaces->ifa_next)
        if (is_up(interfaces) && ipv4(interfaces->ifa_addr)->sin_addr.s_addr == address.s_addr)
            return 1;
    return 0;
}

/* An address of the name that this host has. */
static int by_name(const struct ifaddrs *interfaces, const char *host, struct in_addr *address)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    int found = 0;

    if (getaddrinfo(host, NULL, &hints, &all) != 0)
        return 0;
    for (const struct addrinfo *at = all; at && !found; at = at->ai_next) {
        *address = ipv4(at->ai_addr)->sin_addr;
        found = is_own(interfaces, *address);
    }
    freeaddrinfo(all);
    return found;
}

static int by_interface(const struct ifaddrs *interfaces, const char *network, struct in_addr *address)
{
    for (; interfaces; interfaces = interfaces->ifa_next)
        if (is_up(interfaces) && (!network || matches(interfaces, network))) {
            *address = ipv4(interfaces->ifa_addr)->sin_addr;
            return 1;
        }
    return 0;
}

int themis_tools_address_choose(const char *host, const char *network, struct in_addr *address)
{
    struct ifaddrs *interfaces;

    if (getifaddrs(&interfaces) != 0)
        return themis_tools_error_errno("addresses of this host");
    int found = (!network && by_name(interfaces, host, address)) || by_interface(interfaces, network, address);
    freeifaddrs(interfaces);
    if (found)
        return THEMIS_TOOLS_OK;
    return network ? themis_tools_error("%s: no interface that is up is %s or has an address in it; --network names "
                                        "another",
                                        host, network)
                   : themis_tools_error("%s: no interface but loopback is up, so other hosts cannot reach servers here",
                                        host);
}
