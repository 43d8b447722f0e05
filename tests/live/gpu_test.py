#!/usr/bin/env python3
"""Runs real NCCL jobs that hang on GPUs, and compares what oddrank says with what the ranks know:
stacks in the driver, `.item()` behind a collective that does not end, two communicators in another order,
NCCL's RAS and memory, the flight recorder. `scripts/test --gpu` runs it, on a machine with a GPU or
more; without one (ODDRANK_GPUS is not set) the same jobs run with gloo on the CPU, as far as these can
hang there.

    gpu_test.py --oddrank PATH
"""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
import shared_gpu
import training_job
from hung_torch_job import DEADLINE_S, GCORE, Job

# How many there are; the ranks share them (shared_gpu.py).
GPUS = int(os.environ.get("ODDRANK_GPUS", "0"))
RANKS = 3
# Waits of that age are old (node/enough_samples.h).
OLD_NS = 5_200_000_000
PROGRAM = """
import ctypes, inspect, json, threading, time
import torch._C._distributed_c10d as c10d
CUDA = os.environ["DEVICE"] == "cuda"
if CUDA:
    torch.cuda.set_device(rank % torch.cuda.device_count())
LINES = {}

def ones(count):
    return torch.ones(count, device="cuda" if CUDA else "cpu")

def hangs(function):
    # Marks the lines that do not end.
    lines, first = inspect.getsourcelines(function)
    LINES[function.__name__] = {first + at for at, line in enumerate(lines) if "# hangs" in line}
    return function

def is_inside(main):
    frame = sys._current_frames().get(main)
    while frame is not None:
        if frame.f_lineno in LINES.get(frame.f_code.co_name, ()):
            return True
        frame = frame.f_back
    return False

def watch():
    # Says that the main thread is in such a line, and what PyTorch itself knows then.
    main = threading.main_thread().ident
    seen = 0
    while seen < 20:
        seen = seen + 1 if is_inside(main) else 0
        time.sleep(0.05)
    dumps = []
    for dump in ("_dump_nccl_trace_json", "_dump_fr_trace_json"):
        for more in ({"backend": "nccl2"}, {}):
            try:
                dumps.append(json.loads(getattr(c10d, dump)(**more)).get("entries", []))
            except (AttributeError, TypeError, RuntimeError):
                pass
    path = os.path.join(os.environ["SAYS"], "inside" + str(rank))
    with open(path + ".new", "w") as file:
        json.dump({"entries": max(dumps, key=len), "torch": torch.__version__,
                   "number": dist.distributed_c10d._get_default_group()._get_sequence_number_for_group()}, file)
    os.rename(path + ".new", path)

def begin():
    threading.Thread(target=watch, daemon=True).start()
    last()

@hangs
def skips():
    # All read the sum at once; rank 1 leaves out one of the calls.
    for step in range(6):
        total = ones(4)
        if step == 5:
            begin()
        if (rank, step) != (1, 2):
            dist.all_reduce(total)  # hangs
            total.sum().item()  # hangs
    signal.pause()  # hangs

@hangs
def swaps():
    # Rank 1 enters two communicators in another order than in all steps before.
    one, two = dist.new_group(list(range(world))), dist.new_group(list(range(world)))
    for step in range(6):
        if step == 4:
            begin()
        for group in (two, one) if (rank, step) == (1, 4) else (one, two):
            total = ones(4)
            dist.all_reduce(total, group=group)  # hangs
            total.sum().item()  # hangs

@hangs
def spins():
    # Rank 1 does not come. The others wait for their devices, which do not sleep; without a GPU, in a
    # driver that is made up, for nothing.
    for step in range(3):
        dist.all_reduce(ones(4))
    total = ones(4)
    total.sum().item()
    begin()
    if rank == 1:
        signal.pause()  # hangs
    if CUDA:
        dist.all_reduce(total)
        total.sum().item()  # hangs
    ctypes.CDLL(os.environ["DRIVER"]).cuStreamSynchronize()  # hangs

@hangs
def behind_kernel():
    # A kernel that does not end is before the collective, on the same stream.
    for step in range(5):
        dist.all_reduce(ones(4))
    torch.cuda.synchronize()
    torch.cuda._sleep(1 << 62)
    total = ones(4)
    dist.all_reduce(total)
    begin()
    total.sum().item()  # hangs
"""


class GpuJob(Job):
    def wait_hung(self):
        proc_facts.wait_until(
            lambda: self.live() and all(os.path.exists(self.said(rank))
                                        for rank in range(len(self.ranks))),
            "all main threads are in the lines that do not end", DEADLINE_S)

    def variables(self, rank):
        return shared_gpu.variables("gpu_test", rank)

    def said(self, rank):
        return f"{self.folder}/inside{rank}"

    def knows(self, rank):
        with open(self.said(rank), encoding="utf-8") as file:
            return json.load(file)


def quiet_without_a_gpu(test):
    """Leaves the test to scripts/test --full: on a machine that others keep busy, a thread that spins
    may not stop in time to be read."""
    return test if GPUS else harness.only_with(shutil.which("cc"))(harness.only_in_full(test))


