"""Three ranks by multiprocessing, each with a forked child; rank 1 is killed, and its child lives on."""
import multiprocessing
import os
import signal
import sys
import time

import place


def work(rank, port):
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=3)
    multiprocessing.get_context("fork").Process(target=signal.pause).start()
    dist.barrier()
    place.say(rank)
    if place.HANG and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while place.HANG:
        signal.pause()
    while True:
        dist.barrier()
        time.sleep(0.1)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    for each in range(3):
        context.Process(target=work, args=(each, sys.argv[1])).start()
    signal.pause()
