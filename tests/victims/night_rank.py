"""A rank of two of a SLURM job: night_rank.py FOLDER HOW. The two hand one byte back and forth.

  step     5 steps a second
  tight    as fast as they can
  lock     rank 1 takes a lock that it already has, after the first byte
  ended    rank 1 ends at once, in order; rank 0 polls for a file
  failed   the same, with exit code 3
  killed   the same, by SIGKILL
"""
import os
import signal
import socket
import sys
import threading
import time


def connect(folder, rank):
    port = folder + "/port"
    if rank == 0:
        listener = socket.create_server(("", 0))
        with open(port + ".new", "w") as file:
            file.write("%s %d" % (socket.gethostname(), listener.getsockname()[1]))
        os.rename(port + ".new", port)
        return listener.accept()[0]
    while not os.path.exists(port):
        time.sleep(0.01)
    with open(port) as file:
        host, number = file.read().split()
    return socket.create_connection((host, int(number)))


def hand_over(peer, rank):
    if rank == 0:
        peer.sendall(b"x")
        return peer.recv(1)
    byte = peer.recv(1)
    peer.sendall(byte)
    return byte


def train(peer, rank, pause):
    step = 0
    while hand_over(peer, rank):
        step += 1
        time.sleep(pause)


def take_twice():
    lock = threading.Lock()
    with lock:
        lock.acquire()


def end(folder, how):
    open(folder + "/rank-1-ends", "w").close()
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(3 if how == "failed" else 0)


def main(folder, how):
    rank = int(os.environ.get("RANK") or os.environ["SLURM_PROCID"])
    if how in ("ended", "failed", "killed"):
        if rank == 1:
            end(folder, how)
        while not os.path.exists(folder + "/never"):
            time.sleep(0.1)
    peer = connect(folder, rank)
    open("%s/rank-%d" % (folder, rank), "w").close()
    if how == "lock" and rank == 1:
        hand_over(peer, rank)
        take_twice()
    train(peer, rank, {"step": 0.2}.get(how, 0))


main(*sys.argv[1:])
