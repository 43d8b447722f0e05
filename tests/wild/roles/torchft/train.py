"""Fault tolerant training of a small model with torchft; REPLICA is the number of this replica."""
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
    raw = run_folder.read(f"part.{REPLICA}.{RANK}")
    batch = torch.frombuffer(bytearray(raw), dtype=torch.uint8).float().reshape(-1, 16) / 255
    return batch, batch.sum(1, keepdim=True)


def train(manager, model, optimizer):
    while True:
        batch, wanted = read_batch()
        optimizer.zero_grad()
        loss = ((model(batch) - wanted) ** 2).mean()
        loss.backward()
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
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

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
