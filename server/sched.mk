# SPDX-License-Identifier: BSD-3-Clause
# The scheduler, the job table and the policies, apart from the server so that tests and benches link them alone.
noinst_LTLIBRARIES += server/libthemis-sched.la
server_libthemis_sched_la_SOURCES = server/control_queue.c server/control_queue.h server/exchange.c server/exchange.h server/jobtab.c server/jobtab.h server/lambda.c server/lambda.h server/policy.c server/policy.h server/policy_tree.c \
	server/sched.c server/sched.h server/sched_fifo.c server/sched_heap.c server/sched_heap.h server/sched_ops.h \
	server/sched_shares.c server/sched_shares.h server/sched_statistical.c server/sched_stride.c \
	server/sched_gift.c server/sched_tbf.c
server_libthemis_sched_la_LIBADD = proto/libthemis-proto.la util/libthemis-util.la -lm

# What is told about jobs; apart, since it needs libraries that the scheduler does not.
noinst_LTLIBRARIES += server/libthemis-report.la
server_libthemis_report_la_SOURCES = server/metrics.c server/metrics.h server/report.c server/report.h \
	server/report_metrics.c
server_libthemis_report_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS)
server_libthemis_report_la_LIBADD = $(JANSSON_LIBS) $(MICROHTTPD_LIBS)

check_PROGRAMS += test/server/test_control_queue test/server/test_jobtab test/server/test_lambda test/server/test_policy test/server/test_sched \
	test/server/test_comparators test/server/test_sched_heap
test_server_test_jobtab_SOURCES = test/server/test_jobtab.c
test_server_test_jobtab_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_jobtab_LDADD = server/libthemis-sched.la $(TEST_LIBS)
test_server_test_control_queue_SOURCES = test/server/test_control_queue.c
test_server_test_control_queue_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_control_queue_LDADD = server/libthemis-sched.la $(TEST_LIBS)
test_server_test_policy_SOURCES = test/server/test_policy.c
test_server_test_policy_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_policy_LDADD = server/libthemis-sched.la $(TEST_LIBS)
test_server_test_sched_SOURCES = test/server/test_sched.c test/server/sched_rig.c test/server/sched_rig.h
test_server_test_sched_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_sched_LDADD = server/libthemis-sched.la $(TEST_LIBS)
test_server_test_sched_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_server_test_lambda_SOURCES = test/server/test_lambda.c
test_server_test_lambda_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_lambda_LDADD = server/libthemis-sched.la $(TEST_LIBS)
check_PROGRAMS += test/server/test_exchange
test_server_test_exchange_SOURCES = test/server/test_exchange.c test/server/sched_rig.c test/server/sched_rig.h
test_server_test_exchange_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_exchange_LDADD = server/libthemis-sched.la $(TEST_LIBS)
check_PROGRAMS += test/server/test_report
test_server_test_report_SOURCES = test/server/test_report.c test/server/sched_rig.c test/server/sched_rig.h
test_server_test_report_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) $(JANSSON_CFLAGS)
test_server_test_report_LDADD = server/libthemis-report.la server/libthemis-sched.la $(TEST_LIBS)
test_server_test_sched_heap_SOURCES = test/server/test_sched_heap.c
test_server_test_sched_heap_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_sched_heap_LDADD = server/libthemis-sched.la $(TEST_LIBS)
test_server_test_comparators_SOURCES = test/server/test_comparators.c test/server/sched_rig.c test/server/sched_rig.h
test_server_test_comparators_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_comparators_LDADD = server/libthemis-sched.la $(TEST_LIBS)
