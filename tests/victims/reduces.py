"""A rank (gloo) that makes the same call again and again: `reduces.py FOLDER CALL FLOATS`. It writes the
number of the step to FOLDER/step.RANK before each call.

CALL: all_reduce, broadcast (from rank 0), all_gather, barrier, ring (each rank sends to the next one and
receives from the one before), store (rank 0 sets a key for which the others wait).

While FOLDER/sleeps.RANK exists, the rank sleeps before its call.
"""

import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")

# pylint: disable=wrong-import-position
import torch
import torch.distributed as dist

FOLDER, CALL, FLOATS = sys.argv[1], sys.argv[2], int(sys.argv[3])
PAUSE_S = 0.05
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(str(text))
    os.rename(path + ".new", path)


def ring():
    sent = dist.isend(tensor, (RANK + 1) % SIZE)
    dist.recv(torch.empty(FLOATS), (RANK - 1) % SIZE)
    sent.wait()


def store():
    kept = dist.distributed_c10d._get_default_store()
    if RANK == 0:
        kept.set(f"step {step}", "done")
    else:
        kept.wait([f"step {step}"])
    dist.barrier()


CALLS = {
    "all_reduce": lambda: dist.all_reduce(tensor),
    "broadcast": lambda: dist.broadcast(tensor, 0),
    "all_gather": lambda: dist.all_gather([torch.empty(FLOATS) for _ in range(SIZE)], tensor),
    "barrier": dist.barrier,
    "ring": ring,
    "store": store,
}

dist.init_process_group("gloo")
tensor = torch.ones(FLOATS)
step = 0
while True:
    step += 1
    write(f"step.{RANK}", step)
    if os.path.exists(os.path.join(FOLDER, f"sleeps.{RANK}")):
        time.sleep(10**6)
    CALLS[CALL]()
    time.sleep(PAUSE_S)
