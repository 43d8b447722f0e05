#!/usr/bin/env python3
"""Eight ranks (gloo) of a job that is parallel in several dimensions. One rank stands still, and the
others end up waiting in groups of several sizes.

    RANK=r WORLD_SIZE=8 MASTER_ADDR=... parallel_job.py --facts DIR [--how megatron|mesh|plain|p2p]

Tensor groups {0-3}, {4-7}; data groups {0,4}, {1,5}, {2,6}, {3,7}; pipeline groups {0,1}, {2,3},
{4,5}, {6,7}. In each step a rank reduces in its tensor group, then broadcasts in its pipeline group
from the lower rank, then reduces in its data group. In step 2 rank 5 sleeps before all of them.

--how says where the groups are kept, for a reader from outside to find. "megatron": in the globals
of a module called megatron.core.parallel_state; "mesh": in a DeviceMesh; "plain": in locals. "p2p":
a pipeline 0 -> 1 -> ... -> 7 with batches of sends and receives; rank 5 sleeps in step 2.

If TORCH_WORKER_SERVER_SOCKET is set, each rank serves PyTorch's control plane there.

Each rank writes DIR/rank-R.json {pid, step, doing} before it does what it wrote, and exits at end of
file on stdin.
"""

import argparse
import datetime
import json
import os
import sys
import threading
import time
import types
import warnings

warnings.filterwarnings("ignore")

# pylint: disable=wrong-import-position
import torch
import torch.distributed as dist

STUCK, AT = 5, 2


class Facts:
    def __init__(self, directory, rank):
        self.path = f"{directory}/rank-{rank}.json"

    def say(self, step, doing):
        with open(f"{self.path}.new", "w", encoding="utf-8") as file:
            json.dump({"pid": os.getpid(), "step": step, "doing": doing}, file)
        os.replace(f"{self.path}.new", self.path)


def make_groups(rank):
    """Returns this rank's {"tp": group, "pp": group, "dp": group}; calls new_group for all groups."""
    layout = {
        "tp": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "pp": [[0, 1], [2, 3], [4, 5], [6, 7]],
        "dp": [[0, 4], [1, 5], [2, 6], [3, 7]],
    }
    mine = {}
    for name, all_ranks in layout.items():
        for ranks in all_ranks:
            group = dist.new_group(ranks)
            if rank in ranks:
                mine[name] = group
    return mine


def keep_as_megatron(groups):
    module = types.ModuleType("megatron.core.parallel_state")
    module._TENSOR_MODEL_PARALLEL_GROUP = groups["tp"]
    module._PIPELINE_MODEL_PARALLEL_GROUP = [groups["pp"]]
    module._DATA_PARALLEL_GROUP = groups["dp"]
    sys.modules["megatron.core.parallel_state"] = module
    return module


def stand_still(facts, step):
    facts.say(step, "sleep")
    while True:
        time.sleep(3600)


def step_of(facts, step, rank, tp, pp, dp):
    tensor = torch.ones(4)
    facts.say(step, "tp")
    dist.all_reduce(tensor, group=tp)
    facts.say(step, "pp")
    dist.broadcast(tensor, src=rank - rank % 2, group=pp)
    facts.say(step, "dp")
    dist.all_reduce(tensor, group=dp)


def run_plain(facts, rank, groups):
    step = 0
    while True:
        if rank == STUCK and step == AT:
            stand_still(facts, step)
        step_of(facts, step, rank, groups["tp"], groups["pp"], groups["dp"])
        step += 1


def run_mesh(facts, rank):
    mesh = dist.device_mesh.init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    step = 0
    while True:
        if rank == STUCK and step == AT:
            stand_still(facts, step)
        facts.say(step, "tp")
        dist.all_reduce(torch.ones(4), group=mesh.get_group("tp"))
        facts.say(step, "dp")
        dist.all_reduce(torch.ones(4), group=mesh["dp"].get_group())
        step += 1


def pass_on(facts, step, rank, group):
    """Receives from the previous stage, then sends to the next: one batch each."""
    if rank > 0:
        facts.say(step, "recv")
        ops = [dist.P2POp(dist.irecv, torch.zeros(4), rank - 1, group)]
        for request in dist.batch_isend_irecv(ops):
            request.wait()
    if rank < dist.get_world_size() - 1:
        facts.say(step, "send")
        ops = [dist.P2POp(dist.isend, torch.ones(4), rank + 1, group)]
        for request in dist.batch_isend_irecv(ops):
            request.wait()


def run_p2p(facts, rank):
    group = dist.new_group(list(range(8)))
    step = 0
    while True:
        if rank == STUCK and step == AT:
            stand_still(facts, step)
        pass_on(facts, step, rank, group)
        step += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", required=True)
    parser.add_argument("--how", default="plain")
    options = parser.parse_args()
    rank = int(os.environ["RANK"])
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=1))
    facts = Facts(options.facts, rank)
    socket_path = os.environ.get("TORCH_WORKER_SERVER_SOCKET")
    server = torch._C._distributed_c10d._WorkerServer(socket_path) if socket_path else None
    if options.how == "mesh":
        run_mesh(facts, rank)
    elif options.how == "p2p":
        run_p2p(facts, rank)
    else:
        groups = make_groups(rank)
        module = keep_as_megatron(groups) if options.how == "megatron" else None
        run_plain(facts, rank, groups)
        del module
    del server


if __name__ == "__main__":
    main()
