#!/usr/bin/env python3
"""Measures what the waits of a process with 100 threads cost (waits_cost.cc), after their stacks were
read.

    bench/waits_bench.py [--build build/release-tests] [--rounds 31]

mutex   99 threads of a C program want one mutex
python  99 threads of a Python program want one lock; the frame of a thread shows which one has it
files   99 threads of a Python program read pipes and local sockets whose other ends the program has
        itself. Every process on the machine is searched for further holders, so this cost grows
        with the machine
"""

import argparse
import os
import statistics
import subprocess
import sys

PYTHON = """
import threading
lock = threading.Lock()
def want(left):
    if left:
        return want(left - 1)
    with lock:
        pass
with lock:
    for _ in range(99):
        threading.Thread(target=want, args=(12,), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()
"""

FILES = """
import os, socket, threading
pipes = [os.pipe() for _ in range(50)]
pairs = [socket.socketpair() for _ in range(49)]
for ours, _ in pipes:
    threading.Thread(target=os.read, args=(ours, 1), daemon=True).start()
for ours, _ in pairs:
    threading.Thread(target=ours.recv, args=(1,), daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""


def measure(name, command, build, rounds):
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if not victim.stdout.readline().startswith("ready"):
            sys.exit(f"the victim of {name} ended")
        done = subprocess.run([f"{build}/waits_cost", str(victim.pid), str(rounds)], text=True,
                              check=True, stdout=subprocess.PIPE)
    finally:
        victim.kill()
        victim.wait()
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    first = rows[0]
    threads, process, node = (statistics.median(column) for column in zip(*rows))
    print(f"{name:7} {threads:.0f} threads: read {process / 1000:6.2f} ms, joined "
          f"{node / 1000:6.2f} ms (medians of {rounds}); first {(first[1] + first[2]) / 1000:6.2f} ms")


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{root}/build/release-tests",
                        help="a build with the target bench")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    measure("mutex", [f"{options.build}/victims/locks", "hundred"], options.build, options.rounds)
    measure("python", [sys.executable, "-c", PYTHON], options.build, options.rounds)
    measure("files", [sys.executable, "-c", FILES], options.build, options.rounds)


if __name__ == "__main__":
    main()
