#!/usr/bin/env python3
"""One rank of a small but real data-parallel training job that can be made to hang.

    RANK=0 WORLD_SIZE=8 MASTER_ADDR=... MASTER_PORT=... train.py --data DIR --facts DIR
    srun train.py --data DIR --facts DIR         (rank and world size from SLURM)

Every rank streams its own tar shards through a DataLoader with one forked worker, and averages
gradients by hand with dist.all_reduce (gloo). One rank (--rank) leaves the common path at one step
(--at), in the way that --how names:

    input    its shard-R.tar is a FIFO without data, so the worker is stuck in read()
    lock     its worker wants a lock that a thread of the rank held when the worker was forked
    sleep    it sleeps in its own code, as if it waited for something outside the job
    skip     it runs out of data, leaves the loop, and waits in a barrier of another group
    stopped  it is stopped (it sends itself SIGSTOP)
    none     no rank hangs; the job ends by itself

Before a rank does anything that may take long, it writes what it is about to do into
FACTS/rank-R.json; a worker writes the shard it opens into FACTS/worker-R.json. Tests compare the
verdict with these files. tests/support/training_job.py makes the data and starts the job.
"""

import argparse
import datetime
import json
import os
import signal
import socket
import tarfile
import threading
import time
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")  # NumPy is not needed

# pylint: disable=wrong-import-position
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset

FEATURES = 64
BATCH = 4
INDEX_LOCK = threading.Lock()  # guards an index of shards, as data sets have one


def take_rank_from_slurm():
    """Sets what torchrun would have set; a plain `srun train.py` has only SLURM's names."""
    for ours, slurms in (("RANK", "SLURM_PROCID"), ("LOCAL_RANK", "SLURM_LOCALID"),
                         ("WORLD_SIZE", "SLURM_NTASKS")):
        if ours not in os.environ and slurms in os.environ:
            os.environ[ours] = os.environ[slurms]
    if "debian" in torch.__version__ or torch.__version__.startswith("1."):
        os.environ.setdefault("USE_LIBUV", "0")  # Debian builds PyTorch without libuv


def write_fact(fact_path, **fact):
    fact.update(pid=os.getpid(), host=socket.gethostname())
    with open(f"{fact_path}.new", "w", encoding="utf-8") as file:
        json.dump(fact, file)
    os.rename(f"{fact_path}.new", fact_path)


class TarShards(IterableDataset):
    """The samples of this rank, streamed from its shards one after the other."""

    def __init__(self, paths, fact_path):
        super().__init__()
        self.paths = paths
        self.fact_path = fact_path

    def __iter__(self):
        for path in self.paths:
            if path == self.paths[-1]:
                write_fact(self.fact_path, doing="lock", path=path)
                with INDEX_LOCK:
                    pass
            write_fact(self.fact_path, doing="read", path=path)
            yield from self.read_shard(path)

    @staticmethod
    def read_shard(path):
        with tarfile.open(path, mode="r|") as shard:  # "|": never seeks, as from a socket
            for member in shard:
                sample = bytearray(shard.extractfile(member).read())
                yield torch.frombuffer(sample, dtype=torch.float32)


def average_gradients(model, world_size):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size


def wait_for_license():
    while True:
        time.sleep(3600)


class Trainer:
    def __init__(self, options):
        self.options = options
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.odd = options.how != "none" and self.rank == options.rank
        self.evaluation_group = dist.new_group(backend="gloo")
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(FEATURES, FEATURES), torch.nn.ReLU(),
                                         torch.nn.Linear(FEATURES, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        shards = [f"{options.data}/{name}-{self.rank}.tar" for name in ("warm", "shard")]
        dataset = TarShards(shards, f"{options.facts}/worker-{self.rank}.json")
        self.loader = DataLoader(dataset, batch_size=BATCH, num_workers=1,
                                 multiprocessing_context="fork")

    def fact(self, step, doing):
        write_fact(f"{self.options.facts}/rank-{self.rank}.json", rank=self.rank, step=step,
                   doing=doing)

    def go_astray(self, step):
        """Makes the odd rank hang at its step. Returns True if it has to leave the loop."""
        how = self.options.how
        if how == "sleep":
            self.fact(step, "sleep")
            wait_for_license()
        elif how == "stopped":
            self.fact(step, "stopped")
            os.kill(os.getpid(), signal.SIGSTOP)
        return how == "skip"

    def train_step(self, step, batch):
        self.optimizer.zero_grad()
        loss = self.model(batch).square().mean()
        loss.backward()
        self.fact(step, "all_reduce")
        average_gradients(self.model, self.world_size)
        self.optimizer.step()
        return loss.item()

    def start_loader(self):
        """Forks the worker; in the odd rank, while a thread holds the lock. The thread releases it
        here, but not in the worker."""
        if not self.odd or self.options.how != "lock":
            return iter(self.loader)
        held, forked = threading.Event(), threading.Event()

        def refresh_index():
            with INDEX_LOCK:
                held.set()
                forked.wait()

        thread = threading.Thread(target=refresh_index)
        thread.start()
        held.wait()
        batches = iter(self.loader)
        forked.set()
        thread.join()
        return batches

    def train(self):
        batches = self.start_loader()
        for step in range(self.options.steps):
            if self.odd and step == self.options.at and self.go_astray(step):
                break
            self.fact(step, "next_batch")
            loss = self.train_step(step, next(batches))
            if self.rank == 0:
                print(f"step {step}: loss {loss:.4f}", flush=True)
        self.fact(step, "barrier")
        dist.barrier(group=self.evaluation_group)
        self.fact(step, "done")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--steps", type=int, default=8, help="steps of the whole job")
    parser.add_argument("--how", choices=("input", "lock", "sleep", "skip", "stopped", "none"),
                        default="input")
    parser.add_argument("--rank", type=int, default=5, help="the rank that hangs")
    parser.add_argument("--at", type=int, default=4, help="the step at which it does")
    options = parser.parse_args()
    take_rank_from_slurm()
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=30))
    if dist.get_rank() == 0 and os.environ.get("TRAIN_SAYS"):
        print(os.environ["TRAIN_SAYS"], flush=True)
    Trainer(options).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
