# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += server/libthemis-server.la
server_libthemis_server_la_SOURCES = server/access.c server/access.h server/allocation.c server/allocation.h server/allocation_requests.c server/allocation_requests.h \
	server/allocation_runs.c server/allocation_runs.h server/allocation_watch.c server/allocation_watch.h server/allocator.c server/allocator.h server/auth.c server/auth.h server/beacon.c server/beacon.h server/capabilities.c server/capabilities.h server/capability_key.c server/capability_key.h \
	server/check.c server/check.h server/client_session.c server/client_session.h server/config_check.c server/control_requests.c server/control_requests.h \
	server/counters.c server/counters.h server/cursor.c server/cursor.h server/direct.c server/direct.h \
	server/direct_clients.c server/direct_grants.c server/direct_requests.c server/direct_requests.h \
	server/direct_state.h server/dispatch.c server/dispatch.h server/drain.c server/drain.h server/durable_replies.c server/durable_replies.h server/engine.c \
	server/engine.h server/fences.c server/fences.h server/groups.c server/groups.h server/host_check.c \
	server/history.c server/history.h server/history_files.c \
	server/history_files.h server/history_job.c server/history_job.h server/history_sharing.c server/history_sharing.h \
	server/history_store.c server/history_store.h server/host_check.h server/identity.c server/identity.h \
	server/intent_record.c server/intent_record.h server/intents.c server/intents.h server/io_requests.c server/io_requests.h server/lease.c server/lease.h server/lifecycle.c server/lifecycle.h \
	server/lock_deadlock.c server/lock_holders.c server/lock_holders.h server/lock_requests.c server/lock_requests.h server/lock_table.c \
	server/lock_table.h server/locks.c server/locks.h server/metrics_http.c \
	server/metrics_http.h server/monitoring.c server/monitoring.h server/name_db.c server/name_db.h server/name_directory.c server/name_directory.h server/name_intents.c server/name_intents.h server/name_path.c server/name_path.h server/name_record.c server/name_record.h \
	server/name_requests.c server/name_requests.h server/namespace.c server/namespace.h server/object_lists.c server/object_lists.h server/object_requests.c \
	server/notify.c server/notify.h server/object_requests.h server/open_metrics.c server/open_metrics.h server/peers.c server/peers.h \
	server/pending.c server/pending.h server/periodic_plan.c server/periodic_plan.h server/queue.c \
	server/queue.h server/reply.c server/reply.h server/report.c server/report.h server/request.c server/request.h \
	server/xattrs.c server/xattrs.h server/saved_replies.c server/saved_replies.h server/server.h server/server_config.c server/server_config.h \
	server/server_policy.c server/server_policy.h server/session_requests.c server/session_requests.h \
	server/session_table.c server/session_table.h server/settle.c server/settle.h server/settle_batch.c server/settle_batch.h server/settle_peers.c server/settle_peers.h server/settler.c server/settler.h server/slices.c server/slices.h server/tombstones.c server/tombstones.h
server_libthemis_server_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS) $(NETTLE_CFLAGS) \
	$(XXHASH_CFLAGS)
server_libthemis_server_la_LIBADD = dfra/libthemis-dfra.la history/libthemis-history.la store/libthemis-store.la sched/libthemis-sched.la \
	proto/libthemis-proto.la net/libthemis-net.la util/libthemis-util.la $(JANSSON_LIBS) $(MICROHTTPD_LIBS) \
	$(NETTLE_LIBS) $(ROCKSDB_LIBS)

sbin_PROGRAMS += server/themisd
server_themisd_SOURCES = server/main.c util/backtrace_symbols.c
server_themisd_LDADD = $(INIH_ARCHIVE) server/libthemis-server.la
server_themisd_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)

check_PROGRAMS += test/server/test_allocations test/server/test_namespace test/server/test_intents test/server/test_name_extra test/server/test_locks test/server/test_identity test/server/test_counters test/server/test_object_lists test/server/test_fences test/server/test_config test/server/test_engine test/server/test_clients test/server/test_floods \
	test/server/test_periodic_plan test/server/test_report test/server/test_server_history test/server/test_history_store test/server/test_capabilities \
	test/server/test_rights test/server/test_server_check test/server/test_server_direct test/server/test_durable test/server/many_jobs
test_server_test_allocations_SOURCES = test/server/test_allocations.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_allocations_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
test_server_test_allocations_LDADD = $(INIH_ARCHIVE) server/libthemis-server.la $(JANSSON_LIBS) $(TEST_LIBS)
test_server_test_allocations_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)
test_server_test_namespace_SOURCES = test/server/test_namespace.c test/server/names_rig.c test/server/names_rig.h
test_server_test_namespace_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_intents_SOURCES = test/server/test_intents.c test/server/names_rig.c test/server/names_rig.h
test_server_test_intents_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_name_extra_SOURCES = test/server/test_name_extra.c test/server/names_rig.c test/server/names_rig.h
test_server_test_name_extra_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_locks_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_identity_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_counters_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_object_lists_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_fences_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_config_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_engine_SOURCES = test/server/test_engine.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_engine_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_clients_SOURCES = test/server/test_clients.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_clients_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_floods_SOURCES = test/server/test_floods.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_floods_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_server_direct_SOURCES = test/server/test_server_direct.c test/server/direct_rig.c test/server/direct_rig.h \
	test/server/engine_rig.c test/server/engine_rig.h
test_server_test_server_direct_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_periodic_plan_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_durable_SOURCES = test/server/test_durable.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_durable_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_report_SOURCES = test/server/test_report.c test/sched/rig.c test/sched/rig.h
test_server_test_report_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
test_server_test_report_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_server_history_SOURCES = test/server/test_server_history.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_server_history_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_history_store_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_capabilities_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_rights_SOURCES = test/server/test_rights.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_rights_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_test_server_check_SOURCES = test/server/test_server_check.c test/server/engine_rig.c test/server/engine_rig.h
test_server_test_server_check_LDADD = server/libthemis-server.la $(TEST_LIBS)
test_server_many_jobs_LDADD = server/libthemis-server.la

# systemd looks here where the prefix is /usr or /usr/local.
unitdir = $(prefix)/lib/systemd/system
nodist_unit_DATA = examples/themisd.service
EXTRA_DIST += examples/themisd.service.in
CLEANFILES += examples/themisd.service
examples/themisd.service: $(srcdir)/examples/themisd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) examples && sed -e 's|[@]sbindir[@]|$(sbindir)|' -e 's|[@]unitdir[@]|$(unitdir)|' \
		$(srcdir)/examples/themisd.service.in >$@.new && mv $@.new $@

# For administrators: a dashboard, alerts, rotation of logs.
serverexamplesdir = $(docdir)/examples
dist_serverexamples_DATA = doc/grafana.json examples/themis.rules.yml examples/themisd.logrotate
