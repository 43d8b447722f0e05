#!/usr/bin/env python3
"""Reads the flight recorder of PyTorch's NCCL backend from the memory of ranks without a GPU: the CUDA
build's own libtorch_cuda, whose recorder is filled by its own functions (tests/support/nccl_recorder.cc).
The transfers themselves are gloo's. Opt-in: needs a PyTorch of scripts/torches.

    nccl_recorder_test.py --oddrank PATH
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(os.path.dirname(HERE), "support")
sys.path.insert(0, SUPPORT)
# pylint: disable=wrong-import-position
import harness
import proc_facts
from hung_torch_job import DEADLINE_S, Job

FUTEX = 202  # system call of x86-64
FIRST = (2, 11)  # the recorder is on by default, and has one name


def is_fit(python):
    version = re.match(r"(\d+)\.(\d+)", os.path.basename(os.path.dirname(python)))
    return (version is not None and tuple(map(int, version.groups())) >= FIRST
            and os.path.exists(f"{os.path.dirname(python)}/torch/lib/libtorch_cuda.so"))


TORCHES = [one for one in os.environ.get("ODDRANK_TORCHES", "").split(":") if is_fit(one)]
PROGRAM = """
import ctypes, subprocess
HOME = os.path.dirname(torch.__file__)
LIBRARY = HOME + "/lib/libtorch_cuda.so"

class Recorder:
    def __init__(self):
        self.filler = ctypes.CDLL(os.environ["FILLER"])
        with open("/proc/self/maps") as file:
            base = min(int(line.split("-")[0], 16) for line in file if LIBRARY in line)
        wanted = {"get": "3getEv", "record": "6recordEm", "members": "15record_pg_ranks"}
        at = {}
        for line in subprocess.run(["nm", LIBRARY], capture_output=True, text=True).stdout.splitlines():
            part = line.split()
            for key, name in wanted.items():
                full = "_ZN4c10d14FlightRecorderIN3c104cuda9CUDAEventEE" + name
                if part[-1].startswith(full) and part[-2] in "tTW":
                    at[key] = ctypes.c_void_p(base + int(part[0], 16))
        self.at, self.transfers = at, 0
        self.filler.record_members(at["get"], at["members"], world)

    def made(self, name, call):
        self.transfers += 1
        self.filler.record_call(self.at["get"], self.at["record"], name.encode(),
                                ctypes.c_ulong(0), ctypes.c_ulong(self.transfers))
        call()
        self.filler.end_call(self.at["get"])

def pipeline():
    # GPipe. In step AT, stage 1 leaves out the send of a microbatch, if FAULT says so.
    recorder, data = Recorder(), torch.ones(4)
    at, fault = 4, int(os.environ["FAULT"])
    def send(to):
        recorder.made(f"nccl:send {rank}->{to}", lambda: dist.send(data, to))
    def receive(source):
        recorder.made(f"nccl:recv {rank}<-{source}", lambda: dist.recv(data, source))
    for step in range(7):
        if step == at:
            last()
        for micro in range(3):
            if rank > 0:
                receive(rank - 1)
            if rank < world - 1 and (rank, step, micro) != (fault, at, 1):
                send(rank + 1)
        for micro in range(3):
            if rank < world - 1:
                receive(rank + 1)
            if rank > 0:
                send(rank - 1)
    signal.pause()
"""


class PipelineJob(Job):
    def wait_hung(self):
        """Gloo's receive waits with a time limit, so wants_lock() does not see it."""
        seen = [None, 0]

        def is_hung():
            pids = [process.pid for process in self.ranks]
            now = [proc_facts.status(pid).get("voluntary_ctxt_switches") for pid in pids]
            self.live()
            blocked = all(proc_facts.in_call(pid, FUTEX) for pid in pids)
            seen[:] = [now, seen[1] + 1 if blocked and now == seen[0] else 0]
            return seen[1] >= 10
        proc_facts.wait_until(is_hung, "all ranks hang", DEADLINE_S)


def build(test, python):
    """Compiles the filler with the headers of that PyTorch."""
    home = f"{os.path.dirname(python)}/torch"
    path = test.enterContext(harness.scratch()) + "/filler.so"
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-w", f"-I{home}/include",
                    f"-I{home}/include/torch/csrc/api/include", f"{SUPPORT}/nccl_recorder.cc", "-o",
                    path, f"-L{home}/lib", "-ltorch_cpu", "-lc10"], check=True, timeout=300)
    return path


class NcclRecorder(unittest.TestCase):
    @harness.only_with(TORCHES)
    def test_a_send_is_missing_in_a_pipeline(self):
        for python in TORCHES:
            filler = build(self, python)
            for fault in (0, 1):
                with self.subTest(python, fault=fault):
                    job = PipelineJob(self, PROGRAM, "pipeline", 3, python=python, FILLER=filler,
                              FAULT=str(fault))
                    run, report = job.diagnose()
                    verdict = report["verdict"]
                    self.assertEqual((verdict["kind"], verdict["confidence"],
                                      [row["rank"] for row in verdict["culprits"]]),
                                     ("p2p_order", "certain", [fault]), run)
                    self.assertIn(f"left out a send to rank {fault + 1} in default group",
                                  verdict["summary"])
                    self.assertRegex(verdict["summary"], r"train\.py:\d+")
                    job.end()


if __name__ == "__main__":
    harness.main(harness.needs_torch)
