# SPDX-License-Identifier: BSD-3-Clause
# One command with subcommands: each is a file and a line in the table of main.c.
bin_PROGRAMS += tools/themis
tools_themis_SOURCES = tools/copy.c tools/fabric.c tools/fabric.h tools/files.c tools/files.h tools/jobs.c tools/list.c tools/main.c tools/names.c tools/picture.c tools/picture.h tools/place.c tools/place.h tools/plan.c tools/plan.h tools/plan_show.c tools/policy.c tools/run.c \
	tools/sample.c tools/sample.h tools/servers.c tools/servers.h tools/start.c tools/status.c tools/tool.c tools/tool.h tools/top.c tools/topo.c tools/transfer.c tools/transfer.h
tools_themis_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(NCURSES_CFLAGS) -DTHEMIS_SBINDIR='"$(sbindir)"' -DTHEMIS_LIBDIR='"$(libdir)"' \
	-DTHEMIS_VERSION_TEXT='"$(VERSION)"'
tools_themis_LDADD = aggregation/libthemis-aggregation.la lap/libthemis-lap.la $(CLIENT_LIBS) $(JANSSON_LIBS) $(NCURSES_LIBS)
tools_themis_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)
