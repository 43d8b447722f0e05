#!/usr/bin/env python3
"""Times the steps of a rank that trains on a GPU, without captures and with one each second or so.

    perturb.py --oddrank PATH [--py-spy PATH] [--device cpu] [--seconds N]

Prints for each way: the number of steps, their median, 99th percentile and longest in microseconds, and
how long a capture took, in milliseconds. The ways take turns.
"""

import argparse
import statistics
import subprocess
import sys
import time

import run_jobs

ROUNDS = 2
PAUSE_S = 0.7  # between two captures


def ways(options, pid):
    """Returns the command of each way; None: no capture."""
    found = {"none": None,
             "one sample": [options.oddrank, "node", "--samples", "1", pid],
             "two samples": [options.oddrank, "node", pid]}
    if options.py_spy:
        found["py-spy"] = [options.py_spy, "dump", "--pid", pid]
        found["py-spy --native"] = [options.py_spy, "dump", "--native", "--pid", pid]
    return found


def run_window(command, seconds, costs):
    """Returns when it began and ended, in nanoseconds."""
    began = time.monotonic_ns()
    while time.monotonic_ns() - began < seconds * 1e9:
        if command:
            at = time.monotonic()
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=60, check=False)
            costs.append(time.monotonic() - at)
        time.sleep(PAUSE_S)
    return began, time.monotonic_ns()


def read_steps(path):
    """Returns (when it began, how long it took) of each step; the last line may be cut."""
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")[:-1]
    return [tuple(map(int, line.split())) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--py-spy", default="")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=4, help="of each way, twice")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with run_jobs.Running("steps", options) as job:
        job.wait()
        commands = ways(options, str(job.ranks[0].pid))
        costs, spans = {way: [] for way in commands}, {way: [] for way in commands}
        for _ in range(ROUNDS):
            for way, command in commands.items():
                spans[way].append(run_window(command, options.seconds, costs[way]))
        steps = read_steps(f"{job.folder}/steps0")
    for way in commands:
        took = sorted(ns / 1e3 for at, ns in steps if any(a <= at < b for a, b in spans[way]))
        cost = f"{1e3 * statistics.median(costs[way]):.0f}" if costs[way] else "-"
        print(f"{way:16} {len(took):7} {took[len(took) // 2]:9.0f} {took[len(took) * 99 // 100]:9.0f} "
              f"{took[-1]:9.0f} {cost:>6}")


if __name__ == "__main__":
    main()
