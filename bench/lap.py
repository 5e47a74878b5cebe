#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lap.py LIBRARY OUT.json [--sizes N,..] [--repeats N]: our assignment solver against SciPy's on the same matrices.

Processor seconds, best of the repeats for each side, which take turns (neither side has threads, so on an idle machine this
is the elapsed time, and on a busy one it counts no waiting). The totals are compared, and our solution is proved by its certificate. extra_kib is
the growth of the resident memory of a fresh process while it solves.
"""
import argparse
import ctypes
import json
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

MIX = np.uint64(0x9E3779B97F4A7C15)

class Solution(ctypes.Structure):
    _fields_ = [("column", ctypes.c_void_p), ("u", ctypes.c_void_p), ("v", ctypes.c_void_p), ("total", ctypes.c_int64)]

def uniform(n, rng):
    return rng.integers(0, 1_000_000, size=(n, n))

def geometric(n, rng):
    """Points in a square: cost is the distance between the i-th of one set and the j-th of another."""
    a, b = rng.random((n, 2)), rng.random((n, 2))
    return (1e6 * np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])).astype(np.int64)

def hopbytes(n, rng):
    """W = D.C for n nodes in racks of 16, 4 racks a pod, and domains whose bytes come from a few neighbouring nodes."""
    node = np.arange(n)
    rack, pod = node // 16, node // 64
    hops = np.where(rack[:, None] == rack[None, :], 2, np.where(pod[:, None] == pod[None, :], 4, 6))
    np.fill_diagonal(hops, 1)
    shift = rng.permutation(n)
    held = np.zeros((n, n), dtype=np.int64)
    for k in range(n):
        start = shift[k]
        held[k, (start + np.arange(8)) % n] = rng.integers(1, 1 << 20, size=8)
    return (held.astype(np.float64) @ hops).astype(np.int64) * 16

def solver(library):
    solve, certify = library.themis_lap_i64_solve, library.themis_lap_i64_certify
    for function in (solve, certify):
        function.argtypes = [ctypes.c_size_t, ctypes.c_size_t] + [ctypes.c_void_p] * (2 if function is solve else 3)

    def run(cost):
        rows, columns = cost.shape
        column, u, v = np.zeros(rows, np.uint32), np.zeros(rows, np.int64), np.zeros(columns, np.int64)
        solution = Solution(column.ctypes.data, u.ctypes.data, v.ctypes.data, 0)
        begin = time.process_time()
        status = solve(rows, columns, cost.ctypes.data, ctypes.byref(solution))
        seconds = time.process_time() - begin
        proved = status == 0 and certify(rows, columns, cost.ctypes.data, ctypes.byref(solution), None) == 0
        return seconds, solution.total, proved

    return run

def scipy_run(cost):
    begin = time.process_time()
    rows, columns = linear_sum_assignment(cost)
    seconds = time.process_time() - begin
    return seconds, cost[rows, columns].sum()

def growth(path, n):
    """Resident memory that solving adds, in KiB, in a process that has touched its matrix before."""
    library = ctypes.CDLL(path)
    run = solver(library)
    run(np.ones((8, 8), np.int64))
    cost = np.zeros((n, n), np.int64)
    rng = np.random.default_rng(1)
    for row in cost:
        row[:] = rng.integers(0, 1_000_000, size=n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(cost)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("out")
    parser.add_argument("--sizes", default="500,1000,2000,4000")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--growth", type=int)
    args = parser.parse_args()
    if args.growth:
        print(growth(args.library, args.growth))
        return 0
    library, rows, good = ctypes.CDLL(args.library), [], True
    for n in map(int, args.sizes.split(",")):
        extra = int(subprocess.check_output([sys.executable, __file__, args.library, "-", "--growth", str(n)]))
        for name, make in (("uniform", uniform), ("geometric", geometric), ("hopbytes", hopbytes)):
            matrix = np.ascontiguousarray(make(n, np.random.default_rng(n)), np.int64)
            run, ours, theirs = solver(library), [], []
            for _ in range(args.repeats):
                seconds, total, proved = run(matrix)
                ours.append(seconds)
                seconds, reference = scipy_run(matrix)
                theirs.append(seconds)
                good = good and proved and total == reference
            rows.append({"n": n, "matrix": name, "type": "i64", "themis_s": round(min(ours), 5), "scipy_s": round(min(theirs), 5),
                         "ratio": round(min(theirs) / min(ours), 2), "certified": bool(proved), "same_total": bool(total == reference),
                         "extra_kib": extra})
            print(rows[-1], file=sys.stderr, flush=True)
    with open(args.out, "w", encoding="ascii") as out:
        json.dump(rows, out, indent=1)
    return 0 if good else 1

if __name__ == "__main__":
    sys.exit(main())
