/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of each body, one function for both directions; themis_proto_code_body chooses among them. */
#include "proto/body.h"
#include "proto/list.h"
#include "util/utf8.h"

enum {
    STRIPE_UNIT = 4096,
    MAX_ENTRIES = 4096,
    CREATE_FLAGS = THEMIS_PROTO_CREATE_EXCLUSIVE | THEMIS_PROTO_CREATE_ADOPT | THEMIS_PROTO_CREATE_REPLACE |
                   THEMIS_PROTO_CREATE_GROUP,
    SET_MASK = THEMIS_PROTO_SET_MODE | THEMIS_PROTO_SET_OWNER | THEMIS_PROTO_SET_MODIFIED | THEMIS_PROTO_SET_LAYOUT,
    XATTR_FLAGS = THEMIS_PROTO_XATTR_CREATE | THEMIS_PROTO_XATTR_REPLACE | THEMIS_PROTO_XATTR_REMOVE,
    LAST_ROLE = 2
};
#define MAX_STRIPE (UINT64_C(4) << 30)

static void code_none(themis_proto_coder_t *coder, themis_proto_none_t *none)
{
    (void)coder;
    (void)none;
}

static void code_flag(themis_proto_coder_t *coder, uint8_t *flag)
{
    themis_proto_code_u8(coder, flag);
    themis_proto_check(coder, !coder->bad && *flag <= 1);
}

/* A text that is shown on terminals. */
static void code_label(themis_proto_coder_t *coder, themis_proto_text_t *text, size_t max)
{
    themis_proto_code_text(coder, text, 0, max);
    themis_proto_check(coder, !coder->bad && themis_proto_is_printable(text));
}

/* A label that goes into JSON as it is. */
static void code_utf8_label(themis_proto_coder_t *coder, themis_proto_text_t *text, size_t max)
{
    code_label(coder, text, max);
    themis_proto_check(coder, !coder->bad && themis_util_utf8_is_valid(text->bytes, text->length));
}

static void code_path_text(themis_proto_coder_t *coder, themis_proto_text_t *path)
{
    themis_proto_code_path(coder, path, 0);
}

static void code_layout(themis_proto_coder_t *coder, themis_proto_layout_t *layout)
{
    themis_proto_code_u64(coder, &layout->stripe_size);
    themis_proto_code_u32(coder, &layout->count);
    themis_proto_code_u32(coder, &layout->first);
    if (coder->bad)
        return;
    themis_proto_check(coder, layout->stripe_size % STRIPE_UNIT == 0 && layout->stripe_size <= MAX_STRIPE);
    themis_proto_check(coder, layout->count <= THEMIS_PROTO_MAX_SERVERS);
    themis_proto_check(coder, layout->first < THEMIS_PROTO_MAX_SERVERS || layout->first == UINT32_MAX);
}

/* 1 if no field is left for the server to choose. */
static int is_complete(const themis_proto_layout_t *layout)
{
    return layout->stripe_size > 0 && layout->count > 0 && layout->first != UINT32_MAX;
}

static void code_hello(themis_proto_coder_t *coder, themis_proto_hello_t *hello)
{
    themis_proto_code_u64(coder, &hello->session);
    themis_proto_code_u32(coder, &hello->uid);
    themis_proto_code_u32(coder, &hello->gid);
    themis_proto_code_u32(coder, &hello->nodes);
    themis_proto_code_u32(coder, &hello->priority);
    themis_proto_code_u32(coder, &hello->pid);
    themis_proto_code_u8(coder, &hello->role);
    code_label(coder, &hello->job, THEMIS_PROTO_MAX_TEXT);
    code_label(coder, &hello->host, THEMIS_PROTO_MAX_TEXT);
    code_label(coder, &hello->policy, THEMIS_PROTO_MAX_POLICY);
    code_utf8_label(coder, &hello->application, THEMIS_PROTO_MAX_TEXT);
    code_utf8_label(coder, &hello->project, THEMIS_PROTO_MAX_TEXT);
    themis_proto_code_u32(coder, &hello->locks);
    themis_proto_check(coder, !coder->bad && hello->nodes > 0 && hello->priority > 0 && hello->role <= LAST_ROLE);
}

