# SPDX-License-Identifier: BSD-3-Clause
# Which job is served next: job table, policies, draws and the exchange of shares between servers. Pure computation.
noinst_LTLIBRARIES += sched/libthemis-sched.la
sched_libthemis_sched_la_SOURCES = sched/bandwidth_limit.c sched/bandwidth_limit.h sched/control_queue.c \
	sched/control_queue.h sched/draw.c sched/draw.h sched/entry.h sched/fifo.c sched/heap.c sched/heap.h sched/job_table.c \
	sched/job_table.h sched/lambda.c sched/lambda.h sched/lambda_exchange.c sched/lambda_exchange.h sched/periodic.c sched/periodic.h sched/lanes.c \
	sched/lanes.h sched/min_dilation.c sched/policy.c \
	sched/policy.h sched/policy_tree.c sched/policy_tree.h sched/random.h sched/sched.c sched/sched.h sched/shares.c \
	sched/shares.h sched/state.h sched/statistical.c sched/stride.c
sched_libthemis_sched_la_LIBADD = proto/libthemis-proto.la util/libthemis-util.la -lm

sched_tests = test/sched/test_control_queue test/sched/test_heap test/sched/test_job_table test/sched/test_lambda \
	test/sched/test_lambda_exchange test/sched/test_min_dilation test/sched/test_periodic test/sched/test_policy test/sched/test_sched
if COMPARATORS
sched_libthemis_sched_la_SOURCES += sched/comparators/gift.c sched/comparators/tbf.c
sched_tests += test/sched/test_comparators
endif
check_PROGRAMS += $(sched_tests)
test_sched_test_comparators_SOURCES = test/sched/test_comparators.c test/sched/rig.c test/sched/rig.h
test_sched_test_comparators_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_control_queue_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_heap_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_job_table_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_lambda_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_lambda_exchange_SOURCES = test/sched/test_lambda_exchange.c test/sched/rig.c test/sched/rig.h
test_sched_test_lambda_exchange_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_min_dilation_SOURCES = test/sched/test_min_dilation.c test/sched/rig.c test/sched/rig.h
test_sched_test_min_dilation_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_periodic_SOURCES = test/sched/test_periodic.c test/sched/rig.c test/sched/rig.h
test_sched_test_periodic_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_policy_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_sched_SOURCES = test/sched/test_sched.c test/sched/rig.c test/sched/rig.h
test_sched_test_sched_LDADD = sched/libthemis-sched.la $(TEST_LIBS)
test_sched_test_sched_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
