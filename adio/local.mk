# SPDX-License-Identifier: BSD-3-Clause
# libthemis-mpiio: what programs preload or link; it stands in front of any MPI library and needs none.
# libthemis-mpiio-mpich: the core that it loads into programs of MPICH: unmodified ROMIO with our driver and glue.
# libthemis-mpiio-ompi: the same sources against Open MPI, for its programs.

ROMIO_BUILD = adio/romio-build
ROMIO_CPPFLAGS = -I$(top_srcdir)/adio/glue -isystem $(ROMIO_BUILD) -isystem $(ROMIO_BUILD)/adio/include \
	-isystem $(ROMIO_BUILD)/src/mpl/include -isystem $(ROMIO_BUILD)/source/adio/include \
	-isystem $(ROMIO_BUILD)/source/mpl/include $(MPI_CFLAGS)

ROMIO_OMPI_BUILD = adio/romio-build-ompi
# adio/glue/ompi/mpi.h is in front of Open MPI's own.
GLUE_OMPI_CFLAGS = -I$(abs_top_srcdir)/adio/glue/ompi $(OMPI_CFLAGS)
ROMIO_OMPI_CPPFLAGS = -I$(top_srcdir)/adio/glue -isystem $(ROMIO_OMPI_BUILD) -isystem $(ROMIO_OMPI_BUILD)/include -isystem $(ROMIO_OMPI_BUILD)/adio/include \
	-isystem $(ROMIO_OMPI_BUILD)/src/mpl/include -isystem $(ROMIO_OMPI_BUILD)/source/adio/include \
	-isystem $(ROMIO_OMPI_BUILD)/source/mpl/include $(GLUE_OMPI_CFLAGS)

# The names of intercepted functions: those that the linker wraps, and ROMIO's MPI_File_* functions that are renamed.
INTERCEPTION = $(top_srcdir)/adio/glue/interception.def
INTERCEPTION_ROWS = awk -F '[^A-Za-z0-9_]+'
ROMIO_WRAPPED = $(shell $(INTERCEPTION_ROWS) '$$1 == "HOOK" || $$1 == "UNLOCKED" { print $$2 }' $(INTERCEPTION))
ROMIO_RENAMED = $(shell $(INTERCEPTION_ROWS) '$$1 == "RENAMED" || $$1 == "TRANSFER" { print $$2 } $$1 == "TRANSFER" { print $$2 "_c" }' $(INTERCEPTION))

lib_LTLIBRARIES += adio/libthemis-mpiio.la adio/libthemis-mpiio-mpich.la
adio_libthemis_mpiio_la_SOURCES = adio/entry/backend.c adio/entry/backend.h adio/entry/calls.c adio/entry/calls.def \
	adio/entry/file_name.c adio/entry/file_name.h adio/entry/program_mpi.c adio/entry/program_mpi.h util/config_env.c \
	util/log.c util/mount_point.c
adio_libthemis_mpiio_la_CPPFLAGS = $(AM_CPPFLAGS)
adio_libthemis_mpiio_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -Wl,--version-script=$(top_srcdir)/adio/themis-mpiio.map
adio_libthemis_mpiio_la_LIBADD = -ldl
EXTRA_adio_libthemis_mpiio_la_DEPENDENCIES = $(top_srcdir)/adio/themis-mpiio.map

