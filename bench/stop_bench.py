#!/usr/bin/env python3
"""Measures how long 100 threads are stopped if only their registers reveal their stacks. The least time
that a stop takes (stop_floor.cc) is measured in turn.

    bench/stop_bench.py [--build build/release-tests] [--rounds 31]

The victim's threads are blocked in a call that the kernel restarts, in a function whose frame is in a
register that nothing saved. This is the only case in which oddrank stops sleeping threads.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

THREADS = 99


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{root}/build/release-tests",
                        help="a build with the target bench")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    victim = subprocess.Popen([f"{options.build}/victims/running", "handmades"],
                              stdout=subprocess.PIPE, text=True)
    ours, floor, stopped = [], [], set()
    try:
        for _ in range(THREADS):
            if not victim.stdout.readline().startswith("ready"):
                sys.exit("the victim ended")
        pid = str(victim.pid)
        for turn in range(options.rounds + 1):
            least = subprocess.run([f"{options.build}/stop_floor", pid], text=True, check=True,
                                   stdout=subprocess.PIPE)
            report = subprocess.run([f"{options.build}/oddrank", "node", pid, "--samples", "1",
                                     "--json", "-"], text=True, check=True, stdout=subprocess.PIPE)
            if turn == 0:
                continue  # caches are warm from here on
            stops = json.loads(report.stdout)["ranks"][0]["stops"]
            stopped.add(stops["threads"])
            ours.append(stops["longest_us"] / 1000)
            floor.append(int(least.stdout) / 1000)
    finally:
        victim.kill()
        victim.wait()
    print(f"threads stopped: {sorted(stopped)}")
    for name, values in (("oddrank", ours), ("bare stop", floor)):
        print(f"{name:10} median {statistics.median(values):6.2f} ms, longest {max(values):6.2f} ms")
    print(f"ratio of medians {statistics.median(ours) / statistics.median(floor):.2f}")


if __name__ == "__main__":
    main()
