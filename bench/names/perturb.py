"""What captures do to a loop that runs: its steps' time and its threads' wake-ups."""

import json
import statistics
import subprocess
import sys
import time

from result import Result

SECONDS, EVERY_S, STEP_THREADS = 12, 1.0, 8
ABOUT = """A training loop: in each step the main thread gives work to {workers} others, which compute for about a
millisecond. Once a second, for {seconds} s a round, somebody looks. The machine holds steps up, too, so the difference
from `nobody` counts. Wake-ups are voluntary context switches."""
LOOP = """
import ctypes, json, os, sys, threading, time
ctypes.CDLL(None).prctl(1, 9)
workers, seconds = int(sys.argv[1]), float(sys.argv[2])
ready, work, done, turn = threading.Condition(), 0, 0, 0
def compute():
    total = 0
    for i in range(4000):
        total += i * i
    return total
def serve():
    global done
    seen = 0
    while True:
        with ready:
            while work == seen:
                ready.wait()
            seen = work
        compute()
        with ready:
            done += 1
            ready.notify_all()
def step():
    global work, done
    with ready:
        work, done = work + 1, 0
        ready.notify_all()
        while done < workers:
            ready.wait()
for _ in range(workers):
    threading.Thread(target=serve, daemon=True).start()
for _ in range(50):
    step()
print("ready", flush=True)
end, times = time.monotonic() + seconds, []
while time.monotonic() < end:
    began = time.perf_counter()
    step()
    times.append(time.perf_counter() - began)
switches = 0
for tid in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{tid}/status") as status:
        switches += next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
print(json.dumps({"times": times, "switches": switches}), flush=True)
"""


def measure(bench):
    result = Result("perturb", "A loop that runs while somebody looks",
                    ABOUT.format(workers=STEP_THREADS - 1, seconds=SECONDS))
    result.versions = {name: version for name, version in bench.peers.versions().items()
                       if name in ("py-spy", "gdb", "pystack")}
    spy, gdb = bench.peers.program("py-spy"), bench.peers.program("gdb")
    ways = {"nobody": None,
            "oddrank, two samples": [bench.oddrank, "node"],
            "oddrank --never-stop": [bench.oddrank, "node", "--never-stop"],
            "py-spy dump": [spy, "dump", "-p"],
            "py-spy dump --native": [spy, "dump", "--native", "-p"],
            "pystack remote --native-all": [bench.peers.program("pystack"), "remote", "--native-all"]}
    if gdb:
        ways["gdb"] = [gdb, "-batch", "-nx", "-ex", "thread apply all bt", "-p"]
    rows, kept = [], {name: [] for name in ways}
    for turn in range(max(1, bench.rounds // 4)):
        for name, command in ways.items():
            bench.say(f"perturb: {name}, round {turn + 1}")
            kept[name].append(_run(command))
    still = _merge(kept["nobody"])
    for name, runs in kept.items():
        own = _merge(runs)
        rows.append([name, own["looks"], f"{own['median'] * 1e3:.2f}", f"{own['p99'] * 1e3:.2f}",
                     f"{own['longest'] * 1e3:.1f}", f"{own['lost'] * 100:.1f} %",
                     f"{own['switches']:.1f}"])
    result.table(["who looks", "looks", "median step, ms", "99th percentile, ms", "longest step, ms",
                  "time in steps over twice the median", "wake-ups a step"], rows)
    longest = {name: _merge(runs)["longest"] for name, runs in kept.items()}
    result.bars("perturb", "longest step, ms", [name for name in ways if name != "nobody"] + ["nobody"],
                [longest[name] * 1e3 for name in ways if name != "nobody"]
                + [longest["nobody"] * 1e3])
    for name in ways:
        if name not in ("nobody", "oddrank --never-stop") and not name.startswith("oddrank") \
                and longest[name] < longest["oddrank, two samples"]:
            result.ahead.append(f"`{name}` is ahead in this: its longest step was {longest[name] * 1e3:.1f} ms, and "
                                f"{longest['oddrank, two samples'] * 1e3:.1f} ms with oddrank's two samples.")
    result.raw["still"] = {key: still[key] for key in ("median", "p99", "longest")}
    return result


def _run(command):
    """Returns the step times, the switches and the number of looks of one round."""
    victim = subprocess.Popen([sys.executable, "-c", LOOP, str(STEP_THREADS - 1), str(SECONDS)],
                              stdout=subprocess.PIPE, text=True)
    looks = 0
    try:
        if victim.stdout.readline() != "ready\n":
            sys.exit("the loop ended")
        begun = time.monotonic()
        while command and time.monotonic() - begun < SECONDS - 1.5 * EVERY_S:
            next_look = time.monotonic() + EVERY_S
            subprocess.run([*command, str(victim.pid)], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            looks += 1
            time.sleep(max(0.0, next_look - time.monotonic()))
        told = json.loads(victim.stdout.readline())
    finally:
        victim.kill()
        victim.communicate()
    return {**told, "looks": looks}


def _merge(runs):
    times = sorted(took for run in runs for took in run["times"])
    median = statistics.median(times)
    return {"looks": sum(run["looks"] for run in runs), "median": median,
            "p99": times[int(len(times) * 0.99)], "longest": times[-1],
            "lost": sum(took for took in times if took > 2 * median) / sum(times),
            "switches": sum(run["switches"] for run in runs) / len(times)}
