#!/usr/bin/env python3
"""Starts ranks of torch.distributed in ways that leave no variables to find them by.

    own_ranks.py HOW FOLDER PORT HANG      HOW: see WAYS; HANG: 1 or 0

Each rank writes its pid into FOLDER/rank.N when it has its place in the job. With HANG, rank 1 never
comes to the second barrier; else all ranks meet in one barrier after the other.
"""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time

HOW, FOLDER, PORT, HANG = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1"
ADDRESS = f"tcp://{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{PORT}"


def say(what):
    path = os.path.join(FOLDER, what)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)


def work(rank, world, method=ADDRESS):
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    if method == "env://":
        dist.init_process_group("gloo", rank=rank, world_size=world)
    else:
        dist.init_process_group("gloo", init_method=method, rank=rank, world_size=world)
    dist.barrier()
    say(f"rank.{rank}")
    wait_in_barriers(dist, rank)


def wait_in_barriers(dist, rank):
    while HANG and rank == 1:
        signal.pause()
    while True:
        dist.barrier()
        time.sleep(0.05)


def late_work(rank, world):
    """Rank 1 never comes to the making of the group."""
    if rank == 1:
        say(f"rank.{rank}")
        while True:
            signal.pause()
    say(f"rank.{rank}")
    work(rank, world)


def write_title(title):
    """Overwrites the arguments and the environment as the kernel shows them, as setproctitle does."""
    for name, value in os.environ.items():
        os.putenv(name, value)  # libc now has copies of its own
    with open("/proc/self/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[48])  # arg_start, env_end
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, title.encode(), len(title))


def spawn():
    import torch.multiprocessing as mp  # pylint: disable=import-outside-toplevel
    mp.spawn(work, (3,), nprocs=3)


def late():
    import torch.multiprocessing as mp  # pylint: disable=import-outside-toplevel
    mp.spawn(late_work, (3,), nprocs=3)


def fork():
    """As in a notebook; each rank has a worker of its own, which is none."""
    import torch.distributed  # pylint: disable=import-outside-toplevel,unused-import
    context = multiprocessing.get_context("fork")

    def with_worker(rank):
        import torch.distributed as dist  # pylint: disable=import-outside-toplevel
        dist.init_process_group("gloo", init_method=ADDRESS, rank=rank, world_size=2)
        context.Process(target=signal.pause).start()
        dist.barrier()
        say(f"rank.{rank}")
        wait_in_barriers(dist, rank)
    for rank in range(2):
        context.Process(target=with_worker, args=(rank,)).start()
    signal.pause()


def script():
    """The first rank has no variables, sets some, and starts the others, which lack RANK."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), WORLD_SIZE="2")
    children = []
    if local == 0:
        children.append(subprocess.Popen([sys.executable, *sys.argv],  # pylint: disable=R1732
                                         env={**os.environ, "LOCAL_RANK": "1", "NODE_RANK": "0"}))
    work(local, 2, "env://")


def title():
    """Each of two ranks is started with variables, and hides them; the group is not made yet."""
    write_title("engine: worker")
    say(f"rank.{os.environ['RANK']}")
    import torch.distributed  # pylint: disable=import-outside-toplevel,unused-import
    say(f"ready.{os.environ['RANK']}")
    signal.pause()


def title_group():
    write_title("engine: worker")
    work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://")


def tasks():
    """One of two tasks of SLURM: starts two ranks itself."""
    import torch.distributed  # pylint: disable=import-outside-toplevel,unused-import
    task = int(os.environ["SLURM_PROCID"])
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=work, args=(2 * task + i, 4)) for i in range(2)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()


def reversed_ranks():
    """The launcher's numbers are not those of the group."""
    work(1 - int(os.environ["OMPI_COMM_WORLD_RANK"]), 2)


WAYS = {"spawn": spawn, "late": late, "fork": fork, "script": script, "title": title,
        "title_group": title_group, "tasks": tasks, "reversed": reversed_ranks}

if __name__ == "__main__":
    WAYS[HOW]()
