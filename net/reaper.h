/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends what has become of lost and closed connections. */
#pragma once
#include "net/net.h"

/* Loses connections whose handshake takes too long, closes the transport of those in net->to_close, ends their
 * transfers and reports their loss. Lock held. */
void themis_net_reap(themis_net_t *net);
