#!/usr/bin/env python3
"""Measures what it costs to read a rank's calls from its memory (recorder_cost.cc): a gloo rank of torch
that has made more calls than its ring holds, at several lines of its program.

    bench/memory_bench.py [--build build/release-tests] [--rounds 31] [--python .venv/bin/python]

Prints medians: for the newest 64 calls of each group, as a capture has them, for all 2,000, and for
copying the bytes of such a ring and nothing else. The first round finds the recorder, later ones have
the library's symbols in the page cache.
"""

import argparse
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANK = """
import os, signal, torch, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
groups = [None, dist.new_group([0])]
def sums(group):
    dist.all_reduce(torch.ones(4, 8), group=group)
def gives(group):
    dist.broadcast(torch.ones(3), 0, group=group)
def step():
    for group in groups:
        sums(group)
        sums(group)
        gives(group)
for _ in range(400):
    step()
print("ready", flush=True)
signal.pause()
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=f"{ROOT}/build/release-tests")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--python", default=f"{ROOT}/.venv/bin/python")
    options = parser.parse_args()
    rank = subprocess.Popen([options.python, "-c", RANK], stdout=subprocess.PIPE, text=True)
    try:
        if not rank.stdout.readline().startswith("ready"):
            sys.exit("the rank has ended")
        done = subprocess.run([f"{options.build}/recorder_cost", str(rank.pid), str(options.rounds)],
                              text=True, check=True, stdout=subprocess.PIPE)
    finally:
        rank.kill()
        rank.wait()
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    kept, newest, all_calls, whole, copy = (statistics.median(column) for column in zip(*rows))
    print(f"newest {kept:.0f} calls: {newest / 1000:.2f} ms (the first time {rows[0][1] / 1000:.1f} ms)")
    print(f"all {all_calls:.0f} calls: {whole / 1000:.2f} ms")
    print(f"copying the ring's bytes: {copy / 1000:.2f} ms; ratios {newest / copy:.1f} and {whole / copy:.1f}")


if __name__ == "__main__":
    main()
