"""A controller that drives a mesh of three trainers: controller.py [gloo] [held] [STEPS]

With STEPS it makes as many, and then as many as each line of its input says. "held": before that, the
trainers begin to wait for a lock that nobody gives back.
"""
import sys
import threading
import time

import torch
import torch.distributed as dist
from monarch.actor import Actor, current_rank, endpoint, this_host

import run_folder

TRAINERS = 3
PORT = 29512


def refine(shard, tolerance=1e-3):
    weights = shard / shard.sum()
    error = weights.sum()
    while not error < tolerance:
        weights = weights * 0.9
        error = weights.sum()
    return weights


class Trainer(Actor):
    def __init__(self):
        torch.set_num_threads(1)
        self.rank = current_rank().rank
        run_folder.record(f"trainer{self.rank}")

    @endpoint
    def connect(self) -> None:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=self.rank,
                                world_size=TRAINERS)

    @endpoint
    def hold(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    @endpoint
    def step(self) -> float:
        raw = run_folder.read(f"shard.{self.rank}")
        weights = refine(torch.frombuffer(bytearray(raw), dtype=torch.uint8).float())
        if dist.is_initialized():
            dist.all_reduce(weights)
        run_folder.count(f"trainer{self.rank}")
        return float(weights.sum())


def run_steps(trainers, steps):
    for _ in range(steps):
        sums = [each for _, each in trainers.step.call().get().items()]
        run_folder.count("controller")
        run_folder.export("summary", str(sums))
        time.sleep(0.15)


def main():
    run_folder.record("controller")
    trainers = this_host().spawn_procs(per_host={"procs": TRAINERS}).spawn("trainers", Trainer)
    if "gloo" in sys.argv:
        trainers.connect.call().get()
    if sys.argv[-1].isdigit():
        run_steps(trainers, int(sys.argv[-1]))
        if "held" in sys.argv:
            trainers.hold.broadcast()
        for line in sys.stdin:
            run_steps(trainers, int(line))
    else:
        run_steps(trainers, sys.maxsize)


if __name__ == "__main__":
    main()