static void code_welcome(themis_proto_coder_t *coder, themis_proto_welcome_t *welcome)
{
    themis_proto_code_u64(coder, &welcome->incarnation);
    themis_proto_code_u32(coder, &welcome->index);
    themis_proto_code_u32(coder, &welcome->servers);
    themis_proto_code_u64(coder, &welcome->heartbeat);
    code_layout(coder, &welcome->layout);
    code_flag(coder, &welcome->policy_granted);
    code_label(coder, &welcome->name, THEMIS_PROTO_MAX_TEXT);
    code_label(coder, &welcome->policy, THEMIS_PROTO_MAX_POLICY);
    code_label(coder, &welcome->fault, THEMIS_PROTO_MAX_TEXT);
    themis_proto_code_bytes(coder, welcome->store, sizeof welcome->store);
    themis_proto_code_bytes(coder, welcome->boot, sizeof welcome->boot);
    themis_proto_check(coder, !coder->bad && welcome->servers <= THEMIS_PROTO_MAX_SERVERS &&
                                  welcome->index < welcome->servers);
}

static void code_rights(themis_proto_coder_t *coder, uint32_t *rights)
{
    themis_proto_code_u32(coder, rights);
    themis_proto_check(coder, !coder->bad && (*rights & ~(uint32_t)THEMIS_PROTO_RIGHTS) == 0);
}

static void code_capability(themis_proto_coder_t *coder, themis_proto_capability_t *capability)
{
    code_rights(coder, &capability->rights);
    themis_proto_code_u32(coder, &capability->uid);
    themis_proto_code_u64(coder, &capability->expires);
    themis_proto_code_bytes(coder, capability->mac, sizeof capability->mac);
}

static void code_lookup(themis_proto_coder_t *coder, themis_proto_lookup_t *lookup)
{
    code_rights(coder, &lookup->rights);
    code_path_text(coder, &lookup->path);
}

static void code_attr_fields(themis_proto_coder_t *coder, themis_proto_attr_t *attr)
{
    themis_proto_code_u64(coder, &attr->id);
    themis_proto_code_type(coder, &attr->type);
    code_flag(coder, &attr->fresh);
    themis_proto_code_u32(coder, &attr->mode);
    themis_proto_code_u32(coder, &attr->uid);
    themis_proto_code_u32(coder, &attr->gid);
    themis_proto_code_u64(coder, &attr->created);
    themis_proto_code_u64(coder, &attr->modified);
    themis_proto_code_u64(coder, &attr->generation);
    themis_proto_code_u64(coder, &attr->store);
    code_layout(coder, &attr->layout);
    themis_proto_code_u32(coder, &attr->target);
    themis_proto_code_u32(coder, &attr->xattrs);
    code_capability(coder, &attr->capability);
    themis_proto_code_bytes(coder, attr->seal, sizeof attr->seal);
    themis_proto_check(coder, !coder->bad && (attr->type == THEMIS_PROTO_SYMLINK || attr->target == 0));
}

/* The rest of the message. */
static void code_extra(themis_proto_coder_t *coder, themis_proto_extra_t *extra)
{
    themis_proto_code_text(coder, &extra->target, 0, THEMIS_PROTO_MAX_TARGET);
    themis_proto_check(coder,
                       !coder->bad && (!extra->target.length || !memchr(extra->target.bytes, 0, extra->target.length)));
    if (!coder->bad)
        themis_proto_code_xattrs(coder, &extra->xattrs);
}

static void code_added(themis_proto_coder_t *coder, themis_proto_added_t *added)
{
    code_layout(coder, &added->layout);
    themis_proto_code_u32(coder, &added->mode);
    themis_proto_code_u32(coder, &added->gid);
}

static void code_attr(themis_proto_coder_t *coder, themis_proto_attr_t *attr)
{
    code_attr_fields(coder, attr);
    themis_proto_check(coder, !coder->bad && (attr->type != THEMIS_PROTO_FILE || is_complete(&attr->layout)));
}

