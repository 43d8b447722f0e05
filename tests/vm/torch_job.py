"""A real job of PyTorch (gloo) that hangs, in the guest."""

import os
import socket
import subprocess

from guest import OWNER, Guest, check, in_state, need, state, wait_until

JOB = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def load_batch():
    with open(sys.argv[1]) as file:
        return file.read()
def train_step():
    if rank == 1:
        load_batch()
    dist.all_reduce(torch.ones(1))
dist.barrier()
print("ready", flush=True)
train_step()
"""


class Job:
    """Two ranks of one user; rank 1 waits for a pipe to which nobody writes, and rank 0 for rank 1."""

    def __init__(self, guest, uid):
        need(Guest.venv, "there is no Python with PyTorch")
        python = f"{Guest.venv}/bin/python"
        probe = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True, check=False, timeout=300)
        need(probe.returncode == 0, f"PyTorch cannot be imported: {probe.stderr[-200:]}")
        pipe = f"{guest.folder('data')}/shard"
        os.mkfifo(pipe, 0o666)
        os.chmod(pipe, 0o666)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = guest.program(JOB, "train.py")
        more = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
                "TORCH_FR_BUFFER_SIZE": "2000"}
        self.ranks = [guest.start([python, program, pipe], uid, ready=False, rank=rank, ranks=2, env=more)
                      for rank in (0, 1)]
        for process in self.ranks:
            # gloo writes lines of its own
            check(any(line.strip() == "ready" for line in process.stdout), "a rank failed")
        for process in self.ranks:
            in_state(process.pid, "S")


def hung(guest):
    """A hung gloo job of two ranks: rank 1 is named with its line, with ptrace_scope=1 only for root; its user is
    told why no rank was read"""
    job = Job(guest, OWNER)
    run = guest.oddrank("node", uid=OWNER)
    check([row["rank"] for row in run.verdict["culprits"]] == [1], run)
    check("load_batch" in run.out, run)
    guest.set_sysctl("kernel/yama/ptrace_scope", 1)
    refused = guest.oddrank("node", uid=OWNER)
    check(not refused.verdict["culprits"] and "ptrace_scope" in refused.out, refused)
    # tests/golden/machines has this capture of each machine.
    root = guest.oddrank("node", "--redact", "--save", "/results/torch_job.capture")
    check([row["rank"] for row in root.verdict["culprits"]] == [1], root)
    check("its last call in this group was barrier #1" in root.out, "no recorder was read from memory:", root)
    for process in job.ranks:
        guest.unharmed(process.pid)
    return run.verdict["summary"]


CASES = (hung,)
