"""Three actors in a group of gloo, each with a thread that loads."""
import queue
import threading
import time

import ray
import torch
import torch.distributed as dist

import node
import run_folder

TRAINERS = 3
PORT = 29512


@ray.remote
class Trainer:
    def __init__(self, rank):
        self.rank = rank
        self.batches = queue.Queue(maxsize=4)
        torch.set_num_threads(1)
        run_folder.record(f"trainer{rank}")

    def connect(self):
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=self.rank,
                                world_size=TRAINERS)
        threading.Thread(target=self.load_batches, name="loader", daemon=True).start()

    def load_batches(self):
        while any(raw := run_folder.read(f"shard.{self.rank}")):
            self.batches.put(torch.frombuffer(bytearray(raw), dtype=torch.uint8).float())

    def step(self):
        mean = self.batches.get().mean().reshape(1)
        dist.all_reduce(mean)
        run_folder.count(f"trainer{self.rank}")
        return float(mean)


def main():
    node.start()
    trainers = [Trainer.remote(rank) for rank in range(TRAINERS)]
    ray.get([each.connect.remote() for each in trainers])
    while True:
        ray.get([each.step.remote() for each in trainers])
        run_folder.count("driver")
        time.sleep(0.15)


if __name__ == "__main__":
    main()
