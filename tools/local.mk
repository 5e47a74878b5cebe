# SPDX-License-Identifier: BSD-3-Clause
# One command with subcommands: each is a file and a line in the table of main.c.
bin_PROGRAMS += tools/themis
tools_themis_SOURCES = tools/access_pattern.c tools/access_pattern.h tools/address.c tools/address.h tools/agent.c tools/agent.h tools/allocate.c tools/allocate_history.c \
	tools/allocate_history.h tools/allocate_service.c tools/allocate_service.h tools/allocate_state.c tools/allocate_state.h tools/allocation.c tools/allocation.h tools/array.h tools/attributes.c tools/attributes.h tools/cat.c tools/chmod.c \
	tools/chown.c \
	tools/command.c tools/command.h tools/copy.c tools/copy.h tools/copy_link.c tools/copy_pool.c tools/copy_pool.h tools/copy_tree.c \
	tools/copy_tree.h tools/check.c tools/check_ask.c tools/check_ask.h tools/check_compare.c tools/check_compare.h tools/check_lines.c tools/check_lines.h \
	tools/check_repair.c tools/check_repair.h tools/check_scan.c tools/check_scan.h tools/cp.c tools/creation_mode.c tools/creation_mode.h tools/df.c tools/discard.c tools/discard.h tools/du.c tools/endpoint.c tools/endpoint.h tools/fabric_levels.c \
	tools/fabric_levels.h tools/fabric_option.c tools/fabric_option.h tools/fabric_svg.c tools/fabric_svg.h \
	tools/find.c tools/find_expression.c tools/find_expression.h tools/format.c tools/format.h tools/history.c tools/history_read.c tools/history_read.h tools/history_show.c \
	tools/history_show.h tools/history_svg.c tools/host_servers.c tools/host_servers.h tools/hosts.c tools/hosts.h tools/ignored.c tools/ignored.h tools/installation.c tools/installation.h \
	tools/interrupt.c tools/interrupt.h tools/jobs.c tools/json.c tools/json.h tools/launcher.c tools/launcher.h tools/lines.c tools/lines.h tools/listing.c tools/listing.h tools/ln.c \
	tools/local_servers.c tools/local_servers.h tools/location.c tools/location.h tools/ls.c tools/main.c tools/mkdir.c tools/mode.c tools/mode.h tools/mount.c \
	tools/mv.c tools/options.c tools/options.h tools/owner.c tools/owner.h tools/patterns.c tools/patterns.h tools/periodic.c tools/periodic_file.c tools/periodic_file.h \
	tools/periodic_follow.c tools/periodic_follow.h tools/periodic_servers.c tools/periodic_servers.h \
	tools/periodic_view.c tools/periodic_view.h tools/plan_text.c tools/plan_text.h \
	tools/periodic_report.c tools/periodic_report.h tools/periodic_svg.c tools/pipelined_copy.c tools/pipelined_copy.h tools/plan.c \
	tools/plan_job.c tools/plan_job.h tools/plan_report.c tools/plan_report.h tools/policies.c tools/policies.h tools/policy.c tools/port_reservation.c \
	tools/port_reservation.h tools/preload.c tools/preload.h tools/private_servers.c tools/private_servers.h tools/reach.c tools/reach.h tools/rm.c tools/rmdir.c \
	tools/run.c tools/run_allocation.c tools/run_allocation.h tools/server_command.c tools/server_command.h tools/server_list.c tools/server_list.h tools/sessions.c tools/sessions.h tools/staging.c tools/staging.h tools/start.c tools/stat.c \
	tools/statistics.c tools/statistics.h tools/status.c tools/stop.c tools/supervisor.c \
	tools/supervisor.h tools/svg.c tools/svg.h tools/tail.c tools/top.c tools/topo.c tools/walk.c tools/walk.h
tools_themis_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(NCURSES_CFLAGS) $(XXHASH_CFLAGS) -DTHEMIS_SBINDIR='"$(sbindir)"' -DTHEMIS_LIBDIR='"$(libdir)"' \
	-DTHEMIS_VERSION_TEXT='"$(VERSION)"' -DTHEMIS_FUSE=$(FUSE_FOUND) $(FUSE_CFLAGS)
tools_themis_LDADD = $(MOUNT_LIBS) mount/libthemis-mountpoint.la history/libthemis-history.la dfra/libthemis-dfra.la persched/libthemis-persched.la aggregation/libthemis-aggregation.la lap/libthemis-lap.la $(CLIENT_LIBS) $(JANSSON_LIBS) $(NCURSES_LIBS) $(XXHASH_LIBS) $(FUSE_LIBS)
tools_themis_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)

check_PROGRAMS += test/tools/test_hosts
test_tools_test_hosts_SOURCES = test/tools/test_hosts.c tools/hosts.c tools/launcher.c tools/lines.c
test_tools_test_hosts_LDADD = util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/tools/test_check
test_tools_test_check_SOURCES = test/tools/test_check.c tools/check_compare.c tools/check_compare.h tools/check_lines.c \
	tools/check_lines.h tools/check_scan.c tools/check_scan.h
test_tools_test_check_LDADD = util/libthemis-util.la $(TEST_LIBS)

# Completion in shells asks the tool for its commands and options.
EXTRA_DIST += tools/completion/themis.bash
zsh_completiondir = $(datadir)/zsh/site-functions
fish_completiondir = $(datadir)/fish/vendor_completions.d
dist_zsh_completion_DATA = tools/completion/_themis
dist_fish_completion_DATA = tools/completion/themis.fish
bash_completiondir = $(datadir)/bash-completion/completions
install-data-local: install-bash-completion
uninstall-local: uninstall-bash-completion
.PHONY: install-bash-completion uninstall-bash-completion
install-bash-completion:
	$(MKDIR_P) $(DESTDIR)$(bash_completiondir)
	$(INSTALL_DATA) $(srcdir)/tools/completion/themis.bash $(DESTDIR)$(bash_completiondir)/themis
uninstall-bash-completion:
	rm -f $(DESTDIR)$(bash_completiondir)/themis