static void code_create(themis_proto_coder_t *coder, themis_proto_create_t *create)
{
    themis_proto_code_u32(coder, &create->flags);
    code_attr_fields(coder, &create->attr);
    code_path_text(coder, &create->path);
    themis_proto_code_path(coder, &create->origin, 1);
    if (coder->bad)
        return;
    themis_proto_check(coder, (create->flags & ~(uint32_t)CREATE_FLAGS) == 0);
    themis_proto_check(coder, create->flags & THEMIS_PROTO_CREATE_ADOPT || create->origin.length == 0);
    themis_proto_check(coder, (create->flags & THEMIS_PROTO_CREATE_ADOPT) == 0 ||
                                  create->attr.type != THEMIS_PROTO_FILE || is_complete(&create->attr.layout));
    code_extra(coder, &create->extra);
    themis_proto_check(coder,
                       !coder->bad && (create->attr.type == THEMIS_PROTO_SYMLINK) == (create->extra.target.length > 0));
}

static void code_remove(themis_proto_coder_t *coder, themis_proto_remove_t *remove)
{
    themis_proto_code_type(coder, &remove->type);
    code_path_text(coder, &remove->path);
    themis_proto_code_path(coder, &remove->renamed, 1);
    themis_proto_code_u64(coder, &remove->object);
    themis_proto_code_u64(coder, &remove->generation);
    themis_proto_code_u64(coder, &remove->rename);
    themis_proto_check(coder, !coder->bad && (remove->renamed.length > 0) == (remove->rename > 0));
}

static void code_rename_end(themis_proto_coder_t *coder, themis_proto_rename_end_t *end)
{
    themis_proto_code_u64(coder, &end->rename);
    code_path_text(coder, &end->path);
}

static void code_setattr(themis_proto_coder_t *coder, themis_proto_setattr_t *setattr)
{
    themis_proto_code_u32(coder, &setattr->mask);
    themis_proto_code_u32(coder, &setattr->mode);
    themis_proto_code_u32(coder, &setattr->uid);
    themis_proto_code_u32(coder, &setattr->gid);
    themis_proto_code_u64(coder, &setattr->modified);
    code_layout(coder, &setattr->layout);
    code_path_text(coder, &setattr->path);
    themis_proto_check(coder, !coder->bad && (setattr->mask & ~(uint32_t)SET_MASK) == 0);
}

static void code_rest(themis_proto_coder_t *coder, themis_proto_text_t *text)
{
    const void *bytes = text->bytes;
    size_t rest = coder->out != NULL ? text->length : coder->length - coder->used;

    themis_proto_code_borrowed(coder, &bytes, rest);
    if (!coder->bad && coder->out == NULL)
        *text = (themis_proto_text_t){bytes, (uint32_t)rest};
}

static void code_setxattr(themis_proto_coder_t *coder, themis_proto_setxattr_t *setxattr)
{
    themis_proto_code_u32(coder, &setxattr->flags);
    themis_proto_code_text(coder, &setxattr->name, 1, THEMIS_PROTO_MAX_NAME);
    code_path_text(coder, &setxattr->path);
    if (coder->bad)
        return;
    themis_proto_check(coder,
                       themis_proto_is_xattr_name(&setxattr->name) && (setxattr->flags & ~(uint32_t)XATTR_FLAGS) == 0);
    code_rest(coder, &setxattr->value);
    themis_proto_check(coder, !coder->bad && setxattr->value.length <= THEMIS_PROTO_MAX_XATTR);
}

static void code_entry(themis_proto_coder_t *coder, themis_proto_entry_t *entry)
{
    themis_proto_code_entry(coder, &entry->name, &entry->type);
    code_path_text(coder, &entry->directory);
}

static void code_readdir(themis_proto_coder_t *coder, themis_proto_readdir_t *readdir)
{
    themis_proto_code_u32(coder, &readdir->limit);
    themis_proto_code_text(coder, &readdir->after, 0, THEMIS_PROTO_MAX_NAME);
    code_path_text(coder, &readdir->path);
    themis_proto_check(coder, !coder->bad && readdir->limit > 0 && readdir->limit <= MAX_ENTRIES);
}

static void code_entries(themis_proto_coder_t *coder, themis_proto_entries_t *entries)
{
    themis_proto_code_u32(coder, &entries->count);
    code_flag(coder, &entries->more);
    if (!coder->bad)
        themis_proto_code_entries(coder, entries);
}

