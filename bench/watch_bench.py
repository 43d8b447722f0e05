#!/usr/bin/env python3
"""Measures what `oddrank watch` costs beside one rank of eight threads, as a share of one core: the CPU
time of the watcher and all its readers, from /proc, over a minute.

    bench/watch_bench.py [--oddrank build/release/oddrank] [--seconds 60]

It samples every second instead of every ten, so that there is something to measure. A hanging rank
shows the cost of a sample that finds nothing new. A running rank, whose frames are wanted in each
sample (an eighth of --stalled-for), shows the cost of a sample that reads frames. With the default
settings there is a sample of the first kind every ten seconds, and one of the second kind every 37.5
seconds.
"""

import argparse
import os
import subprocess
import sys
import time

RANK = """
import sys, threading, time
def work(depth, stuck):
    if depth:
        return work(depth - 1, stuck)
    step = 0
    while True:
        step += 1
        time.sleep(3600 if stuck else 0.002)
stuck = sys.argv[1] == "hung"
for _ in range(7):
    threading.Thread(target=work, args=(12, stuck), daemon=True).start()
print("ready", flush=True)
work(12, stuck)
"""
DEFAULT_LOOK_S, DEFAULT_FRAMES_S = 10, 37.5


def cpu_ms(pid):
    """Returns the CPU time of a process and of its children that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * 1000 / os.sysconf("SC_CLK_TCK")


def find_watcher(rank):
    mark = f"MASTER_PORT=bench{os.getpid()}".encode()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as environ:
                    ours = mark in environ.read().split(b"\0")
                if ours and int(name) != rank and os.getsid(int(name)) == int(name):
                    return int(name)
            except OSError:
                pass
        time.sleep(0.05)
    sys.exit("nobody watches")


def measure(options, how, stalled_for):
    """Returns the CPU time of a sample in milliseconds, and the number of samples measured."""
    victim = subprocess.Popen(
        [options.oddrank, "watch", "--interval", "1s", "--stalled-for", stalled_for, "--",
         sys.executable, "-c", RANK, how], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ, RANK="0", WORLD_SIZE="1", MASTER_ADDR="b",
                 MASTER_PORT=f"bench{os.getpid()}"))
    try:
        if victim.stdout.readline() != "ready\n":
            sys.exit("the rank ended")
        watcher = find_watcher(victim.pid)
        time.sleep(5)  # the first samples fill the caches
        before = cpu_ms(watcher)
        time.sleep(options.seconds)
        return (cpu_ms(watcher) - before) / options.seconds
    finally:
        victim.kill()
        victim.wait()
        victim.stdout.close()


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oddrank", default=f"{root}/build/release/oddrank")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    still = measure(options, "hung", "1h")
    frames = measure(options, "runs", "8s")
    print(f"a look at a rank that has not run   {still:6.2f} ms of CPU time")
    print(f"a look at the frames of one that ran {frames:5.2f} ms")
    for name, cost in (("hung", still / DEFAULT_LOOK_S),
                       ("running", still / DEFAULT_LOOK_S + frames / DEFAULT_FRAMES_S)):
        print(f"by default, {name:8} {cost / 10:.4f} % of one core")


if __name__ == "__main__":
    main()
