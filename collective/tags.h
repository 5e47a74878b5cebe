/* SPDX-License-Identifier: BSD-3-Clause */
/* Tags of messages on a group's private communicator. 0 is never sent: it is what waiting ranks probe for. */
#ifndef THEMIS_COLLECTIVE_TAGS_H
#define THEMIS_COLLECTIVE_TAGS_H
enum { THEMIS_COLLECTIVE_TAG_PROBE = 0, THEMIS_COLLECTIVE_TAG_LISTS = 1, THEMIS_COLLECTIVE_TAG_DATA = 2 };
#endif
