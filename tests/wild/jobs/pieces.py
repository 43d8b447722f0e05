"""Ranks of gloo, each of which does one thing with a library before every all_reduce: pieces.py NAME

RANK, WORLD_SIZE and MASTER_* come from the environment. In a hung job, rank 1's worker, child, server
or stage stands for good within that thing, or somebody outside of the job does.
"""
import fcntl
import functools
import http.client
import http.server
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

import place

NAME = sys.argv[1]
RANK = int(os.environ.get("RANK", "-1"))
FOLDER = place.FOLDER
STEPS = 5
step = 0  # pylint: disable=invalid-name
kept = []  # what must live as long as the rank


def told():
    """Whether this is the moment at which rank 1 comes to stand."""
    return place.HANG and RANK == 1 and step == STEPS


def work(stands):
    """What a worker does; it inherits or gets nothing but its argument."""
    if stands:
        place.stand()
    return 1


def pool():
    import multiprocessing  # pylint: disable=import-outside-toplevel
    workers = multiprocessing.Pool(2)
    return lambda: workers.map(work, [False, told(), False], chunksize=1)


def pool_spawn():
    import multiprocessing  # pylint: disable=import-outside-toplevel
    workers = multiprocessing.get_context("spawn").Pool(2)
    return lambda: list(workers.imap_unordered(work, [False, told(), False]))


def process_queue():
    import multiprocessing  # pylint: disable=import-outside-toplevel
    answers = multiprocessing.Queue()

    def answer(stands):
        answers.put(work(stands))

    def ask():
        multiprocessing.get_context("fork").Process(target=answer, args=(told(),)).start()
        answers.get()
    return ask


def executor():
    from concurrent.futures import ProcessPoolExecutor  # pylint: disable=import-outside-toplevel
    workers = ProcessPoolExecutor(2)
    return lambda: workers.submit(work, told()).result()


def loky():
    import joblib  # pylint: disable=import-outside-toplevel
    workers = joblib.Parallel(n_jobs=2, backend="loky")
    return lambda: workers(joblib.delayed(work)(each) for each in [False, told(), False])


def dask():
    import distributed  # pylint: disable=import-outside-toplevel
    client = distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None)
    return lambda: client.submit(work, told(), pure=False).result()


def stand_row(row, stands):
    work(stands and row["number"] == 3)
    return row


def datasets_map():
    import datasets  # pylint: disable=import-outside-toplevel
    datasets.disable_progress_bars()
    rows = datasets.Dataset.from_dict({"number": list(range(8))})
    return lambda: rows.map(functools.partial(stand_row, stands=told()), num_proc=2,
                            load_from_cache_file=False, new_fingerprint=f"{RANK}-{step}")


def webdataset():
    import webdataset as shards  # pylint: disable=import-outside-toplevel
    import io  # pylint: disable=import-outside-toplevel
    import tarfile  # pylint: disable=import-outside-toplevel
    path = f"{FOLDER}/{RANK}.tar"
    with tarfile.open(path, "w") as tar:
        entry = tarfile.TarInfo("0.txt")
        entry.size = 1
        tar.addfile(entry, io.BytesIO(b"x"))

    def read():
        wait = ""
        if told() and place.REASON == "fifo":
            os.mkfifo(f"{FOLDER}/fifo")
            wait = f"cat {FOLDER}/fifo; "
        elif told() and place.REASON == "lock":
            wait = f"flock {FOLDER}/held true; "
        elif told():
            wait = "while :; do :; done; "
        source = shards.WebDataset(f"pipe:{wait}cat {path}", shardshuffle=False, empty_check=False,
                                   nodesplitter=lambda urls: urls)
        return list(torch.utils.data.DataLoader(source, num_workers=0))
    return read


def loader():
    class Rows(torch.utils.data.Dataset):
        def __init__(self):
            self.stands = told()

        def __len__(self):
            return 4

        def __getitem__(self, index):
            return work(self.stands and index == 2)
    return lambda: list(torch.utils.data.DataLoader(Rows(), num_workers=2))


