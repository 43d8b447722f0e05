"""Processes for benchmarks that hang as many threads or ranks do. They end with the context."""

import contextlib
import os
import subprocess
import sys

THREADS = """
import ctypes, sys, threading
ctypes.CDLL(None).prctl(1, 9)  # ends with its parent
threading.stack_size(256 << 10)
lock = threading.Lock()
lock.acquire()
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=lock.acquire, daemon=True).start()
print("ready", flush=True)
lock.acquire()
"""
RANK = """
import ctypes, socket
ctypes.CDLL(None).prctl(1, 9)
ours, theirs = socket.socketpair()
print("ready", flush=True)
ours.recv(1)
"""


@contextlib.contextmanager
def _started(code, arguments, environments):
    processes = [subprocess.Popen([sys.executable, "-c", code, *arguments],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)
                 for environment in environments]
    try:
        for process in processes:
            if process.stdout.readline() != b"ready\n":
                sys.exit("a process ended before it hung")
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()


def threads(count):
    """One process of so many threads, all but one of which wait for a lock."""
    return _started(THREADS, [str(count)], [dict(os.environ)])


def ranks(count):
    """So many ranks of one job, each of which reads from a socket."""
    return _started(RANK, [], [
        dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
             MASTER_PORT="29733") for rank in range(count)])
