# SPDX-License-Identifier: BSD-3-Clause
# Periodic I/O schedules. Pure computation.
noinst_LTLIBRARIES += persched/libthemis-persched.la
persched_libthemis_persched_la_SOURCES = persched/bounds.c persched/check.c persched/fill.c persched/fill.h \
	persched/candidates.c persched/candidates.h persched/follow.c persched/follow.h \
	persched/follow_servers.c persched/follow_servers.h \
	persched/improve.c persched/linear_program.c persched/linear_program.h persched/online.c persched/online.h \
	persched/pattern.c persched/pattern.h persched/persched.h persched/problem.c persched/problem.h persched/search.c \
	persched/search.h persched/timeline.c persched/timeline.h
persched_libthemis_persched_la_LIBADD = util/libthemis-util.la $(GLPK_LIBS) -lm

check_PROGRAMS += test/persched/test_persched
test_persched_test_persched_SOURCES = test/persched/test_persched.c test/persched/paper.h
test_persched_test_persched_LDADD = persched/libthemis-persched.la $(TEST_LIBS)

check_PROGRAMS += test/persched/test_follow
test_persched_test_follow_LDADD = persched/libthemis-persched.la $(TEST_LIBS)
