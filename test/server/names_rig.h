/* SPDX-License-Identifier: BSD-3-Clause */
/* A namespace of server 2 of 4, and its requests in short. */
#pragma once
#include "server/namespace.h"

extern themis_server_namespace_t *names;
extern const themis_sched_job_identity_t alice, bob, root;

void open_names(const char *where);
void set_up(void);
void tear_down(void);
themis_proto_text_t text(const char *bytes);
themis_status_t create(const themis_sched_job_identity_t *who, const themis_proto_create_t *create,
                       themis_proto_attr_t *attr);
themis_status_t set_attr(const themis_sched_job_identity_t *who, const themis_proto_setattr_t *setattr,
                         themis_proto_attr_t *attr);
themis_status_t make_as(const themis_sched_job_identity_t *who, const char *path, themis_proto_type_t type,
                        uint32_t flags, uint32_t mode, themis_proto_attr_t *attr);
themis_status_t make(const char *path, themis_proto_type_t type, uint32_t flags);
themis_status_t lookup_as(const themis_sched_job_identity_t *who, const char *path, themis_proto_attr_t *attr);
themis_status_t lookup(const char *path, themis_proto_attr_t *attr);
themis_status_t remove_as(const themis_sched_job_identity_t *who, const char *path, themis_proto_type_t type);
themis_status_t add(const themis_sched_job_identity_t *who, const char *dir, const char *name,
                    themis_proto_type_t type);
themis_status_t take(const char *dir, const char *name);
