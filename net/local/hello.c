/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/hello.h"
#include <stdio.h>
#include <string.h>

socklen_t themis_net_hello_address(uint64_t cookie, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "themis-net-%016llx", (unsigned long long)cookie);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
