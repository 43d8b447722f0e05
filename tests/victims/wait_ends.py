"""A process whose main thread waits for something of its own, which waits for something else.

    wait_ends.py SHAPE END

SHAPE: what the main thread waits for. END: what the thread or process at the end waits in; its files
are in the working folder. Prints the end's pid and thread before it blocks there, except for `run`
and `shell`, which print the pid of the main thread.
"""
import concurrent.futures
import fcntl
import http.client
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import threading


def tell():
    print(os.getpid(), threading.get_native_id(), flush=True)


def end(what):
    tell()
    if what == "fifo":
        with open("pipe", encoding="utf-8") as file:
            file.read()
    elif what == "lock":
        with open("lock", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    elif what == "answer":
        with open("port", encoding="utf-8") as file:
            connection = http.client.HTTPConnection("127.0.0.1", int(file.read()))
        connection.request("GET", "/")
        connection.getresponse()
    elif what == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "output":
        while True:
            os.write(int(os.environ["OUTPUT"]), b"x" * 4096)


def none(_):
    return 0


def pool(what, method):
    with multiprocessing.get_context(method).Pool(2) as workers:
        workers.map(none, range(4), chunksize=1)
        workers.map(end, [what])


def executor(what):
    with concurrent.futures.ProcessPoolExecutor(2) as workers:
        list(workers.map(none, range(4)))
        list(workers.map(end, [what]))


def thread_pool(what):
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        workers.submit(end, what).result()


def put(items, what):
    items.put(1)
    end(what)
    items.put(2)


def processes_queue(what):
    items = multiprocessing.Queue()
    multiprocessing.Process(target=put, args=(items, what)).start()
    while items.get() != 2:
        pass


def join(what):
    child = multiprocessing.Process(target=end, args=(what,))
    child.start()
    child.join()


def feeder(what):
    items = queue.Queue()
    threading.Thread(target=put, args=(items, what), daemon=True).start()
    while items.get() != 2:
        pass


class Prefetcher:
    """The thread has the event as an attribute."""

    def __init__(self, what):
        self.what = what
        self.ready = threading.Event()

    def fill(self):
        end(self.what)
        self.ready.set()


def event(what):
    prefetcher = Prefetcher(what)
    threading.Thread(target=prefetcher.fill, daemon=True).start()
    prefetcher.ready.wait()


def process_of_thread(what):
    """A thread waits for a child; the main thread for the thread."""
    def work():
        join(what)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def run(_):
    tell()
    subprocess.run(["cat", "pipe"], check=True)


def shell(_):
    tell()
    with subprocess.Popen("cat pipe; true", shell=True, stdout=subprocess.PIPE) as child:
        child.stdout.read()


def terminal(what):
    """Reads what a program prints to a terminal that was made for it."""
    pid, side = os.forkpty()
    if pid == 0:
        print(f"{os.getpid()} {threading.get_native_id()}", flush=True)
        fd = os.open("pipe", os.O_RDONLY) if what == "fifo" else 0
        os.read(fd, 1)
        os._exit(0)
    line = b""
    while b"\n" not in line:
        line += os.read(side, 100)
    print(line.decode().strip(), flush=True)
    os.read(side, 100)


SHAPES = {"pool": lambda what: pool(what, "fork"), "pool_spawn": lambda what: pool(what, "spawn"),
          "executor": executor, "thread_pool": thread_pool, "queue": processes_queue, "join": join,
          "feeder": feeder, "event": event, "process_of_thread": process_of_thread, "run": run,
          "shell": shell, "terminal": terminal}

if __name__ == "__main__":
    SHAPES[sys.argv[1]](sys.argv[2])
