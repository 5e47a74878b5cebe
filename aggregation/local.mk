# SPDX-License-Identifier: BSD-3-Clause
nobase_include_HEADERS += include/themis/aggregation.h include/themis/topology.h
noinst_HEADERS += aggregation/gather_mpi.h
