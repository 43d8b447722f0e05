"""A rank of torch whose main thread waits in an event loop, and whose worker does the collectives.

    woken_loop.py FOLDER WAY

The worker wakes the loop by WAY: a pipe, a pair of sockets (socketpair) or a counter (eventfd). The
worker of rank 1 ends one call before those of the others, and its loop waits for good. Each rank
writes its worker's thread id into FOLDER/rank.N before the last call.
"""

import os
import select
import socket
import sys
import threading

import torch
import torch.distributed as dist

CALLS = 3


def make_waker(way):
    if way == "pipe":
        return os.pipe()
    if way == "socketpair":
        return [end.detach() for end in socket.socketpair()]
    counter = os.eventfd(0)
    return counter, counter


def work(folder, waker):
    rank = dist.get_rank()
    for step in range(CALLS):
        if step == CALLS - 1:
            with open(os.path.join(folder, f"new.{rank}"), "w", encoding="utf-8") as file:
                file.write(str(threading.get_native_id()))
            os.rename(file.name, os.path.join(folder, f"rank.{rank}"))
            if rank == 1:
                return
        dist.all_reduce(torch.ones(1))
    os.write(waker, b"\1" * 8)


def main():
    folder, way = sys.argv[1:]
    dist.init_process_group("gloo")
    woken, waker = make_waker(way)
    loop = select.epoll()
    loop.register(woken, select.EPOLLIN)
    with socket.create_server(("127.0.0.1", 0)) as idle:
        loop.register(idle, select.EPOLLIN)
        threading.Thread(target=work, args=(folder, waker)).start()
        loop.poll()


if __name__ == "__main__":
    main()
