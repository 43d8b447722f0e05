#!/usr/bin/env python3
"""One rank of a hung job, with as many threads as real ranks have, a hundred: pools of idle OpenMP
threads, gloo's own, and a few Python threads with some frames each. Rank 3 sleeps in its input pipeline; the
others wait for it in all_reduce. Prints "ready" just before it blocks."""

import os
import threading
import time
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")  # NumPy is not needed

# pylint: disable=wrong-import-position
import torch
import torch.distributed as dist

PYTHON_THREADS = 20
FRAMES = 15


def fetch_from_storage():
    while True:
        time.sleep(3600)


def next_batch():
    fetch_from_storage()


def background(depth, event):
    if depth > 0:
        background(depth - 1, event)
    else:
        event.wait()


def main():
    torch.set_num_threads(int(os.environ.get("BENCH_THREADS", "39")))
    matrix = torch.ones(1 << 20)
    (matrix * 2 + 1).sum()  # the first work starts the pool
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    never = threading.Event()
    for _ in range(PYTHON_THREADS):
        threading.Thread(target=background, args=(FRAMES, never), daemon=True).start()
    print("ready", flush=True)
    if dist.get_rank() == 3:
        next_batch()
    dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    main()
