#!/usr/bin/env python3
"""Jobs of NCCL that hang on one GPU: each function is what every rank of a job runs. JOBS says how many
ranks a job has, which of them hold it up, and what else may be said of it. run_jobs.py runs them.

    nccl_jobs.py NAME           with RANK, WORLD_SIZE, ..., and SAYS, the folder in which ranks say
                                how far they are: rankN before the last call, stillN inside of it

Device "cpu" (JOB_DEVICE) runs those that can hang so, with gloo.
"""

import ctypes
import dataclasses
import os
import queue
import sys
import threading
import time

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
DEVICE = os.environ.get("JOB_DEVICE", "cuda")
CUDA = DEVICE == "cuda"
STILL_S = 3.0  # a main thread that is in the same functions for so long has come to its last call
JOBS = {}


@dataclasses.dataclass
class Job:
    run: object
    ranks: int
    roots: tuple          # the ranks that hold the job up; () if none does, or if it cannot be known
    kinds: tuple          # of the verdict; (): any that names the roots
    environment: dict
    backend: str
    cuda_only: bool
    ends: tuple           # ranks that end
    mute: tuple           # ranks that cannot say that they are still
    moves: bool           # nothing is ever still


def job(ranks=3, roots=(1,), kinds=(), backend="nccl", cuda_only=False, ends=(), mute=(), moves=False,
        **environment):
    def add(run):
        JOBS[run.__name__] = Job(run, ranks, roots, kinds, environment, backend, cuda_only, ends, mute, moves)
        return run
    return add


def say(what):
    path = os.path.join(os.environ["SAYS"], f"{what}{RANK}")
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)


def watch():
    """Says when the main thread stays in the same functions."""
    main, known, since = threading.main_thread().ident, None, time.monotonic()
    while known is None or time.monotonic() - since < STILL_S:
        frame, place = sys._current_frames().get(main), []
        while frame is not None:
            place.append(frame.f_code)
            frame = frame.f_back
        if place != known:
            known, since = place, time.monotonic()
        time.sleep(0.05)
    say("still")


def last():
    """Says that this rank is before the call that hangs."""
    if not os.path.exists(os.path.join(os.environ["SAYS"], f"rank{RANK}")):
        say("rank")
        threading.Thread(target=watch, daemon=True, name="watch").start()


def ones(count=1024):
    return torch.ones(count, device=DEVICE)


def finish():
    if CUDA:
        torch.cuda.synchronize()


def steady(steps=4):
    for _ in range(steps):
        total = ones()
        dist.all_reduce(total)
        finish()


def read_sum(group=None):
    """The collective returns at once; the value that is read afterwards waits for it."""
    total = ones()
    dist.all_reduce(total, group=group)
    total.sum().item()


def wait_forever():
    queue.Queue().get()


def open_fifo(name):
    path = f"{os.environ['SAYS']}/{name}{RANK}"
    os.mkfifo(path)
    last()
    with open(path, encoding="ascii") as file:
        file.read()


@job()
def left_out():
    steady()
    for step in range(5):
        total = ones()
        if step == 4:
            last()
        if (RANK, step) != (1, 2):
            dist.all_reduce(total)
            total.sum().item()
    wait_forever()


class Rows:
    def __len__(self):
        return 64

    def __getitem__(self, index):
        if index >= 8 and RANK == 2:
            time.sleep(10**6)
        return torch.ones(16)


@job(roots=(2,))
def late_loader():
    loader = torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=1, prefetch_factor=1, pin_memory=CUDA)
    for step, batch in enumerate(loader):
        if step == 1:
            last()
        total = batch.to(DEVICE).sum()
        dist.all_reduce(total)
        total.item()


@job(roots=(1,))
def late_to_barrier():
    steady()
    if RANK == 1:
        open_fifo("answers")
    last()
    dist.barrier()


@job(roots=(1,))
def other_order():
    one, two = dist.new_group(list(range(WORLD))), dist.new_group(list(range(WORLD)))
    for step in range(6):
        if step == 4:
            last()
        for group in (two, one) if (RANK, step) == (1, 4) else (one, two):
            read_sum(group)


