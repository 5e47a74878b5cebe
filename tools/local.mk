# SPDX-License-Identifier: BSD-3-Clause
# One command with subcommands: each is a file and a line in the table of main.c.
bin_PROGRAMS += tools/themis
tools_themis_SOURCES = tools/access_pattern.c tools/access_pattern.h tools/attributes.c tools/attributes.h tools/cat.c \
	tools/command.c tools/command.h tools/cp.c tools/endpoint.c tools/endpoint.h tools/fabric_levels.c \
	tools/fabric_levels.h tools/fabric_option.c tools/fabric_option.h tools/fabric_svg.c tools/fabric_svg.h \
	tools/format.c tools/format.h tools/installation.c tools/installation.h tools/jobs.c tools/json.c tools/json.h \
	tools/local_servers.c tools/local_servers.h tools/location.c tools/location.h tools/ls.c tools/main.c tools/mkdir.c \
	tools/mv.c tools/options.c tools/options.h tools/periodic.c tools/periodic_file.c tools/periodic_file.h \
	tools/periodic_report.c tools/periodic_report.h tools/periodic_svg.c tools/pipelined_copy.c tools/pipelined_copy.h tools/plan.c \
	tools/plan_job.c tools/plan_job.h tools/plan_report.c tools/plan_report.h tools/policy.c tools/rm.c tools/rmdir.c \
	tools/run.c tools/server_list.c tools/server_list.h tools/sessions.c tools/sessions.h tools/start.c tools/stat.c \
	tools/statistics.c tools/statistics.h tools/status.c tools/stop.c tools/top.c tools/topo.c
tools_themis_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(NCURSES_CFLAGS) -DTHEMIS_SBINDIR='"$(sbindir)"' -DTHEMIS_LIBDIR='"$(libdir)"' \
	-DTHEMIS_VERSION_TEXT='"$(VERSION)"'
tools_themis_LDADD = persched/libthemis-persched.la aggregation/libthemis-aggregation.la lap/libthemis-lap.la $(CLIENT_LIBS) $(JANSSON_LIBS) $(NCURSES_LIBS)
tools_themis_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)
