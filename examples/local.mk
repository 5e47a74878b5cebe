# SPDX-License-Identifier: BSD-3-Clause
# The examples are plain MPI programs: compiled with MPICH's wrapper, without anything of Themis.
EXAMPLES = examples/hello_mpiio examples/cube examples/btio examples/checkpoint
if HDF5
EXAMPLES += examples/hdf5_slab
endif
EXAMPLE_CC = MPICH_CC="$(CC)" $(MPICC) $(THEMIS_CFLAGS) $(CFLAGS) -I$(srcdir)/examples
EXTRA_DIST += examples/quickstart.sh examples/example.h examples/example.c examples/hello_mpiio.c examples/cube.c examples/btio.c \
	examples/checkpoint.c \
	examples/hdf5_slab.c
mountexamplesdir = $(docdir)/examples
dist_mountexamples_DATA = examples/themis.conf examples/themis.mount
# For Slurm: job scripts, what slurm.conf may name, a burst buffer and a SPANK plugin (doc/slurm.md). Packages of the whole.
slurmexamplesdir = $(docdir)/examples/slurm
dist_slurmexamples_DATA = examples/slurm/private.sbatch examples/slurm/site.sbatch examples/slurm/task_prolog.sh \
	examples/slurm/prolog.sh examples/slurm/epilog.sh examples/slurm/burst_buffer.lua examples/slurm/themis_bb.sh \
	examples/slurm/themis_bb.conf examples/slurm/spank_themis.c
EXTRA_DIST += packaging/themis.spec packaging/package.py packaging/modulefile packaging/Containerfile debian/changelog \
	debian/control debian/copyright debian/rules debian/source/format debian/libthemis-dev.install debian/libthemis0.install \
	debian/themis-client.install debian/themis-doc.docs debian/themis-doc.install debian/themis-server.install \
	debian/themis-server.postinst
CLEANFILES += examples/hello_mpiio examples/cube examples/btio examples/checkpoint examples/hdf5_slab

all-local: $(EXAMPLES)

examples/hello_mpiio: $(srcdir)/examples/hello_mpiio.c
	$(AM_V_CC)$(MKDIR_P) examples && $(EXAMPLE_CC) -o $@ $(srcdir)/examples/hello_mpiio.c

examples/cube: $(srcdir)/examples/cube.c $(srcdir)/examples/example.c $(srcdir)/examples/example.h
	$(AM_V_CC)$(MKDIR_P) examples && $(EXAMPLE_CC) -o $@ $(srcdir)/examples/cube.c $(srcdir)/examples/example.c

examples/btio: $(srcdir)/examples/btio.c $(srcdir)/examples/example.c $(srcdir)/examples/example.h
	$(AM_V_CC)$(MKDIR_P) examples && $(EXAMPLE_CC) -o $@ $(srcdir)/examples/btio.c $(srcdir)/examples/example.c

examples/checkpoint: $(srcdir)/examples/checkpoint.c $(srcdir)/examples/example.c $(srcdir)/examples/example.h
	$(AM_V_CC)$(MKDIR_P) examples && $(EXAMPLE_CC) -o $@ $(srcdir)/examples/checkpoint.c $(srcdir)/examples/example.c

examples/hdf5_slab: $(srcdir)/examples/hdf5_slab.c
	$(AM_V_CC)$(MKDIR_P) examples && $(EXAMPLE_CC) $(HDF5_CFLAGS) -o $@ $(srcdir)/examples/hdf5_slab.c $(HDF5_LIBS)
