# SPDX-License-Identifier: BSD-3-Clause
# Manual pages are made from the pages of this directory.
EXTRA_DIST += doc/man.awk doc/architecture.md doc/building.md doc/collective.md \
	doc/configuration.md doc/dfra.md doc/durability.md doc/hints.md doc/history.md doc/names.md doc/performance.md doc/periodic.md \
	doc/quick-tour.md doc/security.md doc/slurm.md doc/site.md doc/themis.md doc/themisd.md doc/wire.md
nodist_man_MANS = doc/themis.1 doc/themisd.8 doc/themis.conf.5 doc/themis-hints.7
CLEANFILES += $(nodist_man_MANS)
MAN_PAGE = $(AM_V_GEN)$(MKDIR_P) doc && $(AWK) -f $(srcdir)/doc/man.awk

doc/themis.1: $(srcdir)/doc/themis.md $(srcdir)/doc/man.awk
	$(MAN_PAGE) -v name=themis -v section=1 -v summary="programs and files on Themis servers" $(srcdir)/doc/themis.md >$@.new
	@mv $@.new $@

doc/themisd.8: $(srcdir)/doc/themisd.md $(srcdir)/doc/man.awk
	$(MAN_PAGE) -v name=themisd -v section=8 -v summary="server of Themis" $(srcdir)/doc/themisd.md >$@.new
	@mv $@.new $@

doc/themis.conf.5: $(srcdir)/doc/configuration.md $(srcdir)/doc/man.awk
	$(MAN_PAGE) -v name=themis.conf -v section=5 -v summary="configuration of Themis" $(srcdir)/doc/configuration.md >$@.new
	@mv $@.new $@

doc/themis-hints.7: $(srcdir)/doc/hints.md $(srcdir)/doc/man.awk
	$(MAN_PAGE) -v name=themis-hints -v section=7 -v summary="hints of MPI_Info for files on Themis servers" $(srcdir)/doc/hints.md >$@.new
	@mv $@.new $@
