/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/access.h"
#include <unistd.h>
#include "store/store.h"

static int allows(uint32_t bits, int want)
{
    return (bits & 7 & (uint32_t)want) == (uint32_t)want;
}

themis_status_t themis_server_access_attr(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                          const themis_proto_attr_t *attr, int want)
{
    int allowed = allows(attr->mode, want), for_group = allows(attr->mode >> 3, want);

    if (who->uid == 0)
        return THEMIS_OK;
    if (who->uid == attr->uid)
        allowed = allows(attr->mode >> 6, want);
    else if (for_group != allowed && themis_server_access_group(groups, who, attr->gid) == THEMIS_OK)
        allowed = for_group;
    return allowed ? THEMIS_OK : THEMIS_ACCESS;
}

themis_status_t themis_server_access_owner(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr)
{
    return who->uid == 0 || who->uid == attr->uid ? THEMIS_OK : THEMIS_ACCESS;
}

themis_status_t themis_server_access_group(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                           uint32_t gid)
{
    return who->uid == 0 || who->gid == gid || themis_server_groups_has(groups, who->uid, gid) ? THEMIS_OK
                                                                                               : THEMIS_ACCESS;
}

themis_status_t themis_server_access_remove(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                            const themis_proto_attr_t *attr, const themis_proto_attr_t *directory)
{
    enum { STICKY = 01000 };

    if (themis_server_access_owner(who, attr) == THEMIS_OK)
        return THEMIS_OK;
    if (directory && directory->mode & STICKY && themis_server_access_owner(who, directory) != THEMIS_OK)
        return THEMIS_ACCESS;
    return themis_server_access_attr(groups, who, attr, THEMIS_SERVER_ACCESS_WRITE);
}

uint32_t themis_server_access_rights(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                     const themis_proto_attr_t *attr)
{
    static const uint32_t read = THEMIS_PROTO_RIGHT_READ | THEMIS_PROTO_RIGHT_LOCK | THEMIS_PROTO_RIGHT_SIZE;
    static const uint32_t write = THEMIS_PROTO_RIGHT_WRITE | THEMIS_PROTO_RIGHT_TRUNCATE | THEMIS_PROTO_RIGHT_LOCK |
                                  THEMIS_PROTO_RIGHT_TOUCH | THEMIS_PROTO_RIGHT_SIZE;
    uint32_t rights = 0;

    if (themis_server_access_attr(groups, who, attr, THEMIS_SERVER_ACCESS_READ) == THEMIS_OK)
        rights |= read;
    if (themis_server_access_attr(groups, who, attr, THEMIS_SERVER_ACCESS_WRITE) == THEMIS_OK)
        rights |= write;
    if (themis_server_access_owner(who, attr) == THEMIS_OK)
        rights |= THEMIS_PROTO_RIGHT_SIZE;
    if (who->uid == attr->uid)
        rights |= THEMIS_PROTO_RIGHT_OWNER;
    return rights;
}

themis_status_t themis_server_access_object(themis_server_capabilities_t *capabilities,
                                            const themis_sched_job_identity_t *who, uint64_t object,
                                            const themis_proto_capability_t *capability, uint32_t rights)
{
    return who->uid == 0 ? THEMIS_OK
                         : themis_server_capabilities_check(capabilities, object, capability, who->uid, rights);
}

uint32_t themis_server_access_memory(themis_server_capabilities_t *capabilities, const themis_sched_job_identity_t *who,
                                     uint64_t object, const themis_proto_capability_t *capability)
{
    if (!themis_server_capabilities_are_checked(capabilities))
        return THEMIS_STORE_COMMON;
    themis_status_t status =
        themis_server_capabilities_check(capabilities, object, capability, who->uid, THEMIS_PROTO_RIGHT_OWNER);
    /* root's may have expired: no request of root's is refused for that */
    return status == THEMIS_OK || status == THEMIS_EXPIRED ? who->uid : THEMIS_STORE_COMMON;
}

themis_status_t themis_server_access_adopt(themis_server_capabilities_t *capabilities,
                                           const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr)
{
    return who->uid == 0 ? THEMIS_OK : themis_server_capabilities_check_seal(capabilities, attr, who->uid);
}

themis_status_t themis_server_access_admin(const themis_sched_job_identity_t *who)
{
    return who->uid == 0 || who->uid == geteuid() ? THEMIS_OK : THEMIS_ACCESS;
}