@job(roots=(1,))
def other_kind():
    steady()
    last()
    total = ones(3 * 1024)
    if RANK == 1:
        dist.all_gather_into_tensor(total, ones(1024))
    else:
        dist.all_reduce(total)
    finish()
    wait_forever()


@job(roots=(1,), cuda_only=True)
def other_size():
    steady()
    last()
    total = ones(1 << (8 if RANK == 1 else 22))
    dist.all_reduce(total)
    total.sum().item()
    wait_forever()


# The host has done the same on all ranks: that only one device does not go on is not to be seen.
@job(roots=(), kinds=("below_host",), cuda_only=True)
def behind_kernel():
    steady()
    if RANK == 1:
        torch.cuda._sleep(1 << 62)
    last()
    read_sum()


@job(roots=(1,), cuda_only=True)
def kernel_before_call():
    steady()
    last()
    if RANK == 1:
        torch.cuda._sleep(1 << 62)
        torch.cuda.synchronize()
    read_sum()


@job(roots=(1,))
def busy_with_matrices():
    steady()
    last()
    values = torch.eye(512, device=DEVICE)
    while RANK == 1:
        values = values @ values
        if values.sum().item() < 0:
            break
    read_sum()


@job(roots=(0,))
def busy_in_python():
    steady()
    last()
    count = 0
    while RANK == 0:
        count = (count * 3 + 1) % 1000003
    read_sum()


@job(ranks=4, roots=(2,))
def pipeline():
    for step in range(4):
        value = ones()
        if step == 2:
            last()
        if RANK > 0:
            dist.recv(value, RANK - 1)
            finish()
        if RANK == 2 and step == 2:
            wait_forever()
        if RANK < WORLD - 1:
            dist.send(value, RANK + 1)
            finish()
    wait_forever()


@job(ranks=4, roots=(0, 1))
def crossed_receives():
    value = ones()
    steady()
    if RANK < 2:  # the communicator of these two is there before
        dist.send(value, 1 - RANK) if RANK == 0 else dist.recv(value, 1 - RANK)
        finish()
    last()
    if RANK < 2:
        dist.recv(value, 1 - RANK)
        finish()
        dist.send(value, 1 - RANK)
    dist.all_reduce(value)
    value.sum().item()


@job(ranks=4, roots=(2,))
def first_transfer():
    # The first transfer between two ranks makes a communicator, to which nobody else has to come.
    steady()
    last()
    if RANK == 0:
        dist.send(ones(), 1)
    elif RANK == 1:
        dist.recv(ones(), 0)
    elif RANK == 3:
        dist.recv(ones(), 2)
        finish()
    wait_forever()


