#!/usr/bin/env python3
"""Measures what the waits of a process with 100 threads, or of eight ranks, cost (waits_cost.cc), after
their stacks were read.

    bench/waits_bench.py [--build build/release-tests] [--rounds 31]

mutex   99 threads of a C program want one mutex
python  99 threads of a Python program want one lock; the frame of a thread shows which one has it
files   99 threads of a Python program read pipes and local sockets whose other ends the program has
        itself. Every process on the machine is searched for further holders, so this cost grows
        with the machine
ranks   eight processes with eight TCP connections between any two of them; each waits at one
"""

import argparse
import os
import signal
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

RANKS = """
import os, socket, threading
listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
ends = [[] for _ in range(8)]
for one in range(8):
    for other in list(range(one)) * 8:
        ends[one].append(socket.create_connection(listener.getsockname()))
        ends[other].append(listener.accept()[0])
listener.close()
pids = []
for rank in range(8):
    pid = os.fork()
    if pid == 0:
        for other in range(8):
            if other != rank:
                for end in ends[other]:
                    end.close()
        ends[rank][0].recv(1)
    pids.append(pid)
ends.clear()
print("ready", *pids, flush=True)
try:
    threading.Event().wait()
except KeyboardInterrupt:
    pass
for pid in pids:
    os.kill(pid, 9)
"""


def measure(name, command, build, rounds):
    victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = victim.stdout.readline().split()
        if not said or not said[0].startswith("ready"):
            sys.exit(f"the victim of {name} ended")
        done = subprocess.run([f"{build}/waits_cost", str(rounds), *(said[1:] or [str(victim.pid)])],
                              text=True, check=True, stdout=subprocess.PIPE)
    finally:
        victim.send_signal(signal.SIGINT if name == "ranks" else signal.SIGKILL)
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
    measure("ranks", [sys.executable, "-c", RANKS], options.build, options.rounds)


if __name__ == "__main__":
    main()
