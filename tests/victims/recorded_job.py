#!/usr/bin/env python3
"""Runs real jobs of six gloo ranks that hang in known ways and dump PyTorch's flight recorder into
OUT/HOW/trace_rank_R (pickle) and OUT/HOW/json/trace_rank_R.json.

    recorded_job.py OUT HOW [HOW ...]      prints "done" at the end, and leaves no process behind

There are two groups beside the default one: "left", the first half of the ranks, and "right", the
other. In three healthy steps each rank reduces in its half, then in the default group. The fourth
step is one of:

behind     rank 5 makes no more calls; 3 and 4 wait for it in "right", 0-2 wait in the default group
wrapped    the same, after so many steps that the ring has lost its beginning
skip       rank 5 skips the call of its half, and joins the others in the default group
operation  in its half, rank 5 broadcasts while the others reduce
order      rank 5 begins with the default group, the others with their half: a circle
uneven     no rank hangs: the halves exchange tensors of different sizes
healthy    no rank hangs

Calls are asynchronous, so a rank can dump while they hang. It dumps when the expected number of its
calls is open. The ranks are forked from one process, because importing torch takes seconds.
"""

import datetime
import json
import os
import signal
import sys
import time
import warnings

os.environ["TORCH_FR_BUFFER_SIZE"] = "60"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
warnings.filterwarnings("ignore")

# pylint: disable=wrong-import-position
import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

RANKS, LAST = 6, 5
STEPS = {"wrapped": 40}
# For each way to hang: calls that stay open on ranks 0-2, on 3 and 4, and on 5.
OPEN = {"behind": (1, 1, 0), "wrapped": (1, 1, 0), "skip": (0, 1, 0), "operation": (1, 2, 1),
        "order": (1, 1, 1), "uneven": (0, 0, 0), "healthy": (0, 0, 0)}


def last_step(how, half, rank):
    """Makes the calls that hang; returns their handles, which keep them alive."""
    def reduce_half():
        return dist.all_reduce(torch.ones(4), group=half, async_op=True)

    def reduce_all():
        return dist.all_reduce(torch.ones(2), async_op=True)
    if rank < RANKS // 2:
        reduce_half().wait()
        return [reduce_all()]
    if rank != LAST:
        return [reduce_half()] if how in ("behind", "wrapped", "order") else [reduce_half(),
                                                                              reduce_all()]
    if how in ("behind", "wrapped"):
        return []
    if how == "operation":
        return [dist.broadcast(torch.ones(4), src=RANKS // 2, group=half, async_op=True)]
    return [reduce_all()]


def exchange_unevenly(half, rank):
    """Rank i of a half sends i + 1 numbers to each rank of that half."""
    size = RANKS // 2
    inputs = torch.ones(size * (1 + rank % size))
    outputs = torch.ones(sum(1 + at for at in range(size)))
    dist.all_to_all_single(outputs, inputs, [1 + at for at in range(size)],
                           [1 + rank % size] * size, group=half)


def wait_open(expected):
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        entries = json.loads(c10d._dump_fr_trace_json()).get("entries", [])
        if sum(not entry["retired"] for entry in entries) == expected:
            return
        time.sleep(0.02)
    raise TimeoutError(f"not {expected} open calls: {entries}")


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def run_rank(how, directory, rank):
    dist.init_process_group("gloo", init_method=f"file://{directory}/store", rank=rank,
                            world_size=RANKS, timeout=datetime.timedelta(hours=1))
    left = dist.new_group(list(range(RANKS // 2)), group_desc="left")
    right = dist.new_group(list(range(RANKS // 2, RANKS)), group_desc="right")
    half = left if rank < RANKS // 2 else right
    for _ in range(STEPS.get(how, 3)):
        dist.all_reduce(torch.ones(4), group=half)
        dist.all_reduce(torch.ones(2))
    if how == "uneven":
        exchange_unevenly(half, rank)
    works = [] if how in ("uneven", "healthy") else last_step(how, half, rank)
    wait_open(OPEN[how][0 if rank < RANKS // 2 else 1 if rank < LAST else 2])
    write(f"{directory}/trace_rank_{rank}", c10d._dump_fr_trace())
    write(f"{directory}/json/trace_rank_{rank}.json", c10d._dump_fr_trace_json())
    write(f"{directory}/store.dumped-{rank}", b"")
    time.sleep(600)  # the others still need this process; it is killed later
    del works


def start_rank(how, directory, rank):
    pid = os.fork()
    if pid == 0:
        try:
            run_rank(how, directory, rank)
        except BaseException as error:  # pylint: disable=broad-except
            print(f"rank {rank}: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)
    return pid


def record(how, directory):
    os.makedirs(f"{directory}/json")
    pids = [start_rank(how, directory, rank) for rank in range(RANKS)]
    try:
        deadline = time.monotonic() + 300
        while not all(os.path.exists(f"{directory}/store.dumped-{rank}") for rank in range(RANKS)):
            ended = [pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0] != 0]
            if ended or time.monotonic() > deadline:
                pids = [pid for pid in pids if pid not in ended]
                raise RuntimeError(f"{how}: pids {ended} ended, or it took too long")
            time.sleep(0.02)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)
    for name in os.listdir(directory):
        if name.startswith("store"):
            os.unlink(f"{directory}/{name}")


def main():
    for how in sys.argv[2:]:
        record(how, f"{sys.argv[1]}/{how}")
    print("done", flush=True)


if __name__ == "__main__":
    main()
