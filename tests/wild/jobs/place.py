"""What every job of tests/wild does: each rank says which process it is, and then, in a hung job, rank 1
stops for good, while the others go on.

FOLDER, HANG and REASON come from the environment: HANG=1 for a hung job, and why rank 1 stops there.
"""

import fcntl
import os
import signal

FOLDER = os.environ["FOLDER"]
HANG = os.environ["HANG"] == "1"
REASON = os.environ.get("REASON", "pause")


def say(rank):
    path = os.path.join(FOLDER, f"rank.{rank}")
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)


def stand():
    """Never returns."""
    if REASON == "fifo":
        path = os.path.join(FOLDER, "fifo")
        os.mkfifo(path)
        with open(path, encoding="utf-8") as file:
            file.read()
    if REASON == "lock":  # that the test holds
        with open(os.path.join(FOLDER, "held"), "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    if REASON == "dead_worker":
        os.kill(os.getpid(), signal.SIGKILL)
    while REASON == "compute":
        pass
    while True:
        signal.pause()


def stop(rank, wanted=1):
    """Never returns on the rank that hangs the job."""
    if HANG and rank == wanted:
        stand()


def train(dist, rank):
    """Trains: all ranks meet again and again."""
    import torch  # pylint: disable=import-outside-toplevel
    say(rank)
    while True:
        stop(rank)
        dist.all_reduce(torch.ones(8))
