# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += test/lib/yield_shim.c .ci/run test/run.sh test/packages.txt test/lib/setup.sh test/lib/testlib.sh test/lib/lsan.supp test/lib/tsan.supp test/layers.sh test/format.sh

# Unit programs are those of check_PROGRAMS that are called test_*; others serve integration scripts.
.PHONY: print-check-programs
print-check-programs:
	@echo $(check_PROGRAMS)

check-local: $(check_PROGRAMS)
	@for program in $(check_PROGRAMS); do \
	    case $$program in */test_*) echo "$$program" && timeout 300 "./$$program" || exit 1 ;; esac; \
	done
