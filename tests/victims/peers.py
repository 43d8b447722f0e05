"""Processes that wait for the other end of a pipe or connection: `peers.py MODE [FOLDER]`. Prints
"ready WAITER HOLDER", two pids, before it blocks.

  pipe     the child reads what the parent does not write
  named    the same with a named pipe in FOLDER
  tcp      the child receives what the parent does not send
  local    the child receives from a local socket what the parent does not send
  outside  a rank receives from the parent, which is not a rank
  tls      the same, in the first step of TLS
  output   writes to stdout until the pipe is full
  join     waits for the end of a child whose pipe it has not read
  flock    rank 0 holds a lock on FOLDER/lock, and takes steps until stdin has a line or ends; rank 1
           waits for the lock
  baton    rank 0 has made the file FOLDER/lock, rank 1 polls until it is gone
  filelock the same, with the frames of another library
  stale    polls a file FOLDER/lock that no process has open
  mplock   rank waits for a lock of multiprocessing that its child holds in a `with`
  mprlock  the same with a recursive lock, by acquire() in a thread of the child
  mpowned  the same, where the lock is an attribute of an object, taken by acquire() in its method
  mpforked the same, but a grandchild that was forked meanwhile has a copy of the child's count
  mpfull   rank puts a second item into a multiprocessing.Queue(1) that no process empties
  several  child polls a pipe and a connection whose other ends the parent has, and a pipe to itself
  ranks    SLURM tasks: all receive from rank 0, which reads a FIFO; when it has read, all exit
"""
import fcntl
import json
import multiprocessing
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time


def ready(waiter, holder):
    print("ready %d %d" % (waiter, holder), flush=True)


def for_ever():
    while True:
        time.sleep(3600)


def pipe():
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    os.close(ours)
    ready(child, os.getpid())
    for_ever()


def named():
    path = sys.argv[2] + "/hand-over"
    os.mkfifo(path)
    child = os.fork()
    if child == 0:
        os.read(os.open(path, os.O_RDONLY), 1)
        os._exit(0)
    writing = os.open(path, os.O_WRONLY)
    ready(child, os.getpid())
    for_ever()
    os.close(writing)


def tcp():
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        there = socket.create_connection(listener.getsockname())
        listener.close()
        there.recv(1)
        os._exit(0)
    accepted, _ = listener.accept()
    ready(child, os.getpid())
    for_ever()
    accepted.close()


def local():
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        theirs.close()
        ours.recv(1)
        os._exit(0)
    ours.close()
    ready(child, os.getpid())
    for_ever()


def outside(how="receive"):
    listener = socket.create_server(("127.0.0.1", 0))
    rank = subprocess.Popen([sys.executable, __file__, how, str(listener.getsockname()[1])],
                            env=dict(os.environ, RANK="0", WORLD_SIZE="1"))
    accepted, _ = listener.accept()
    ready(rank.pid, os.getpid())
    rank.wait()
    accepted.close()


def tls():
    outside("greet")


def receive():
    socket.create_connection(("127.0.0.1", int(sys.argv[2]))).recv(1)


def greet():
    plain = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def output():
    ready(os.getpid(), os.getppid())
    while True:
        os.write(1, b"x" * 4096)


def put_much(queue):
    queue.put("x" * (1 << 20))


def join():
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=put_much, args=(queue,))
    process.start()
    ready(os.getpid(), process.pid)
    process.join()


def have_lock(lock, said, mode):
    """In a child: takes the lock and sends the tid of the thread that holds it."""
    def acquire():
        lock.acquire()
        said.send(threading.get_native_id())
        for_ever()

    if mode == "mprlock":
        threading.Thread(target=acquire, daemon=True).start()
        for_ever()
    with lock:
        if mode == "mpforked" and os.fork() == 0:
            for_ever()
        said.send(threading.get_native_id())
        for_ever()


def mplock(mode="mplock"):
    fork = multiprocessing.get_context("fork")
    lock = fork.RLock() if mode == "mprlock" else fork.Lock()
    heard, said = fork.Pipe()
    process = fork.Process(target=have_lock, args=(lock, said, mode))
    process.start()
    tid = heard.recv()
    print("ready %d %d %d" % (os.getpid(), process.pid, tid), flush=True)
    lock.acquire()


class Owner:
    def __init__(self, lock):
        self.lock = lock

    def have(self, said):
        self.lock.acquire()
        said.send(threading.get_native_id())
        for_ever()


def mprlock():
    mplock("mprlock")


