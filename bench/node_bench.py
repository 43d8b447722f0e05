#!/usr/bin/env python3
"""Measures how long oddrank takes to read eight hung gloo ranks, with eu-stack and gdb in the same run.

    bench/node_bench.py [--oddrank build/release/oddrank] [--rounds 9] [--no-gdb]

oddrank reads native and Python frames with names, merges them, joins waits and finds a verdict;
eu-stack and gdb print native frames with names. `ratio` is the candidate's median divided by
oddrank's.
"""

import argparse
import os
import shutil
import sys

import compare
from compare import Candidate
from hung_job import HungJob


def candidates_for(oddrank, pids, with_gdb):
    ours = [oddrank, "node", "--samples", "1", "-q"]
    texts = [str(pid) for pid in pids]
    eight = [Candidate("oddrank, 8 ranks", [[*ours, *texts]])]
    one = [Candidate("oddrank, 1 rank", [[*ours[:-1], texts[0]]])]
    if shutil.which("eu-stack"):
        commands = [["eu-stack", "-p", pid] for pid in texts]
        eight.append(Candidate("eu-stack, 8 ranks, serially", commands))
        eight.append(Candidate("eu-stack, 8 ranks, two at a time", commands, at_once=2))
        one.append(Candidate("eu-stack, 1 rank", commands[:1]))
        one.append(Candidate("eu-stack -q (no names), 1 rank", [["eu-stack", "-q", "-p", texts[0]]]))
    if with_gdb and shutil.which("gdb"):
        commands = [["gdb", "-p", pid, "-batch", "-nx", "-ex", "thread apply all bt"]
                    for pid in texts]
        eight.append(Candidate("gdb, 8 ranks, two at a time", commands, at_once=2, every=3))
        one.append(Candidate("gdb, 1 rank", commands[:1], every=3))
    return eight, one


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oddrank", default=f"{root}/build/release/oddrank")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-gdb", action="store_true")
    options = parser.parse_args()
    if not os.access(options.oddrank, os.X_OK):
        sys.exit(f"{options.oddrank} is not there: cmake --preset release && "
                 "cmake --build --preset release")
    with HungJob() as job:
        print(f"{len(job.pids)} ranks, {job.threads} threads, {os.cpu_count()} cores")
        for group in candidates_for(options.oddrank, job.pids, not options.no_gdb):
            compare.alternate(group, options.rounds)
            print(compare.table(group, group[0]), flush=True)


if __name__ == "__main__":
    main()
