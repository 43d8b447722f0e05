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
    if REASON == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        signal.pause()


def errs(rank, how):
    """Whether this is the rank that makes an error of this kind, instead of coming to stand."""
    return HANG and rank == 1 and REASON == how


def leave_out_a_send(dist, is_time, batched):
    """Makes the first send to the rank after this one a call that does nothing, once it is time."""
    send, batch = dist.isend, dist.batch_isend_irecv
    after = dist.get_rank() + 1
    left = []

    class Done:
        def wait(self):
            return True

    def leaves(peer):
        if left or not is_time() or peer != after:
            return False
        left.append(peer)
        return True

    def isend(tensor, dst=None, *args, **more):
        return Done() if leaves(dst) else send(tensor, dst, *args, **more)

    def batch_isend_irecv(operations):
        rest = [each for each in operations if each.op is dist.irecv or not leaves(each.peer)]
        return batch(rest) if rest else []
    if batched:
        dist.batch_isend_irecv = batch_isend_irecv
    else:
        dist.isend = isend


def leave_out_a_batch(schedules, is_time):
    """The same for the schedules of torch's pipelining, whose batches are lists of P2POps."""
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    batch, after, left = schedules._batch_p2p, dist.get_rank() + 1, []

    def without(operations, *args, **more):
        if not left and is_time():
            left.extend(each for each in operations if each.op is dist.isend and each.peer == after)
            operations = [each for each in operations if each not in left]
        return batch(operations, *args, **more)
    schedules._batch_p2p = without


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
