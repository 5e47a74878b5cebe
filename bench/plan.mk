# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks of collective I/O planning: assignment, file domains, plans, hop-bytes.
EXTRA_DIST += bench/lap.sh bench/lap.py
