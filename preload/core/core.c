/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of functions, and what concerns the whole process. */
#include "preload/core.h"
#include "preload/core/calls.h"
#include "preload/core/locks.h"
#include "preload/core/maps.h"
#include "preload/core/state.h"

/* A fork waits for the calls of other threads, so that all is in order in the child. */
static void fork_prepare(void)
{
    themis_preload_await_pause();
    themis_preload_open_files_inherit();
}

static void fork_parent(void)
{
    themis_preload_resume();
}

static void fork_child(void)
{
    themis_preload_abandon();
    themis_preload_open_files_reset();
    themis_preload_locks_forget();
    themis_preload_maps_reset();
    themis_preload_resume();
}

/* If threads are in calls still, locks end with the session's lease, and hidden files stay. */
static void end(void)
{
    themis_posix_t *filesystem;

    if (!themis_preload_is_connected())
        return;
    if (themis_preload_core_has_maps() && themis_preload_begin(&filesystem) == 0) {
        themis_preload_maps_flush_all();
        themis_preload_end();
    }
    if (!themis_preload_pause())
        return;
    themis_preload_locks_forget();
    themis_preload_disconnect();
    themis_preload_resume();
}

extern const themis_preload_core_t themis_preload_core;
__attribute__((visibility("default"))) const themis_preload_core_t themis_preload_core = {
    .interface = THEMIS_PRELOAD_INTERFACE,
    .open = themis_preload_core_open,
    .close = themis_preload_core_close,
    .share = themis_preload_open_file_share,
    .forget = themis_preload_core_forget,
    .inherit = themis_preload_open_files_inherit,
    .path = themis_preload_core_path,
    .look = themis_preload_core_look,
    .flags = themis_preload_core_flags,
    .set_flags = themis_preload_core_set_flags,
    .lock = themis_preload_core_lock,
    .flock = themis_preload_core_flock,
    .read = themis_preload_core_read,
    .write = themis_preload_core_write,
    .read_at = themis_preload_core_read_at,
    .write_at = themis_preload_core_write_at,
    .seek = themis_preload_core_seek,
    .sync = themis_preload_core_sync,
    .resize = themis_preload_core_resize,
    .allocate = themis_preload_core_allocate,
    .list = themis_preload_core_list,
    .stat = themis_preload_core_stat,
    .set_mode = themis_preload_core_set_mode,
    .set_owner = themis_preload_core_set_owner,
    .set_times = themis_preload_core_set_times,
    .space = themis_preload_core_space,
    .get_xattr = themis_preload_core_get_xattr,
    .set_xattr = themis_preload_core_set_xattr,
    .remove_xattr = themis_preload_core_remove_xattr,
    .list_xattrs = themis_preload_core_list_xattrs,
    .readlink = themis_preload_core_readlink,
    .access = themis_preload_core_access,
    .truncate = themis_preload_core_truncate,
    .unlink = themis_preload_core_unlink,
    .rmdir = themis_preload_core_rmdir,
    .mkdir = themis_preload_core_mkdir,
    .rename = themis_preload_core_rename,
    .symlink = themis_preload_core_symlink,
    .follow = themis_preload_core_follow,
    .map = themis_preload_core_map,
    .map_sync = themis_preload_core_map_sync,
    .unmap = themis_preload_core_unmap,
    .has_maps = themis_preload_core_has_maps,
    .meets_maps = themis_preload_core_meets_maps,
    .is_connected = themis_preload_is_connected,
    .fork_prepare = fork_prepare,
    .fork_parent = fork_parent,
    .fork_child = fork_child,
    .end = end,
};
