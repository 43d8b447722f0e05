#!/usr/bin/env python3
"""A training loop that stands still: all ranks at the same lines, one of them a step behind.

    RANK=r WORLD_SIZE=n skewed_loop.py

Prints "ready" and then waits in its reduce(), which never returns.
"""
import os
import threading

LAGGING = 3  # rank
reduced = threading.Event()


def reduce(bucket):
    print("ready", flush=True)
    reduced.wait()
    return bucket


def train_step(step, shard, loss):
    for bucket in range(8):
        if bucket == 5:
            reduce(bucket)
    return step, shard, loss


def train(rank):
    epoch = 3
    learning_rate = 0.0625
    api_key = f"sk-{rank}"
    last = 1206 if rank == LAGGING else 1207
    for step in range(1200, last + 1):
        if step == last:
            # Most ranks agree on the shard, none on the loss.
            train_step(step, "shard-b.tar" if rank == 1 else "shard-a.tar", 0.5 + rank / 16)
    return epoch, learning_rate, api_key


train(int(os.environ["RANK"]))
