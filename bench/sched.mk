# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks of the scheduler and of the lambda exchange, and of sharing as a whole.
EXTRA_DIST += bench/sched.sh bench/lambda.sh bench/share_traces.sh
EXTRA_PROGRAMS += bench/sched bench/lambda
CLEANFILES += bench/sched bench/lambda
bench_sched_LDADD = sched/libthemis-sched.la
bench_lambda_LDADD = sched/libthemis-sched.la

# Tests need it, too.
check_PROGRAMS += bench/sharing_client
bench-programs: bench/sharing_client
bench_sharing_client_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
bench_sharing_client_LDADD = $(CLIENT_LIBS) $(JANSSON_LIBS)
EXTRA_DIST += test/sharing.sh test/lambda.sh test/watch.sh test/lib/jobs.sh doc/grafana.json doc/sharing.md
