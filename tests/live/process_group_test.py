#!/usr/bin/env python3
"""Runs `oddrank node` on PyTorch ranks that a process with PyTorch in it has started, and on ranks with
workers: the rank is the process that has the process group.

    process_group_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import training_job

DEADLINE_S = 120
# The rank waits for the other one, which never calls the barrier. SAYS names a folder.
CODE = """
import multiprocessing, os, signal, sys
import torch, torch.distributed as dist

def say(what):
    path = os.path.join(os.environ["SAYS"], what + os.environ["RANK"])
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)

def work():
    dist.init_process_group("gloo")
    say("rank")
    if os.environ["RANK"] == "0":
        dist.barrier()
    signal.pause()

def idle():
    say("worker")
    signal.pause()

fork = multiprocessing.get_context("fork")
if sys.argv[1] == "below":
    child = fork.Process(target=work)
    child.start()
    child.join()
elif sys.argv[1] == "forked_before":
    dist.init_process_group("gloo")
    child = fork.Process(target=idle)
    child.start()
    say("rank")
    dist.destroy_process_group()
    child.join()
else:
    dist.init_process_group("gloo")
    child = fork.Process(target=idle)
    child.start()
    say("rank")
    child.join()
"""


class ProcessGroup(unittest.TestCase):
    def ranks(self, how, *says):
        """Starts two ranks; returns the processes that oddrank takes for them, and the real
        ones."""
        with tempfile.TemporaryDirectory(prefix="oddrank-test-") as folder:
            port, reserved = training_job.reserve_port()
            self.addCleanup(reserved.close)
            env = {**os.environ, "SAYS": folder, "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2",
                   "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": str(port),
                   "OMP_NUM_THREADS": "1"}
            ranks = [subprocess.Popen([training_job.find_torch_python(), "-c", CODE, how],
                                      env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                      stdin=subprocess.DEVNULL, start_new_session=True)
                     for rank in range(2)]
            try:
                paths = [os.path.join(folder, f"{what}{rank}") for what in says for rank in range(2)]
                end = time.monotonic() + DEADLINE_S
                while not all(map(os.path.exists, paths)):
                    self.assertLess(time.monotonic(), end, paths)
                    time.sleep(0.05)
                said = {}
                for rank in range(2):
                    with open(os.path.join(folder, f"rank{rank}"), encoding="utf-8") as file:
                        said[rank] = int(file.read())
                run = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "node", "--select",
                     f"127.0.0.1:{port}", "--samples", "1", "--json", "-", "-q",
                     *harness.PATIENTLY]))
                return {row["rank"]: row["pid"] for row in run.json()["ranks"]}, said
            finally:
                for process in ranks:
                    os.killpg(process.pid, 9)
                    process.wait(60)

    def test_the_rank_is_below_a_process_with_pytorch(self):
        self.assertEqual(*self.ranks("below", "rank"))

    def test_the_rank_has_a_forked_worker(self):
        self.assertEqual(*self.ranks("above", "rank", "worker"))

    def test_the_rank_has_destroyed_the_group_that_its_worker_inherited(self):
        self.assertEqual(*self.ranks("forked_before", "rank", "worker"))


if __name__ == "__main__":
    harness.main(harness.needs_torch)