@job(ranks=4, roots=(3,))
def grid():
    inner = [dist.new_group([0, 1]), dist.new_group([2, 3])][RANK // 2]
    outer = [dist.new_group([0, 2]), dist.new_group([1, 3])][RANK % 2]
    for step in range(5):
        if step == 3:
            last()
            if RANK == 3:
                wait_forever()
        total = ones()
        dist.all_reduce(total, group=inner)
        total.sum().item()
        dist.all_reduce(total, group=outer)
        total.sum().item()


def layers():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    return model.to(DEVICE)


@job(roots=(1,))
def skipped_backward():
    model = torch.nn.parallel.DistributedDataParallel(layers())
    for step in range(6):
        loss = model(torch.randn(16, 64, device=DEVICE)).sum()
        if step == 4:
            last()
        if (RANK, step) == (1, 3):
            continue
        loss.backward()
        loss.item()
    finish()
    last()
    dist.barrier()
    wait_forever()


@job(roots=(0,), cuda_only=True, mute=(0,))
def one_saves():
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    model = layers()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    for _ in range(3):
        model(torch.randn(16, 64, device="cuda")).sum().backward()
    finish()
    last()
    if RANK == 0:
        state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        torch.save(state, f"{os.environ['SAYS']}/model.pt")
    dist.barrier()


@job(roots=(2,), cuda_only=True, ends=(2,), TORCH_NCCL_ASYNC_ERROR_HANDLING="0")
def one_ends():
    steady()
    last()
    if RANK == 2:
        os._exit(0)
    read_sum()


@job(roots=(2,))
def first_call():
    last()
    if RANK == 2:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    read_sum()


@job(roots=(1,))
def new_group():
    steady()
    last()
    if RANK == 1:
        threading.Event().wait()
    dist.new_group(list(range(WORLD)))
    wait_forever()


@job(roots=(0,))
def objects():
    steady()
    last()
    if RANK == 0:
        wait_forever()
    found = [None] * WORLD
    dist.all_gather_object(found, {"rank": RANK})


@job(roots=(1,), mute=(1,))
def holds_gil():
    steady()
    last()
    if RANK == 1:
        ctypes.PyDLL(None).sleep(10**6)
    read_sum()


@job(roots=(1,), TORCH_NCCL_BLOCKING_WAIT="1")
def blocking_wait():
    steady()
    last()
    if RANK == 1:
        time.sleep(10**6)
    dist.all_reduce(ones())
    wait_forever()


@job(roots=(1,), TORCH_NCCL_USE_COMM_NONBLOCKING="1")
def nonblocking():
    steady()
    last()
    if RANK == 1:
        time.sleep(10**6)
    read_sum()


@job(roots=(2,), cuda_only=True)
def graph():
    total = ones()
    steady()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        dist.all_reduce(total)
    for step in range(6):
        if step == 5:
            last()
            if RANK == 2:
                wait_forever()
        recorded.replay()
        torch.cuda.synchronize()


@job(ranks=4, roots=(1,))
def ring():
    steady()
    for step in range(4):
        if step == 3:
            last()
            if RANK == 1:
                wait_forever()
        mine, other = ones(), ones()
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, (RANK + 1) % WORLD),
                                            dist.P2POp(dist.irecv, other, (RANK - 1) % WORLD)]):
            work.wait()
        finish()
    wait_forever()


@job(roots=(2,), mute=(2,))
def saves_into_fifo():
    steady()
    total = ones(1 << 16)
    if RANK == 2:
        path = f"{os.environ['SAYS']}/model"
        os.mkfifo(path)
        last()
        torch.save(total, path)
    last()
    work = dist.all_reduce(total, async_op=True)
    work.wait()
    finish()


@job(roots=(1,), cuda_only=True)
def destroys():
    steady()
    last()
    try:
        if RANK == 1:
            raise RuntimeError("out of memory")
        read_sum()
    finally:
        dist.destroy_process_group()
        wait_forever()


@job(roots=(0,), backend="cpu:gloo,cuda:nccl", cuda_only=True)
def two_backends():
    steady()
    last()
    if RANK == 0:
        dist.all_reduce(torch.ones(4))
    read_sum()
    wait_forever()


@job(roots=(), kinds=("below_host",), cuda_only=True)
def side_stream():
    # The call waits on the device for a stream that does not go on; the host is far ahead of it.
    steady()
    side = torch.cuda.Stream()
    if RANK == 2:
        with torch.cuda.stream(side):
            torch.cuda._sleep(1 << 62)
        torch.cuda.current_stream().wait_stream(side)
    last()
    for _ in range(3):
        dist.all_reduce(ones())
    torch.cuda.synchronize()


@job(roots=(1,))
def prefetch():
    # Rank 1 waits for a thread of its own; the hosts of the others are many calls ahead of their devices.
    steady()
    last()
    if RANK == 1:
        done = threading.Event()
        threading.Thread(target=lambda: (time.sleep(10**6), done.set()), name="prefetch", daemon=True).start()
        done.wait()
    for _ in range(20):
        dist.all_reduce(ones())
    dist.barrier()


def late(rank):
    """The others ask for a value behind a collective that this rank does not call."""
    steady()
    ones().sum().item()
    last()
    if RANK == rank:
        wait_forever()
    read_sum()


@job(roots=(1,), TORCH_FR_BUFFER_SIZE="0", TORCH_NCCL_TRACE_BUFFER_SIZE="0")
def no_recorder():
    late(1)


