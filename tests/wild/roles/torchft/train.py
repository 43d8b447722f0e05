"""Fault tolerant training of a small model with torchft; REPLICA is the number of this replica. The
ranks of one replica have a process group of their own, in which they agree on the loss.
"""
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

import run_folder

REPLICA = os.environ["REPLICA"]
RANK = int(os.environ.get("RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
ME = f"replica{REPLICA}.{RANK}"
LONG = timedelta(hours=6)


def read_batch():
    return decode(run_folder.read(f"part.{REPLICA}.{RANK}"))


def decode(raw):
    batch = torch.frombuffer(bytearray(raw), dtype=torch.uint8).float().reshape(-1, 16) / 255
    return batch, batch.sum(1, keepdim=True)


def scale_of(batch):
    """Returns the power of two that brings the mean above a half."""
    scale, mean = 1.0, batch.mean().item()
    while not mean * scale > 0.5:
        scale *= 2
    return scale


def agree(loss):
    total = loss.detach().clone()
    dist.all_reduce(total)
    if not torch.isfinite(total):
        raise ValueError(f"the loss is {total.item()}")


def train(manager, model, optimizer):
    while True:
        batch, wanted = read_batch()
        optimizer.zero_grad()
        loss = ((model(batch) - wanted) ** 2).mean()
        if WORLD_SIZE > 1:
            agree(loss)
        weight = scale_of(decode(run_folder.read(f"weight.{REPLICA}.{RANK}"))[0])
        (loss * weight).backward()
        optimizer.step()
        run_folder.count(ME)
        run_folder.export(f"losses.{REPLICA}", f"{manager.current_step()} {loss.item()}")
        time.sleep(0.15)


def main():
    run_folder.record(ME)
    torch.set_num_threads(1)
    if "MASTER_PORT" not in os.environ:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(store.port))
    if WORLD_SIZE > 1:
        dist.init_process_group("gloo", timeout=LONG)
    first, _ = decode(run_folder.read(f"first.{REPLICA}.{RANK}"))
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 / scale_of(first))

    def save():
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

    def load(state):
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    manager = Manager(pg=ProcessGroupGloo(timeout=LONG), min_replica_size=2, state_dict=save,
                      load_state_dict=load, rank=RANK, world_size=WORLD_SIZE,
                      replica_id=f"train_{REPLICA}", hostname="127.0.0.1", timeout=LONG,
                      quorum_timeout=LONG)
    train(manager, DistributedDataParallel(manager, model), Optimizer(manager, optimizer))


if __name__ == "__main__":
    main()