def mpowned():
    fork = multiprocessing.get_context("fork")
    owner = Owner(fork.Lock())
    heard, said = fork.Pipe()
    process = fork.Process(target=owner.have, args=(said,))
    process.start()
    print("ready %d %d %d" % (os.getpid(), process.pid, heard.recv()), flush=True)
    owner.lock.acquire()


def have_global_lock(said):
    LOCK.acquire()
    said.send(threading.get_native_id())
    for_ever()


def mpglobal():
    global LOCK
    fork = multiprocessing.get_context("fork")
    LOCK = fork.Lock()
    heard, said = fork.Pipe()
    process = fork.Process(target=have_global_lock, args=(said,))
    process.start()
    print("ready %d %d %d" % (os.getpid(), process.pid, heard.recv()), flush=True)
    LOCK.acquire()


def mpforked():
    mplock("mpforked")


def mpfull():
    queue = multiprocessing.get_context("fork").Queue(1)
    queue.put(1)
    ready(os.getpid(), 0)
    queue.put(2)


def several():
    listener = socket.create_server(("127.0.0.1", 0))
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        own, wake = os.pipe()
        there = socket.create_connection(listener.getsockname())
        listener.close()
        poll = select.poll()
        for fd in (ours, there.fileno(), own):
            poll.register(fd, select.POLLIN)
        poll.poll()
        os.close(wake)
        os._exit(0)
    os.close(ours)
    accepted, _ = listener.accept()
    ready(child, os.getpid())
    for_ever()
    accepted.close()


def step_until_told():
    """Keeps moving, as a watcher sees it, until stdin has a line or ends."""
    stdin = select.poll()
    stdin.register(0, select.POLLIN)
    step = 0
    while not stdin.poll(50):
        step += 1


def flock():
    with open(sys.argv[2] + "/lock", "a") as file:
        if os.environ["RANK"] == "0":
            fcntl.flock(file, fcntl.LOCK_EX)
            ready(os.getpid(), 0)
            step_until_told()
            for_ever()
        ready(os.getpid(), 0)
        fcntl.flock(file, fcntl.LOCK_EX)


# oddrank looks for the names of the libraries' files, classes and variables, so these use them.
BATON = """
import os, time
class FileBaton:
    def __init__(self, path):
        self.lock_file_path = path
    def wait(self):
        while os.path.exists(self.lock_file_path):
            time.sleep(0.05)
"""


FILELOCK = """
import os, time
class BaseFileLock:
    def acquire(self, path):
        lock_filename = path
        while os.path.exists(lock_filename):
            time.sleep(0.05)
"""


def stand_in(text, path):
    names = {}
    exec(compile(text, path, "exec"), names)
    return names


def poll_lock(folder):
    baton_class = stand_in(BATON, folder + "/torch/utils/file_baton.py")["FileBaton"]
    ready(os.getpid(), 0)
    baton_class(folder + "/lock").wait()


def filelock():
    if os.environ["RANK"] == "0":
        baton()
    lock = stand_in(FILELOCK, sys.argv[2] + "/filelock/_api.py")["BaseFileLock"]()
    ready(os.getpid(), 0)
    lock.acquire(sys.argv[2] + "/lock")


def baton():
    if os.environ["RANK"] == "0":
        os.open(sys.argv[2] + "/lock", os.O_CREAT | os.O_EXCL)
        ready(os.getpid(), 0)
        for_ever()
    poll_lock(sys.argv[2])


def stale():
    os.close(os.open(sys.argv[2] + "/lock", os.O_CREAT | os.O_EXCL))
    poll_lock(sys.argv[2])


def say(folder, rank, **more):
    path = "%s/rank-%d.json" % (folder, rank)
    with open(path + ".new", "w") as file:
        json.dump(dict(more, pid=os.getpid(), host=socket.gethostname()), file)
    os.rename(path + ".new", path)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path) as file:
        return json.load(file)


def ranks():
    folder, rank = sys.argv[2], int(os.environ["SLURM_PROCID"])
    if rank == 0:
        expected = int(os.environ.get("STAR_CONNECTIONS", int(os.environ["SLURM_NTASKS"]) - 1))
        listener = socket.create_server(("", 0))
        say(folder, 0, port=listener.getsockname()[1])
        others = [listener.accept() for _ in range(expected)]
        fifo = os.open(folder + "/shard-0.tar", os.O_RDWR)
        os.read(fifo, 1)
        for connection, _ in others:
            connection.close()
    else:
        there = wait_for(folder + "/rank-0.json")
        connection = socket.create_connection((there["host"], there["port"]))
        say(folder, rank, local=connection.getsockname())
        connection.recv(1)


if __name__ == "__main__":
    getattr(sys.modules["__main__"], sys.argv[1])()
