"""What `oddrank watch` costs beside one rank of eight threads, as a share of one core."""

import os
import subprocess
import sys
import time

from result import Result

SECONDS = 25
ABOUT = """CPU time of the watcher and its readers, over {seconds} s of samples every second. A hanging rank shows the cost of a
sample that finds nothing new; by default there is one every ten seconds. A running rank shows that of a sample
that reads frames: one every 37.5 seconds (an eighth of `--stalled-for`)."""
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


def measure(bench):
    result = Result("watch", "The watcher beside a rank", ABOUT.format(seconds=SECONDS))
    bench.say("watch: beside a rank that hangs, and one that runs")
    still = _sample_ms(bench.oddrank, "hung", "1h")
    frames = _sample_ms(bench.oddrank, "runs", "8s")
    result.table(["a sample", "CPU time, ms"], [["of a rank that has not run", f"{still:.2f}"],
                                                ["of the frames of one that ran", f"{frames:.2f}"]])
    result.table(["by default, beside a rank that", "share of one core"],
                 [[name, f"{cost / 10:.4f} %"] for name, cost in (
                     ("hangs", still / DEFAULT_LOOK_S),
                     ("runs", still / DEFAULT_LOOK_S + frames / DEFAULT_FRAMES_S))])
    result.raw.update(still=still, frames=frames)
    return result


def _sample_ms(oddrank, how, stalled_for):
    """Returns the CPU time of a sample in milliseconds."""
    victim = subprocess.Popen(
        [oddrank, "watch", "--interval", "1s", "--stalled-for", stalled_for, "--",
         sys.executable, "-c", RANK, how], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ, RANK="0", WORLD_SIZE="1", MASTER_ADDR="b",
                 MASTER_PORT=f"bench{os.getpid()}"))
    try:
        if victim.stdout.readline() != "ready\n":
            sys.exit("the rank ended")
        watcher = find_watcher(victim.pid)
        time.sleep(5)  # the first samples fill the caches
        before = cpu_ms(watcher)
        time.sleep(SECONDS)
        return (cpu_ms(watcher) - before) / SECONDS
    finally:
        victim.kill()
        victim.wait()
        victim.stdout.close()
