#!/usr/bin/env python3
"""Two ranks (gloo). Rank 0 waits in many calls at once, one per thread; rank 1 takes part in none.

    RANK=0 WORLD_SIZE=2 torch_calls.py STORE      STORE: a file that does not exist yet
    RANK=1 WORLD_SIZE=2 torch_calls.py STORE

Each of rank 0's threads is in another function of this file, which identifies it; its main thread
waits in DDP's backward. Both ranks print "ready" when all groups exist, rank 0 just before its main
thread starts to wait. Both exit at end of file on stdin.
"""

import datetime
import os
import sys
import threading
import warnings

warnings.filterwarnings("ignore")

# pylint: disable=wrong-import-position
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Calls:
    """Calls that wait for ever, one thread each: rank 1 takes part in none."""

    def __init__(self, group):
        self.group = group

    def all_reduce(self):
        dist.all_reduce(torch.ones(1))

    def all_reduce_none(self):
        dist.all_reduce(torch.ones(1), dist.ReduceOp.SUM, None)

    def all_reduce_group(self):
        dist.all_reduce(torch.ones(1), group=self.group)

    def broadcast(self):
        dist.broadcast(torch.ones(1), src=1)

    def broadcast_group(self):
        dist.broadcast(torch.ones(1), 1, self.group)

    def recv(self):
        dist.recv(torch.ones(1), src=1)

    def barrier(self):
        dist.barrier()

    def object_list(self):
        dist.broadcast_object_list([None], src=1)

    def work(self):
        dist.all_reduce(torch.ones(1), async_op=True).wait()


def main():
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}",
                            rank=int(os.environ["RANK"]), world_size=2,
                            timeout=datetime.timedelta(minutes=47))
    group = dist.new_group([0, 1])
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    loss = model(torch.ones(2, 4)).sum()
    if dist.get_rank() == 1:
        print("ready", flush=True)
        sys.stdin.read()
        os._exit(0)
    calls = Calls(group)
    for name in [name for name in dir(calls) if not name.startswith("_") and name != "group"]:
        threading.Thread(target=getattr(calls, name), daemon=True).start()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    print("ready", flush=True)
    loss.backward()


if __name__ == "__main__":
    main()