static void code_io(themis_proto_coder_t *coder, themis_proto_io_t *io)
{
    themis_proto_code_u64(coder, &io->object);
    code_capability(coder, &io->capability);
    themis_proto_code_u64(coder, &io->epoch);
    themis_proto_code_bytes(coder, io->descriptor, sizeof io->descriptor);
    themis_proto_code_u32(coder, &io->runs);
    if (!coder->bad)
        themis_proto_code_runs(coder, io);
}

static void code_io_done(themis_proto_coder_t *coder, themis_proto_io_done_t *done)
{
    themis_proto_code_u64(coder, &done->bytes);
    themis_proto_code_u64(coder, &done->end);
}

static void code_resize(themis_proto_coder_t *coder, themis_proto_resize_t *resize)
{
    themis_proto_code_u64(coder, &resize->object);
    code_capability(coder, &resize->capability);
    themis_proto_code_u64(coder, &resize->size);
    themis_proto_check(coder, !coder->bad && resize->size <= INT64_MAX);
}

static void code_range(themis_proto_coder_t *coder, themis_proto_range_t *range)
{
    themis_proto_code_u64(coder, &range->object);
    code_capability(coder, &range->capability);
    themis_proto_code_u64(coder, &range->offset);
    themis_proto_code_u64(coder, &range->length);
    themis_proto_check(coder, !coder->bad && range->offset <= INT64_MAX && range->length <= INT64_MAX - range->offset);
}

static void code_touch(themis_proto_coder_t *coder, themis_proto_touch_t *touch)
{
    themis_proto_code_u64(coder, &touch->object);
    code_capability(coder, &touch->capability);
    themis_proto_code_u64(coder, &touch->modified);
}

static void code_object(themis_proto_coder_t *coder, themis_proto_object_t *object)
{
    themis_proto_code_u64(coder, &object->object);
    code_capability(coder, &object->capability);
}

static void code_unmap(themis_proto_coder_t *coder, themis_proto_unmap_t *unmap)
{
    themis_proto_code_u64(coder, &unmap->object);
}

static void code_size(themis_proto_coder_t *coder, themis_proto_size_t *size)
{
    themis_proto_code_u64(coder, &size->end);
    themis_proto_code_u64(coder, &size->allocated);
    themis_proto_code_u64(coder, &size->modified);
    themis_proto_code_u32(coder, &size->listed);
    if (!coder->bad)
        themis_proto_code_listed(coder, size->listed, &size->list);
}

static void code_enlist(themis_proto_coder_t *coder, themis_proto_enlist_t *enlist)
{
    themis_proto_code_u64(coder, &enlist->object);
    code_capability(coder, &enlist->capability);
    code_flag(coder, &enlist->drop);
    themis_proto_code_u32(coder, &enlist->count);
    themis_proto_check(coder, !coder->bad && enlist->count > 0);
    if (!coder->bad)
        themis_proto_code_listed(coder, enlist->count, &enlist->list);
}

static void code_enlisted(themis_proto_coder_t *coder, themis_proto_enlisted_t *enlisted)
{
    themis_proto_code_u32(coder, &enlisted->lost);
}

static void code_map(themis_proto_coder_t *coder, themis_proto_map_t *map)
{
    themis_proto_code_u64(coder, &map->object);
    code_capability(coder, &map->capability);
    themis_proto_code_u64(coder, &map->offset);
    themis_proto_code_u64(coder, &map->length);
    code_flag(coder, &map->allocate);
    code_flag(coder, &map->incomplete);
    code_flag(coder, &map->listed);
    themis_proto_check(coder, !coder->bad && map->length > 0 && map->offset <= INT64_MAX &&
                                  map->length <= INT64_MAX - map->offset);
}

static void code_mapped(themis_proto_coder_t *coder, themis_proto_mapped_t *mapped)
{
    themis_proto_code_u32(coder, &mapped->grant);
    themis_proto_code_u64(coder, &mapped->retry);
    themis_proto_code_location(coder, &mapped->slot);
    themis_proto_code_location(coder, &mapped->cell);
    themis_proto_code_u32(coder, &mapped->count);
    if (!coder->bad)
        themis_proto_code_mapped_extents(coder, mapped);
}

static void code_segment(themis_proto_coder_t *coder, themis_proto_segment_t *segment)
{
    themis_proto_code_u64(coder, &segment->segment);
    themis_proto_code_u64(coder, &segment->bytes);
}

