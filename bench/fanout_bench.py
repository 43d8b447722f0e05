#!/usr/bin/env python3
"""Measures `oddrank job` on a cluster of many nodes on this machine (a slurmd and a network namespace each):
from Enter to the verdict, and where the time goes.

    bench/fanout_bench.py [--oddrank build/release/oddrank] [--nodes 64] [--rounds 5]

Each node has one rank of plain Python, in one sample; agents, srun and slurmd share the cores of this
machine, which on a real cluster belong to the nodes. bench/fanout.cc measures more ranks and nodes, from
captures, without SLURM. Needs root.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f"{ROOT}/tests/support")
# pylint: disable=wrong-import-position
import cluster
from star_job import StarJob


def measure(lab, oddrank, job):
    """Returns (seconds in all, until the first node's answer, until the last one's, and the log)."""
    began = time.monotonic()
    run = lab.run_client([oddrank, "job", job, "-v", "--samples", "1", "--timeout", "60s"], timeout=300)
    took = time.monotonic() - began
    answers = [int(text) / 1000 for text in re.findall(r"answered after (\d+) ms", run.stderr)]
    if run.returncode != 0 or not answers:
        sys.exit(f"oddrank failed with {run.returncode}:\n{run.stderr}")
    return took, min(answers), max(answers), run.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oddrank", default=f"{ROOT}/build/release/oddrank")
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oddrank-fanout-") as folder, \
            cluster.Cluster(nodes=options.nodes) as lab:
        job = StarJob(lab, folder, nodes=options.nodes, ranks=options.nodes).start()
        rows = [measure(lab, os.path.abspath(options.oddrank), job.id) for _ in range(options.rounds)]
        lab.cancel(job.id)
    for name, column in (("Enter to verdict", 0), ("first answer", 1), ("last answer", 2)):
        times = [row[column] for row in rows]
        print(f"{name:18} median {statistics.median(times):.2f} s, best {min(times):.2f} s")
    fastest = min(rows, key=lambda row: row[0])
    steps = [line for line in fastest[3].splitlines() if re.search(r": \d+ ms$", line)]
    print("\n".join(["", "the fastest round:", *steps]))


if __name__ == "__main__":
    main()
