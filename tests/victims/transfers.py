"""Three gloo jobs of four ranks whose requests (isend, irecv) do not end.

pipeline: each rank passes on what it has received; rank 1 sleeps instead.
circle:   each rank waits for a message of the next one.
tags:     rank 1 receives with another tag than rank 0 sends with; the others wait for rank 1.

Prints one line, a JSON object of each job's port and pids. At end of file on stdin it ends them.
"""
import datetime
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

WORLD = 4
LIMIT = datetime.timedelta(seconds=600)


def pipeline(rank):
    data = torch.ones(4)
    if rank > 0:
        dist.irecv(data, src=rank - 1).wait()
    if rank == 1:
        time.sleep(10000)
    if rank + 1 < WORLD:
        dist.isend(data, dst=rank + 1).wait()
    dist.irecv(data, src=WORLD - 1).wait()


def circle(rank):
    data = torch.ones(4)
    request = dist.irecv(data, src=(rank + 1) % WORLD)
    request.wait()


def tags(rank):
    data = torch.ones(4)
    if rank == 0:
        dist.isend(data, dst=1, tag=4).wait()
    dist.irecv(data, src=0 if rank == 1 else 1, tag=5).wait()


def start(job, port):
    pids = []
    for rank in range(WORLD):
        pid = os.fork()
        if pid == 0:
            os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD), LOCAL_WORLD_SIZE=str(WORLD),
                              LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            dist.init_process_group("gloo", timeout=LIMIT)
            job(rank)
            os._exit(0)
        pids.append(pid)
    return {"port": port, "pids": pids}


jobs = {job.__name__: start(job, int(port)) for job, port in zip((pipeline, circle, tags), sys.argv[1:])}
print(json.dumps(jobs), flush=True)
sys.stdin.read()
for started in jobs.values():
    for child in started["pids"]:
        os.kill(child, signal.SIGKILL)
