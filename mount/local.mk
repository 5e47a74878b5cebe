# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += mount/libthemis-mountpoint.la
mount_libthemis_mountpoint_la_SOURCES = mount/mountpoint.c mount/mountpoint.h

# What needs libfuse.
if FUSE
noinst_LTLIBRARIES += mount/libthemis-mount.la
mount_libthemis_mount_la_SOURCES = mount/directory_operations.c mount/file_operations.c mount/fuse.h mount/lock_operations.c mount/mount.h \
	mount/operations.c mount/operations.h mount/pool.c mount/pool.h mount/requests.c mount/requests.h mount/serve.c \
	mount/settings.c mount/settings.h mount/xattr_operations.c
mount_libthemis_mount_la_CPPFLAGS = $(AM_CPPFLAGS) $(FUSE_CFLAGS)
mount_libthemis_mount_la_LIBADD = $(FUSE_LIBS)
MOUNT_LIBS = mount/libthemis-mount.la posix/libthemis-posix.la
sbin_SCRIPTS += mount/mount.themis
else
MOUNT_LIBS =
endif
EXTRA_DIST += mount/mount.themis.in
CLEANFILES += mount/mount.themis
mount/mount.themis: $(srcdir)/mount/mount.themis.in
	$(AM_V_GEN)$(MKDIR_P) mount && sed 's|@bindir[@]|$(bindir)|' $(srcdir)/mount/mount.themis.in >$@.new && chmod +x $@.new && mv $@.new $@

# Serves test/mount.sh.
check_PROGRAMS += test/mount/doors test/mount/mpi_door
test_mount_doors_CPPFLAGS = $(MPI_CFLAGS)
test_mount_doors_LDADD = $(MPI_LIBS)
test_mount_mpi_door_CPPFLAGS = $(MPI_CFLAGS)
test_mount_mpi_door_LDADD = $(MPI_LIBS)
