# SPDX-License-Identifier: BSD-3-Clause
# One command with subcommands: each is a file and a line in the table of main.c.
bin_PROGRAMS += tools/themis
tools_themis_SOURCES = tools/access_pattern.c tools/access_pattern.h tools/command.h tools/cp.c tools/fabric_levels.c \
	tools/fabric_levels.h tools/fabric_svg.c tools/fabric_svg.h tools/installation.c tools/installation.h tools/jobs.c \
	tools/local_servers.c tools/local_servers.h tools/location.c tools/location.h tools/ls.c tools/main.c \
	tools/pipelined_copy.c tools/pipelined_copy.h tools/plan.c tools/plan_report.c tools/plan_report.h tools/policy.c \
	tools/rm.c tools/run.c tools/sessions.c tools/start.c tools/statistics.c tools/statistics.h tools/status.c \
	tools/top.c tools/topo.c
tools_themis_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(NCURSES_CFLAGS) -DTHEMIS_SBINDIR='"$(sbindir)"' -DTHEMIS_LIBDIR='"$(libdir)"' \
	-DTHEMIS_VERSION_TEXT='"$(VERSION)"'
tools_themis_LDADD = aggregation/libthemis-aggregation.la lap/libthemis-lap.la $(CLIENT_LIBS) $(JANSSON_LIBS) $(NCURSES_LIBS)
tools_themis_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)
