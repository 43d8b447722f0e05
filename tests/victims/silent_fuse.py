"""Two ranks that wait for a file system whose server does not answer them:
`unshare -m silent_fuse.py FOLDER [threads]`, as root. FOLDER becomes a FUSE file system in a mount namespace of
its own. Rank 0 reads FOLDER/shard-0.tar through the page cache, rank 1 syncs FOLDER/shard-1.tar; with
"threads" not in their main threads, but in one of their own.
Prints "ready RANK0 RANK1" when both requests have reached the server, and from then on a line
"asked OPCODE" for each further request. Exits with status 3 if FUSE may not be used.
"""
import ctypes
import os
import signal
import sys

import fuse

FOLDER = sys.argv[1]
# File shard-N.tar is node N + 2.
SIZE = 1 << 20


def attributes(node):
    return fuse.attributes(node, SIZE, 0o644)


def answer_to(opcode, node, body):
    """Returns the answer, or an error number."""
    if opcode == fuse.INIT:
        return fuse.init()
    if opcode == fuse.LOOKUP:
        found = int(body.split(b"-")[1].split(b".")[0]) + 2
        return fuse.entry(found, attributes(found))
    if opcode == fuse.GETATTR:
        return fuse.attr(attributes(node))
    return fuse.opened() if opcode == fuse.OPEN else fuse.ENOSYS


def serve(device, pids):
    waiting = {fuse.READ, fuse.FSYNC}
    while True:
        opcode, unique, node, body = fuse.request(device)
        if waiting:
            waiting.discard(opcode)
            if not waiting:
                print("ready", *pids, flush=True)
        else:
            print("asked", opcode, flush=True)
        if opcode not in (fuse.READ, fuse.FSYNC, fuse.FORGET, fuse.BATCH_FORGET):
            fuse.answer(device, unique, answer_to(opcode, node, body))


def start_rank(rank):
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2")
        call = ("os.read(fd, 1)", "os.fsync(fd)")[rank]
        code = ("import os, threading; fd = os.open(%r, os.O_RDWR); call = lambda: %s; %s"
                % (f"{FOLDER}/shard-{rank}.tar", call, "threading.Thread(target=call).start()"
                   if "threads" in sys.argv else "call()"))
        os.execve(sys.executable, [sys.executable, "-c", code], environment)
    return pid


def main():
    device = fuse.mount("silent", FOLDER)
    serve(device, [start_rank(0), start_rank(1)])


main()
