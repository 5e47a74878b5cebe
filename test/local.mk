# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += .ci/run test/packages.txt test/run.sh $(integration_scripts) test/lib/setup.sh test/lib/testlib.sh test/lib/alerts.yml \
	test/lib/run.h test/lib/scratch.h test/lib/yield_shim.c test/lib/disk_shim.c test/lib/profiler_shim.c test/lib/quiet_check.c test/lib/asan.supp test/lib/lsan.supp test/lib/tsan.supp test/cluster/cluster.sh test/cluster/launch.sh \
	test/cluster/fabric.sh test/cluster/finalize_shim.c
# Integration scripts of this directory.
integration_scripts = test/layers.sh test/names.sh test/format.sh test/docs.sh test/examples.sh test/hdf5.sh test/hdf5_source.sh test/pnetcdf_source.sh test/cluster.sh test/distcheck.sh \
	test/collective.sh test/order.sh test/random_order.sh test/periodic.sh test/periodic_servers.sh test/periodic_follow.sh test/allocate.sh test/history.sh test/configure.sh test/library.sh test/many.sh test/openmpi.sh test/policies.sh test/adio/own_io.c test/adio/late.c test/adio/read_all.c test/tool.sh test/tool_files.sh test/tool_run.sh test/tool_cp.sh test/mount.sh test/mount/calls.py test/mount/exercise.py test/mount/doors.py test/preload/links.py test/tool_down.sh test/completion.sh test/faults.sh test/themisd.sh test/stores.sh test/lost_store.sh test/check.sh test/intents.sh test/nth.sh test/nth/shim.c test/restart.sh test/adio/restart.c test/lib/boot_shim.c test/disk.sh test/client/crowd.c test/durable.sh test/adio/durable.c test/tool_hosts.sh test/setup_errors.sh test/packaging.sh test/lib/answers.sh test/mount_programs.sh test/slurm.sh test/slurm/call.lua test/slurm/cluster.sh test/conformance.sh test/lib/mountlib.sh test/lib/clusterlib.sh test/posix/data/differences test/posix/data/differences_of_users test/preload.sh test/preload_programs.sh test/exercise.sh test/allocation.sh test/placement.sh

# Unit programs are those of check_PROGRAMS that are called test_*; others serve integration scripts.
.PHONY: print-check-programs
print-check-programs:
	@echo $(check_PROGRAMS)

# make check runs the unit programs; RUN_UNIT_TESTS=no compiles them only.
RUN_UNIT_TESTS = yes
check-local: $(check_PROGRAMS)
	@test $(RUN_UNIT_TESTS) = yes || exit 0; for program in $(check_PROGRAMS); do \
	    case $$program in */test_*) echo "$$program" && timeout 300 "./$$program" || exit 1 ;; esac; \
	done

# These need parallel HDF5, as examples/hdf5_slab does.
hdf5_tests = test/adio/order_hdf5 test/adio/finalize_hdf5
EXTRA_DIST += $(hdf5_tests:=.c)
CLEANFILES += $(hdf5_tests)
if HDF5
all_hdf5_tests = $(hdf5_tests)
endif
all-local: $(all_hdf5_tests)
$(hdf5_tests): %: $(srcdir)/%.c
	$(AM_V_CC)$(MKDIR_P) test/adio && $(EXAMPLE_CC) $(HDF5_CFLAGS) -o $@ $< $(HDF5_LIBS)

# Random programs, for test/random_order.sh and test/cluster.sh.
check_PROGRAMS += test/order/random_order
test_order_random_order_SOURCES = test/order/model.c test/order/model.h test/order/play.c test/order/play.h \
	test/order/random_order.c test/order/sequence.c test/order/sequence.h
test_order_random_order_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_order_random_order_LDADD = $(MPI_LIBS)

# Preloaded into ranks; each says why.
noinst_shims = test/cluster/finalize_shim.so test/lib/yield_shim.so test/lib/profiler_shim.so
CLEANFILES += $(noinst_shims)
all-local: $(noinst_shims)
test/cluster/finalize_shim.so: $(srcdir)/test/cluster/finalize_shim.c
	$(AM_V_CC)$(MKDIR_P) test/cluster && $(CC) $(THEMIS_CFLAGS) $(UCX_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ \
	    $(srcdir)/test/cluster/finalize_shim.c -ldl

test/lib/yield_shim.so: $(srcdir)/test/lib/yield_shim.c
	$(AM_V_CC)$(MKDIR_P) test/lib && $(CC) $(THEMIS_CFLAGS) $(UCX_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ \
	    $(srcdir)/test/lib/yield_shim.c -ldl

test/lib/profiler_shim.so: $(srcdir)/test/lib/profiler_shim.c
	$(AM_V_CC)$(MKDIR_P) test/lib && $(EXAMPLE_CC) -fPIC -shared -o $@ $(srcdir)/test/lib/profiler_shim.c -ldl