MPIIO_CORE_SOURCES = adio/ad_themis/ad_themis.c adio/ad_themis/ad_themis.h \
	adio/ad_themis/ad_themis_access.c adio/ad_themis/ad_themis_access.h adio/ad_themis/ad_themis_async.c \
	adio/ad_themis/ad_themis_async.h adio/ad_themis/ad_themis_cache.c adio/ad_themis/ad_themis_cache.h \
	adio/ad_themis/ad_themis_coll.c adio/ad_themis/ad_themis_coll.h adio/ad_themis/ad_themis_coll_file.c \
	adio/ad_themis/ad_themis_coll_file.h adio/ad_themis/ad_themis_coll_info.c adio/ad_themis/ad_themis_coll_info.h \
	adio/ad_themis/ad_themis_control.c adio/ad_themis/ad_themis_control.h adio/ad_themis/ad_themis_error.c \
	adio/ad_themis/ad_themis_error.h adio/ad_themis/ad_themis_file.c adio/ad_themis/ad_themis_file.h \
	adio/ad_themis/ad_themis_flat.c adio/ad_themis/ad_themis_flat.h adio/ad_themis/ad_themis_hint_check.c \
	adio/ad_themis/ad_themis_hint_check.h adio/ad_themis/ad_themis_hints.c adio/ad_themis/ad_themis_hints.h \
	adio/ad_themis/ad_themis_hooks.c adio/ad_themis/ad_themis_hooks.h adio/ad_themis/ad_themis_io.c \
	adio/ad_themis/ad_themis_io.h adio/ad_themis/ad_themis_list.c adio/ad_themis/ad_themis_list.h \
	adio/ad_themis/ad_themis_direct.c adio/ad_themis/ad_themis_direct.h adio/ad_themis/ad_themis_name.c \
	adio/ad_themis/ad_themis_name.h adio/ad_themis/ad_themis_open.c adio/ad_themis/ad_themis_open.h adio/ad_themis/ad_themis_request.c adio/ad_themis/ad_themis_request.h \
	adio/ad_themis/ad_themis_session.c adio/ad_themis/ad_themis_session.h adio/ad_themis/ad_themis_view.c \
	adio/ad_themis/ad_themis_view.h adio/glue/arguments.c adio/glue/collective.c adio/glue/datatype.c adio/glue/abi.h adio/glue/error.c \
	adio/glue/file.c adio/glue/file.h adio/glue/init.c adio/glue/init.h adio/glue/interception.def \
	adio/glue/interception.h adio/glue/lock.c adio/glue/lock.h adio/glue/mpir_ext.h adio/glue/romio_hooks.c \
	adio/glue/set_view.c util/backtrace_symbols.c
adio_libthemis_mpiio_mpich_la_SOURCES = $(MPIIO_CORE_SOURCES) adio/glue/mpich/error.c
adio_libthemis_mpiio_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(ROMIO_CPPFLAGS) $(XXHASH_CFLAGS)
adio_libthemis_mpiio_mpich_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -Wl,--version-script=$(top_srcdir)/adio/themis-mpiio.map \
	-Wl,-Bsymbolic-functions $(ROMIO_WRAPPED:%=-Wl,--wrap=%)
adio_libthemis_mpiio_mpich_la_LIBADD = $(ROMIO_BUILD)/libromio.la $(ROMIO_BUILD)/src/mpl/libmpl.la \
	collective/libthemis-collective.la aggregation/libthemis-aggregation.la lap/libthemis-lap.la $(CLIENT_LIBS) $(MPI_LIBS) -ldl
EXTRA_adio_libthemis_mpiio_mpich_la_DEPENDENCIES = $(top_srcdir)/adio/themis-mpiio.map $(INTERCEPTION)

if OPENMPI
lib_LTLIBRARIES += adio/libthemis-mpiio-ompi.la
adio_libthemis_mpiio_ompi_la_SOURCES = $(MPIIO_CORE_SOURCES) adio/glue/ompi/error.c adio/glue/ompi/grequest.c \
	adio/glue/ompi/handle.c adio/glue/ompi/handle.h adio/glue/ompi/message.c adio/glue/ompi/message.h \
	adio/glue/ompi/mpi.h
adio_libthemis_mpiio_ompi_la_CPPFLAGS = $(AM_CPPFLAGS) $(ROMIO_OMPI_CPPFLAGS) $(XXHASH_CFLAGS)
adio_libthemis_mpiio_ompi_la_LDFLAGS = $(adio_libthemis_mpiio_mpich_la_LDFLAGS)
adio_libthemis_mpiio_ompi_la_LIBADD = $(ROMIO_OMPI_BUILD)/libromio.la $(ROMIO_OMPI_BUILD)/src/mpl/libmpl.la \
	collective/libthemis-collective-ompi.la aggregation/libthemis-aggregation.la lap/libthemis-lap.la $(CLIENT_LIBS) $(OMPI_LIBS) -ldl
