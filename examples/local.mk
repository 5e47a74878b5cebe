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