static void code_lock(themis_proto_coder_t *coder, themis_proto_lock_t *lock)
{
    themis_proto_code_u64(coder, &lock->object);
    code_capability(coder, &lock->capability);
    themis_proto_code_u64(coder, &lock->offset);
    themis_proto_code_u64(coder, &lock->length);
    themis_proto_code_u64(coder, &lock->owner);
    code_flag(coder, &lock->exclusive);
    code_flag(coder, &lock->wait);
    themis_proto_code_u64(coder, &lock->reclaim);
    themis_proto_code_u8(coder, &lock->action);
    if (coder->bad)
        return;
    themis_proto_check(coder, lock->action <= THEMIS_PROTO_LOCK_TEST);
    themis_proto_check(coder, lock->action == THEMIS_PROTO_LOCK_ADD || (lock->wait == 0 && lock->reclaim == 0));
    themis_proto_check(coder, lock->offset <= INT64_MAX &&
                                  (lock->length == UINT64_MAX || lock->length <= INT64_MAX - lock->offset));
}

static void code_granted(themis_proto_coder_t *coder, themis_proto_granted_t *granted)
{
    themis_proto_code_u64(coder, &granted->epoch);
    themis_proto_check(coder, !coder->bad && granted->epoch > 0);
}

static void code_i64(themis_proto_coder_t *coder, int64_t *value)
{
    uint64_t bits = (uint64_t)*value;

    themis_proto_code_u64(coder, &bits);
    if (!coder->bad && coder->out == NULL)
        *value = (int64_t)bits;
}

static void code_counter(themis_proto_coder_t *coder, themis_proto_counter_t *counter)
{
    themis_proto_code_u64(coder, &counter->object);
    code_capability(coder, &counter->capability);
    themis_proto_code_u8(coder, &counter->action);
    code_i64(coder, &counter->value);
    themis_proto_check(coder, !coder->bad && counter->action <= THEMIS_PROTO_COUNTER_ADD);
}

static void code_counted(themis_proto_coder_t *coder, themis_proto_counted_t *counted)
{
    code_i64(coder, &counted->value);
}

/* All that is left of the message. */
static void code_text(themis_proto_coder_t *coder, themis_proto_text_body_t *body)
{
    code_rest(coder, &body->text);
}

static void code_table(themis_proto_coder_t *coder, themis_proto_table_t *table)
{
    themis_proto_code_u32(coder, &table->index);
    themis_proto_code_u64(coder, &table->incarnation);
    themis_proto_code_u64(coder, &table->round);
    themis_proto_code_u64(coder, &table->capacity);
    code_label(coder, &table->policy, THEMIS_PROTO_MAX_POLICY);
    themis_proto_code_u64(coder, &table->policy_set);
    themis_proto_code_u32(coder, &table->total);
    themis_proto_code_u32(coder, &table->rows);
    themis_proto_check(coder, !coder->bad && table->index < THEMIS_PROTO_MAX_SERVERS && table->rows <= table->total);
    if (!coder->bad)
        themis_proto_code_rows(coder, table);
}

static void code_settle(themis_proto_coder_t *coder, themis_proto_settle_t *settle)
{
    themis_proto_code_u32(coder, &settle->count);
    if (!coder->bad)
        themis_proto_code_steps(coder, settle);
}

static void code_settled(themis_proto_coder_t *coder, themis_proto_settled_t *settled)
{
    themis_proto_code_u32(coder, &settled->count);
    if (!coder->bad)
        themis_proto_code_statuses(coder, settled);
}

void themis_proto_code_body(themis_proto_coder_t *coder, const themis_proto_header_t *header, void *body)
{
    if (header->kind == THEMIS_PROTO_REPLY && header->status < 0) {
        code_text(coder, body);
        return;
    }
    switch (header->opcode) {
#define CASE(name, number, request, reply)                                                                             \
    case THEMIS_OP_##name:                                                                                             \
        if (header->kind == THEMIS_PROTO_REQUEST)                                                                      \
            code_##request(coder, body);                                                                               \
        else                                                                                                           \
            code_##reply(coder, body);                                                                                 \
        break;
        THEMIS_PROTO_OPCODES(CASE)
#undef CASE
    default:
        themis_proto_check(coder, 0);
    }
}