EXTRA_adio_libthemis_mpiio_ompi_la_DEPENDENCIES = $(top_srcdir)/adio/themis-mpiio.map $(INTERCEPTION)

$(ROMIO_OMPI_BUILD)/libromio.la $(ROMIO_OMPI_BUILD)/src/mpl/libmpl.la: adio/romio-ompi.stamp
$(adio_libthemis_mpiio_ompi_la_OBJECTS): adio/romio-ompi.stamp
endif
EXTRA_DIST += test/adio/mpi4py_io.py test/adio/pnetcdf_slab.c

# ROMIO's source is fetched once; the build script checks whether anything has changed.
romio-source.stamp: $(top_srcdir)/adio/romio/fetch $(top_srcdir)/adio/romio/source.sh
	@if test -z "$(ROMIO_SOURCE)"; then echo "  FETCH    ROMIO" && $(top_srcdir)/adio/romio/fetch romio-src; fi
	@touch $@

ROMIO_BUILD_ENV = CC="$(CC)" CFLAGS="$(CFLAGS) $(SANITIZER_CFLAGS)" MAKE="$(MAKE)" GLUE=$(abs_top_srcdir)/adio/glue \
	OBJCOPY="$(OBJCOPY)" RENAMED="$(ROMIO_RENAMED)"
ROMIO_PARTS = romio-source.stamp config.status $(top_srcdir)/adio/romio/build $(top_srcdir)/adio/romio/probe \
	$(top_srcdir)/adio/glue/mpir_ext.h $(INTERCEPTION)

adio/romio.stamp: $(ROMIO_PARTS)
	@echo "  BUILD    ROMIO"
	+@source=$(ROMIO_SOURCE); source=$${source:-romio-src/mpich/src/mpi/romio}; \
	MPI_CFLAGS="$(MPI_CFLAGS)" $(ROMIO_BUILD_ENV) $(top_srcdir)/adio/romio/build $$source $(ROMIO_BUILD)
	@touch $@

adio/romio-ompi.stamp: $(ROMIO_PARTS) $(top_srcdir)/adio/glue/ompi/mpi.h
	@echo "  BUILD    ROMIO for Open MPI"
	+@source=$(ROMIO_SOURCE); source=$${source:-romio-src/mpich/src/mpi/romio}; \
	MPI_CFLAGS="$(GLUE_OMPI_CFLAGS)" $(ROMIO_BUILD_ENV) $(top_srcdir)/adio/romio/build $$source $(ROMIO_OMPI_BUILD)
	@touch $@

$(ROMIO_BUILD)/libromio.la $(ROMIO_BUILD)/src/mpl/libmpl.la: adio/romio.stamp
$(adio_libthemis_mpiio_mpich_la_OBJECTS): adio/romio.stamp

# For test/romio_versions.sh, which sets ROMIO_BUILD.
.PHONY: print-mpiio-compile
print-mpiio-compile:
	@echo $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(adio_libthemis_mpiio_mpich_la_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)

EXTRA_DIST += test/romio_versions.sh test/romio_forced.sh test/collective.sh test/romio.sh test/errors.sh test/finalize.sh test/mpich-tree.sh test/adio/cases.h test/adio/errors.c test/adio/hints.c test/adio/handlers.c test/adio/handlers.f90 test/adio/features.c test/adio/holder.c test/adio/finalize.c adio/romio/build adio/romio/fetch adio/romio/graft adio/romio/probe adio/romio/source.sh adio/themis-mpiio.map
AM_DISTCHECK_CONFIGURE_FLAGS = --with-romio-source=$(or $(ROMIO_SOURCE),$(abs_top_builddir)/romio-src/mpich)
CLEANFILES += adio/romio.stamp adio/romio-ompi.stamp romio-source.stamp

clean-local: clean-romio
.PHONY: clean-romio
clean-romio:
	rm -rf $(ROMIO_BUILD) $(ROMIO_OMPI_BUILD)
