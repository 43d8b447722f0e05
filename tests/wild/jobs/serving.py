"""An engine that serves a model, as vLLM and SGLang are built: serving.py ipc|tcp PORT

A front sends requests over ZeroMQ to an engine, which hands each to its two workers through a ring in
shared memory and gets their answers through rings; the workers have a gloo group. The engine and the
workers have titles. WHO (worker or engine) stands, or rank 1 of the workers.
"""
import multiprocessing
import os
import sys
import time
from multiprocessing import shared_memory

import place

WORKERS = 2
STEPS = 5
WHO = os.environ.get("WHO", "worker")


class Ring:
    """A writer fills a slot when all readers have read it; everybody polls the flags of the slots."""
    SLOTS = 4

    def __init__(self, name, readers, create=False):
        self.memory = shared_memory.SharedMemory(name, create=create, size=self.SLOTS * 16)
        self.readers = readers
        self.next = 0

    def slot(self):
        self.next = (self.next + 1) % self.SLOTS
        return self.next * 16

    def enqueue(self, value):
        slot, flags = self.slot(), self.memory.buf
        while flags[slot] == 1 and sum(flags[slot + 1:slot + 1 + self.readers]) < self.readers:
            time.sleep(0.0005)
        flags[slot] = 0
        flags[slot + 1:slot + 1 + self.readers] = bytes(self.readers)
        flags[slot + 15] = value
        flags[slot] = 1

    def dequeue(self, reader):
        slot, flags = self.slot(), self.memory.buf
        while flags[slot] != 1 or flags[slot + 1 + reader] == 1:
            time.sleep(0.0005)
        flags[slot + 1 + reader] = 1
        return flags[slot + 15]


def stands(who, step):
    return place.HANG and who == WHO and step == STEPS


def worker(rank, port, names):
    import setproctitle  # pylint: disable=import-outside-toplevel
    setproctitle.setproctitle(f"VLLM::Worker_TP{rank}")
    import torch  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                            world_size=WORKERS)
    requests, answers = Ring(names[0], WORKERS), Ring(names[1 + rank], 1)
    step = 0
    while True:
        requests.dequeue(rank)
        step += 1
        if step == STEPS - 1:
            place.say(rank)
        if stands("worker", step) and rank == 1:
            place.stand()
        dist.all_reduce(torch.ones(8))
        answers.enqueue(step % 256)


def engine(port, endpoint):
    import setproctitle  # pylint: disable=import-outside-toplevel
    import zmq  # pylint: disable=import-outside-toplevel
    setproctitle.setproctitle("VLLM::EngineCore")
    context = multiprocessing.get_context("spawn")
    names = [f"{os.path.basename(place.FOLDER)}-{number}" for number in range(1 + WORKERS)]
    rings = [Ring(name, WORKERS if number == 0 else 1, True) for number, name in enumerate(names)]
    for rank in range(WORKERS):
        context.Process(target=worker, args=(rank, port, names)).start()
    sockets = zmq.Context()
    requests = sockets.socket(zmq.PULL)
    requests.connect(endpoint + "0")
    answers = sockets.socket(zmq.PUSH)
    answers.connect(endpoint + "1")
    step = 0
    while True:
        requests.recv()
        step += 1
        if step == STEPS - 1:
            place.say("engine")
        if stands("engine", step):
            place.stand()
        rings[0].enqueue(step % 256)
        for ring in rings[1:]:
            ring.dequeue(0)
        answers.send(b"done")


def main():
    import zmq  # pylint: disable=import-outside-toplevel
    port = int(sys.argv[2])
    endpoint = (f"ipc://{place.FOLDER}/z" if sys.argv[1] == "ipc" else f"tcp://127.0.0.1:{port + 3}")
    context = multiprocessing.get_context("spawn")
    sockets = zmq.Context()
    requests, answers = sockets.socket(zmq.PUSH), sockets.socket(zmq.PULL)
    requests.bind(endpoint + "0")
    answers.bind(endpoint + "1")
    context.Process(target=engine, args=(port, endpoint)).start()
    step = 0
    while True:
        step += 1
        if step == STEPS - 1:
            place.say("front")
        requests.send(b"go")
        answers.recv()


if __name__ == "__main__":
    main()