@job(roots=(2,), TORCH_FR_BUFFER_SIZE="0", TORCH_NCCL_TRACE_BUFFER_SIZE="0", NCCL_RAS_ENABLE="0")
def no_recorder_no_ras():
    late(2)


@job(roots=(1,), cuda_only=True)
def blocking_sync():
    # The driver sleeps while it waits.
    late(1)


@job(roots=(1,), cuda_only=True)
def split():
    # One rank is late to a communicator that is split off another one.
    steady()
    last()
    if RANK == 1:
        wait_forever()
    dist.split_group(split_ranks=[list(range(WORLD))])
    wait_forever()


@job(roots=(0,), cuda_only=True)
def frees_memory():
    # The others need memory that the allocator gives back only when the device stands.
    steady()
    kept = torch.empty(1 << 28, device="cuda")
    del kept
    last()
    if RANK == 0:
        wait_forever()
    dist.all_reduce(ones())
    torch.cuda.empty_cache()
    wait_forever()


@job(roots=(2,), cuda_only=True)
def copies_to_host():
    steady()
    there = torch.empty(1024, pin_memory=True)
    copied = torch.cuda.Event()
    last()
    if RANK == 2:
        open_fifo("host")
    total = ones()
    dist.all_reduce(total)
    there.copy_(total, non_blocking=True)
    copied.record()
    while not copied.query():
        time.sleep(0.001)


@job(roots=(1,))
def scatters():
    steady()
    last()
    if RANK == 1:
        wait_forever()
    part = ones(1024)
    dist.reduce_scatter_tensor(part, ones(1024 * WORLD))
    part.cpu()


@job(roots=(1,), cuda_only=True)
def in_backward():
    # A hook reads a value in autograd's thread.
    model = layers()
    def reduce(gradient):
        dist.all_reduce(gradient)
        gradient.sum().item()
        return gradient
    for parameter in model.parameters():
        parameter.register_hook(reduce)
    for step in range(4):
        if step == 3:
            last()
            if RANK == 1:
                wait_forever()
        model(torch.randn(16, 64, device="cuda")).sum().backward()


@job(ranks=4, roots=(3,))
def uneven():
    steady()
    last()
    sizes = [256] * WORLD
    if RANK == 3:
        wait_forever()
    given, taken = ones(256 * WORLD), ones(256 * WORLD)
    dist.all_to_all_single(taken, given, sizes, sizes)
    finish()
    wait_forever()


@job(roots=(), kinds=("healthy",), moves=True)
def healthy():
    last()
    model = torch.nn.parallel.DistributedDataParallel(layers())
    while True:
        loss = model(torch.randn(16, 64, device=DEVICE)).sum()
        loss.backward()
        loss.item()


@job(roots=(2,), kinds=("slow",), moves=True)
def straggler():
    last()
    while True:
        if RANK == 2:
            time.sleep(0.3)
        read_sum()


@job(ranks=1, roots=(), moves=True)
def steps():
    # For perturb.py: the times of all steps, in nanoseconds.
    values = torch.randn(2048, 2048, device=DEVICE)
    last()
    with open(f"{os.environ['SAYS']}/steps{RANK}", "w", encoding="ascii") as file:
        while True:
            began = time.monotonic_ns()
            total = (values @ values).sum()
            dist.all_reduce(total)
            total.item()
            file.write(f"{began} {time.monotonic_ns() - began}\n")
            file.flush()


def main():
    chosen, options = JOBS[sys.argv[1]], {}
    if CUDA:
        if sys.argv[1] == "blocking_sync":
            ctypes.CDLL("libcudart.so.13").cudaSetDeviceFlags(4)  # cudaDeviceScheduleBlockingSync
        torch.cuda.set_device(0)
        if sys.argv[1] == "split":
            options["device_id"] = torch.device("cuda:0")
    dist.init_process_group(chosen.backend if CUDA else "gloo", **options)
    chosen.run()


if __name__ == "__main__":
    import torch
    import torch.distributed as dist
    import torch.utils.data
    main()
