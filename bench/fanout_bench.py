#!/usr/bin/env python3
"""Measures `oddrank job` on a cluster of many nodes on this machine (a slurmd and a network namespace each):
from Enter to the verdict, and where the time goes.

    bench/fanout_bench.py [--oddrank build/release/oddrank] [--nodes 64] [--rounds 5]

Each node has one rank of plain Python, in one sample; agents, srun and slurmd share the cores of this
machine, which on a real cluster belong to the nodes. The floor is what SLURM itself takes: the same srun,
of `echo`, in turn with oddrank. bench/fanout.cc measures more ranks and nodes, from
captures, without SLURM. Needs root.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f"{ROOT}/tests/support")
# pylint: disable=wrong-import-position
import cluster
from star_job import StarJob


def srun_words(job, nodes):
    """The options of agent_command() in slurm/launch.cc."""
    return ["srun", f"--jobid={job}", "-i", "none", "-l", "-K0", "--overlap", "-N", str(nodes), "-n",
            str(nodes), "--ntasks-per-node=1", "--gres=none", "--mem=0", "--cpu-bind=none",
            "--mpi=none", "--chdir=/"]


def measure_floor(lab, job, nodes):
    """Returns the same of srun alone: seconds in all, until the first line and until the last one."""
    began = time.monotonic()
    with subprocess.Popen([*srun_words(job, nodes), "/bin/echo", "here"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, "SLURM_CONF": lab.conf}) as srun:
        lines = [time.monotonic() - began for _ in srun.stdout]
    if srun.returncode != 0 or len(lines) != nodes:
        sys.exit(f"srun failed with {srun.returncode} after {len(lines)} of {nodes} lines")
    return time.monotonic() - began, lines[0], lines[-1]


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
        floor, rows = [], []
        for _ in range(options.rounds):
            floor.append(measure_floor(lab, job.id, options.nodes))
            rows.append(measure(lab, os.path.abspath(options.oddrank), job.id))
        lab.cancel(job.id)
    for name, column in (("Enter to verdict", 0), ("first answer", 1), ("last answer", 2)):
        times = [row[column] for row in rows]
        least = statistics.median(row[column] for row in floor)
        middle = statistics.median(times)
        print(f"{name:18} median {middle:.2f} s, best {min(times):.2f} s; srun alone {least:.2f} s: "
              f"{middle / least:.1f} times, {middle - least:.2f} s more")
    fastest = min(rows, key=lambda row: row[0])
    steps = [line for line in fastest[3].splitlines() if re.search(r": \d+ ms$", line)]
    print("\n".join(["", "the fastest round:", *steps]))


if __name__ == "__main__":
    main()
