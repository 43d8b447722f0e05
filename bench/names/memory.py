"""Reading a rank's calls from its memory: the ring of PyTorch's flight recorder."""

import statistics
import subprocess
import sys

from peers import torch_version
from result import Result

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


def measure(bench):
    version = torch_version(bench.torch_python) if bench.torch_python else None
    if not version:
        bench.say("memory: left out: no Python with PyTorch")
        return None
    result = Result("memory", "A ring of calls in a rank's memory", """A gloo rank has made 2,400 calls; its ring holds the newest. `newest` is what a capture keeps (64 of each group),
`all` is `--fr-memory 0`; both find the ring first. The floor only copies as many bytes from the process.""")
    result.versions = {"torch": version}
    bench.say("memory: a rank of torch")
    rank = subprocess.Popen([bench.torch_python, "-W", "ignore", "-c", RANK], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    try:
        if not rank.stdout.readline().startswith("ready"):
            sys.exit("the rank has ended")
        done = subprocess.run([bench.program("recorder_cost"), str(rank.pid), "31"], text=True,
                              check=True, stdout=subprocess.PIPE)
    finally:
        rank.kill()
        rank.communicate()
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    kept, newest, count, whole, copy = (statistics.median(column) for column in zip(*rows))
    result.table(["", "calls", "time, ms", "the first time, ms", "ratio to the floor"],
                 [["newest", f"{kept:.0f}", f"{newest / 1e3:.2f}", f"{rows[0][1] / 1e3:.1f}",
                   f"{newest / copy:.1f}"],
                  ["all", f"{count:.0f}", f"{whole / 1e3:.2f}", f"{rows[0][3] / 1e3:.1f}",
                   f"{whole / copy:.1f}"],
                  ["floor: copying the bytes", "", f"{copy / 1e3:.2f}", f"{rows[0][4] / 1e3:.1f}", "1"]])
    result.raw["rows"] = rows
    return result