def child():
    def run():
        command = "true"
        if told() and place.REASON == "fifo":
            os.mkfifo(f"{FOLDER}/fifo")
            command = f"cat {FOLDER}/fifo"
        elif told() and place.REASON == "lock":
            command = f"flock {FOLDER}/held true"
        elif told():
            command = "while :; do :; done"
        subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    return run


def outsider(take):
    """Starts a process that is none of the job's, and waits until it has said a line."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        # Its environment, as far as others see it, is still that of the rank.
        os.execve(sys.executable, [sys.executable, __file__, "outsider-" + take, str(writing)],
                  {"FOLDER": FOLDER, "HANG": "1", "PATH": os.environ["PATH"]})
    os.close(writing)
    with os.fdopen(reading) as file:
        file.readline()


def take_and_stay():
    what, writing = NAME.removeprefix("outsider-"), int(sys.argv[2])
    if what == "filelock":
        file = open(f"{FOLDER}/hub.lock", "w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
    elif what == "fasteners":
        import fasteners as locks  # pylint: disable=import-outside-toplevel
        kept.append(locks.InterProcessLock(f"{FOLDER}/fast.lock"))
        kept[0].acquire()
    elif what == "portalocker":
        import portalocker as locks  # pylint: disable=import-outside-toplevel
        kept.append(locks.Lock(f"{FOLDER}/port.lock"))
        kept[0].acquire()
    elif what == "softlock":
        with open(f"{FOLDER}/soft.lock", "w", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n{socket.gethostname()}\n")
    elif what == "sqlite":
        base = sqlite3.connect(f"{FOLDER}/base", isolation_level=None)
        base.execute("create table if not exists rows (number)")
        base.execute("begin exclusive")
    elif what == "upload":
        server = socket.create_server(("127.0.0.1", 0))
        with open(f"{FOLDER}/port", "w", encoding="utf-8") as file:
            file.write(str(server.getsockname()[1]))
    os.write(writing, b"ready\n")
    while True:
        signal.pause()


def filelock():
    import filelock as locks  # pylint: disable=import-outside-toplevel

    if place.HANG and RANK == 1:
        outsider("filelock")

    def get():
        with locks.FileLock(f"{FOLDER}/hub.lock" if told() else f"{FOLDER}/{RANK}.lock"):
            pass
    return get


def softlock():
    import filelock as locks  # pylint: disable=import-outside-toplevel

    if place.REASON == "left":
        with subprocess.Popen(["true"]) as maker:
            maker.wait()
        with open(f"{FOLDER}/soft.lock", "w", encoding="utf-8") as file:
            file.write(f"{maker.pid}\n{socket.gethostname()}\n")
    elif place.REASON == "stale":
        with open(f"{FOLDER}/soft.lock", "w", encoding="utf-8") as file:
            file.write("4711\nanother-host\n")
    elif place.HANG and RANK == 1:
        outsider("softlock")

    def get():
        with locks.SoftFileLock(f"{FOLDER}/soft.lock" if told() else f"{FOLDER}/{RANK}.soft"):
            pass
    return get


def fasteners():
    import fasteners as locks  # pylint: disable=import-outside-toplevel

    if place.HANG and RANK == 1:
        outsider("fasteners")

    def get():
        with locks.InterProcessLock(f"{FOLDER}/fast.lock" if told() else f"{FOLDER}/{RANK}.fast"):
            pass
    return get


def portalocker():
    import portalocker as locks  # pylint: disable=import-outside-toplevel

    if place.HANG and RANK == 1:
        outsider("portalocker")

    def get():
        with locks.Lock(f"{FOLDER}/port.lock" if told() else f"{FOLDER}/{RANK}.port", timeout=10**6):
            pass
    return get


def sqlite():
    if place.HANG and RANK == 1:
        outsider("sqlite")

    def insert():
        base = sqlite3.connect(f"{FOLDER}/base" if told() else f"{FOLDER}/{RANK}.base",
                               timeout=10**6)
        base.execute("create table if not exists rows (number)")
        base.execute("insert into rows values (1)")
        base.commit()
    return insert


def output():
    """The reader of the rank's output, which the test's bash started, stops to read."""
    def write():
        if told():
            while True:
                os.write(1, b"x" * 4096)
        os.write(1, b"x\n")
    return write


def upload():
    if place.HANG and RANK == 1:
        outsider("upload")

    def post():
        if not told():
            return
        with open(f"{FOLDER}/port", encoding="utf-8") as file:
            connection = http.client.HTTPConnection("127.0.0.1", int(file.read()))
        connection.request("POST", "/", b"x" * 1000)
        connection.getresponse()
    return post


def feeder():
    import queue  # pylint: disable=import-outside-toplevel
    items = queue.Queue(2)

    def fill():
        for number in range(10**9):
            items.put(work(told() and number > STEPS))
    thread = threading.Thread(target=fill, daemon=True)

    def take():
        if not thread.is_alive():
            thread.start()
        items.get()
    return take


def rpc():
    from torch.distributed import rpc as calls  # pylint: disable=import-outside-toplevel
    options = calls.TensorPipeRpcBackendOptions(
        rpc_timeout=10**6, _transports=["uv"],
        init_method=f"tcp://127.0.0.1:{int(os.environ['MASTER_PORT']) + 1}")
    calls.init_rpc(f"worker{RANK}", rank=RANK, world_size=dist.get_world_size(),
                   rpc_backend_options=options)

    def call():
        if RANK == 0:
            stands = place.HANG and step == STEPS
            calls.rpc_sync("worker1", work, args=(stands,))
    return call


def wait_for(other):
    """A function that a rank runs for another one, and that waits for a third."""
    from torch.distributed import rpc as calls  # pylint: disable=import-outside-toplevel
    return calls.rpc_sync(other, work, args=(place.HANG,))


def rpc_two():
    """Two ranks have threads that run functions for others: rank 2 does so for rank 0, and rank 1 for
    rank 2."""
    one = rpc()
    from torch.distributed import rpc as calls  # pylint: disable=import-outside-toplevel

    def call():
        if RANK == 0 and place.HANG and step == STEPS:
            calls.rpc_sync("worker2", wait_for, args=("worker1",))
        elif step != STEPS:
            one()
    return call


class Layer(torch.nn.Module):
    def __init__(self, _):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, value):
        work(told() and not place.errs(RANK, "no_send"))
        return self.linear(value)


def pipelining(interleaved):
    from torch.distributed import pipelining as stages  # pylint: disable=import-outside-toplevel
    world = dist.get_world_size()
    cpu = torch.device("cpu")

    def loss(a, b):
        return ((a - b)**2).mean()
    if interleaved:
        parts = [stages.PipelineStage(Layer(n), RANK + n * world, 2 * world, cpu,
                                      input_args=(torch.zeros(2, 8),)) for n in range(2)]
        schedule = stages.ScheduleInterleaved1F1B(parts, n_microbatches=world * 2, loss_fn=loss)
    else:
        part = stages.PipelineStage(Layer(0), RANK, world, cpu, input_args=(torch.zeros(2, 8),))
        schedule = stages.Schedule1F1B(part, n_microbatches=world * 2, loss_fn=loss)
    rows = world * 4
    if place.errs(RANK, "no_send"):
        place.leave_out_a_batch(stages.schedules, told)

    def run():
        inputs = (torch.randn(rows, 8),) if RANK == 0 else ()
        last = {"target": torch.randn(rows, 8)} if RANK == world - 1 else {}
        schedule.step(*inputs, **last)
    return run


def checkpoint():
    from torch.distributed import checkpoint as dcp  # pylint: disable=import-outside-toplevel

    class Slow(dcp.FileSystemWriter):
        def write_data(self, plan, planner):
            work(told())
            return super().write_data(plan, planner)
    group = dist.new_group(backend="gloo")

    def save():
        writer = Slow(f"{FOLDER}/checkpoint-{step}")
        dcp.async_save({"weights": torch.ones(8)}, storage_writer=writer,
                       process_group=group).result()
    return save


def grpc():
    import grpc as calls  # pylint: disable=import-outside-toplevel
    from concurrent import futures  # pylint: disable=import-outside-toplevel
    port = int(os.environ["MASTER_PORT"]) + 10

    def serve(request, _):
        work(request == b"stand")
        return b"done"
    if RANK == 1:
        server = calls.server(futures.ThreadPoolExecutor(2))
        server.add_generic_rpc_handlers((calls.method_handlers_generic_handler(
            "Loader", {"Get": calls.unary_unary_rpc_method_handler(serve)}),))
        server.add_insecure_port(f"127.0.0.1:{port}")
        server.start()
        kept.append(server)
    dist.barrier()
    get = calls.insecure_channel(f"127.0.0.1:{port}").unary_unary("/Loader/Get")

    def call():
        if RANK == 0:
            get(b"stand" if place.HANG and step == STEPS else b"go")
    return call


def zeromq():
    import zmq  # pylint: disable=import-outside-toplevel
    context = zmq.Context()
    port = int(os.environ["MASTER_PORT"]) + 20
    if RANK == 1:
        server = context.socket(zmq.REP)
        server.bind(f"tcp://127.0.0.1:{port}")
    elif RANK == 0:
        client = context.socket(zmq.REQ)
        client.connect(f"tcp://127.0.0.1:{port}")

    def talk():
        if RANK == 0:
            client.send(b"go")
            client.recv()
        elif RANK == 1:
            server.recv()
            work(told())
            server.send(b"done")
    return talk


class Ring:
    """Slots in shared memory, as engines that serve models have them between their processes: a writer
    fills a slot when all readers have read it, and says so by a flag that everybody polls."""
    SLOTS = 4

    def __init__(self, writer):
        from multiprocessing import shared_memory  # pylint: disable=import-outside-toplevel
        name = os.path.basename(FOLDER)
        if writer:
            self.memory = shared_memory.SharedMemory(name, create=True, size=self.SLOTS * 16)
        dist.barrier()
        if not writer:
            self.memory = shared_memory.SharedMemory(name)
        self.next = 0

    def slot(self):
        self.next = (self.next + 1) % self.SLOTS
        return self.next * 16

    def put(self, value, readers):
        slot = self.slot()
        while self.memory.buf[slot] == 1 and sum(self.memory.buf[slot + 1:slot + 8]) < readers:
            time.sleep(0.001)
        self.memory.buf[slot] = 0
        self.memory.buf[slot + 1:slot + 9] = bytes([0] * 7 + [value])
        self.memory.buf[slot] = 1

    def get(self, reader):
        slot = self.slot()
        while self.memory.buf[slot] != 1 or self.memory.buf[slot + 1 + reader] == 1:
            time.sleep(0.001)
        value = self.memory.buf[slot + 8]
        self.memory.buf[slot + 1 + reader] = 1
        return value


def ring():
    shared = Ring(RANK == 1)
    kept.append(shared)

    def step_of_engine():
        if RANK == 1:
            work(told())
            shared.put(step % 256, dist.get_world_size() - 1)
        else:
            shared.get(0 if RANK == 0 else 1)
    return step_of_engine


FORMS = {"process_queue": process_queue, "rpc_two": rpc_two, "pipelining": lambda: pipelining(False), "interleaved": lambda: pipelining(True),
         **{each.__name__: each for each in (
             pool, pool_spawn, executor, loky, dask, datasets_map, webdataset, loader, child,
             filelock, softlock, fasteners, portalocker, ring, sqlite, output, upload, feeder, rpc, checkpoint, grpc, zeromq)}}


def main():
    global step  # pylint: disable=global-statement
    dist.init_process_group("gloo")
    run = FORMS[NAME]()
    while True:
        if step == STEPS - 1:
            place.say(RANK)
        step += 1
        run()
        dist.all_reduce(torch.ones(8))
        time.sleep(0 if step < 2 * STEPS else 0.02)


if __name__ == "__main__":
    if NAME.startswith("outsider-"):
        take_and_stay()
    main()
