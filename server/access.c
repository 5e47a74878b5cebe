/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/access.h"
#include <unistd.h>

themis_status_t themis_server_access_attr(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr,
                                          int want)
{
    uint32_t bits = attr->mode & 7;

    if (who->uid == 0)
        return THEMIS_OK;
    if (who->uid == attr->uid)
        bits = attr->mode >> 6 & 7;
    else if (who->gid == attr->gid)
        bits = attr->mode >> 3 & 7;
    return (bits & (uint32_t)want) == (uint32_t)want ? THEMIS_OK : THEMIS_ACCESS;
}

themis_status_t themis_server_access_owner(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr)
{
    return who->uid == 0 || who->uid == attr->uid ? THEMIS_OK : THEMIS_ACCESS;
}

themis_status_t themis_server_access_object(const themis_sched_job_identity_t *who, uint64_t object, int want)
{
    (void)who, (void)object, (void)want;
    return THEMIS_OK;
}

themis_status_t themis_server_access_admin(const themis_sched_job_identity_t *who)
{
    return who->uid == 0 || who->uid == geteuid() ? THEMIS_OK : THEMIS_ACCESS;
}