class Gpu(unittest.TestCase):
    def start(self, part, **more):
        return GpuJob(self, PROGRAM, part, RANKS, DEVICE="cuda" if GPUS else "cpu",
                      JOB_BACKEND="nccl" if GPUS else "gloo", **more)

    def check(self, found, kinds, who):
        run, report = found
        verdict = report["verdict"]
        self.assertIn(verdict["kind"], kinds, run)
        self.assertEqual([row["rank"] for row in verdict["culprits"]], [who], run)
        return verdict

    def main_thread(self, report, rank):
        row = next(row for row in report["ranks"] if row["rank"] == rank)
        return next(thread for thread in row["threads"] if thread["tid"] == row["pid"])

    def test_a_rank_left_out_a_call(self):
        job = self.start("skips")
        found = job.diagnose()
        verdict = self.check(found, ("skipped_collective",), 1)
        self.assertIn("all_reduce in default group #6", verdict["summary"])
        self.check_numbers(job, found[1])
        self.check_dumps(job)
        if GPUS:
            self.check_device(found[1], 0)
            self.check_sources(job)
        if GCORE and not GPUS:
            self.check(job.diagnose_cores(job.gcores()), ("skipped_collective",), 1)

    @harness.only_with(not GPUS)
    def test_the_script_refuses_without_a_gpu(self):
        folder = self.enterContext(harness.scratch())
        for said, words in (("", "needs a GPU, and nvidia-smi finds none"),
                            ("GPU 0: made up", "needs a PyTorch with CUDA and NCCL")):
            with open(f"{folder}/nvidia-smi", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho '{said}'\n")
            os.chmod(f"{folder}/nvidia-smi", 0o755)
            run = subprocess.run([f"{ROOT}/scripts/test", "--gpu"], stdin=subprocess.DEVNULL,
                                 env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                                      "ODDRANK_TORCH_PYTHON": training_job.find_torch_python()},
                                 capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual((run.returncode, run.stdout), (1, ""), run)
            self.assertIn(words, run.stderr)

    def test_two_communicators_in_another_order(self):
        self.check(self.start("swaps").diagnose(), ("collective_order",), 1)

    @quiet_without_a_gpu
    def test_waits_that_spin_are_as_old_as_the_last_call(self):
        folder = self.enterContext(harness.scratch())
        driver = f"{folder}/libcuda.so.1"
        if not GPUS:
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", driver], check=True, timeout=120,
                           input=b"void cuStreamSynchronize(void) { for (volatile int i = 0;; ++i) {} }")
        job = self.start("spins", DRIVER=driver)
        newest = max(entry["time_created_ns"] for rank in range(RANKS) for entry in job.knows(rank)["entries"])
        proc_facts.wait_until(lambda: job.live() and time.time_ns() - newest > OLD_NS,
                              "the last call is old", DEADLINE_S)
        _, report = job.diagnose()
        for rank in range(RANKS):
            thread = self.main_thread(report, rank)
            self.assertEqual((rank, thread["samples"], thread["wait"]["what"] == "device"),
                             (rank, 2, rank != 1), thread)

    @harness.only_with(GPUS)
    def test_a_collective_is_behind_a_kernel_that_does_not_end(self):
        job = self.start("behind_kernel")
        _, report = job.diagnose()
        self.check_device(report, 0)
        call = self.main_thread(report, 0)["call"]
        self.assertEqual((call["op"], call["sequence"]), ("all_reduce", 6))
        self.check_numbers(job, report)
        self.check_dumps(job)
        self.check_sources(job)

    def check_device(self, report, rank):
        """The driver's frames are read, and are a wait for the device."""
        thread = self.main_thread(report, rank)
        self.assertEqual(thread["wait"]["what"], "device", thread)
        self.assertIn("libcuda.so", json.dumps(thread["frames"]))

    def check_sources(self, job):
        """RAS answers; without it the same is read from the communicators in memory."""
        for option, source in (((), "RAS"), (("--no-ras",), "NCCL memory")):
            run, report = job.diagnose(*option)
            self.assertTrue(any(row["source"].startswith(source) for row in report["sources"]), run)

    def check_numbers(self, job, report):
        """The groups' own counts are those that PyTorch tells."""
        for row in report["ranks"]:
            group = next(group for group in row["groups"] if group["default"])
            self.assertEqual(group["counts"][0]["calls"], job.knows(row["rank"])["number"], report["ranks"])

    def check_dumps(self, job):
        """What is read of the recorder's ring is what PyTorch dumps of it."""
        folder = self.enterContext(harness.scratch())
        run = job.run("--fr-dump", folder)
        self.assertEqual(run.status, 0, run)
        for rank in range(len(job.ranks)):
            told = [self.facts(entry) for entry in job.knows(rank)["entries"]]
            read = [self.facts(entry) for entry in job.dumped(f"{folder}/rank_{rank}")]
            self.assertGreater(len(told), 4)
            self.assertEqual(read, told)

    @staticmethod
    def facts(entry):
        return [entry[name] for name in ("profiling_name", "collective_seq_id", "is_p2p", "process_group",
                                         "input_sizes", "input_dtypes", "timeout_ms", "retired")]


if __name__ == "__main__":
    harness.main(harness.needs_torch)
