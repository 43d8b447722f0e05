#!/usr/bin/env python3
"""Diagnoses a job of which only the kernel's cores are left: one rank crashed while the others waited for
it, and a launcher then ended them.

    crashed_job_test.py --oddrank PATH
"""

import os
import resource
import signal
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
from hung_torch_job import DEADLINE_S, Job, writes_cores_beside

RANKS = 3
# A Python handler runs in the main thread, in the frame that the signal has interrupted.
PROGRAM = """
import ctypes, mmap, tempfile

def fault(number, frame):
    ctypes.string_at(16)

def gives_up(number, frame):
    os.abort()

def reads_truncated_file(number, frame):
    with tempfile.TemporaryFile() as file:
        file.truncate(8192)
        view = mmap.mmap(file.fileno(), 8192)
        file.truncate(0)
        view[4096]

def waits(how):
    signal.signal(signal.SIGUSR1, how)
    dist.all_reduce(torch.ones(4))
    last()
    if rank == WHO:
        signal.pause()
    dist.all_reduce(torch.ones(4))

WHO = int(os.environ["WHO"])

def by_fault():
    waits(fault)

def by_abort():
    waits(gives_up)

def by_bus_error():
    waits(reads_truncated_file)
"""
CAUSES = {"by_fault": "crashed by SIGSEGV: nothing is mapped at 0x10, in ",
          "by_abort": "called abort() in ",
          "by_bus_error": "crashed by SIGBUS: "}


class CrashedJob(unittest.TestCase):
    def cores(self, job, who):
        """Lets one rank crash while the others stand, ends these as a launcher does, and returns the cores."""
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        others = [process for rank, process in enumerate(job.ranks) if rank != who]
        for process in job.ranks:
            resource.prlimit(process.pid, resource.RLIMIT_CORE, unlimited)
        for process in others:
            process.send_signal(signal.SIGSTOP)
        job.ranks[who].send_signal(signal.SIGUSR1)
        job.ranks[who].wait(DEADLINE_S)
        for process in others:
            process.send_signal(signal.SIGABRT)
            process.send_signal(signal.SIGCONT)
            process.wait(DEADLINE_S)
        return [os.path.join(job.place(rank), name) for rank in range(RANKS)
                for name in os.listdir(job.place(rank)) if name.startswith("core")]

    def test_the_rank_that_crashed_is_named(self):
        for who, (part, cause) in enumerate(CAUSES.items()):
            with self.subTest(part=part, who=who):
                job = Job(self, PROGRAM, part, RANKS, WHO=str(who))
                cores = self.cores(job, who)
                self.assertEqual(len(cores), RANKS)
                run, report = job.diagnose_cores(cores)
                verdict = report["verdict"]
                self.assertEqual((verdict["kind"], [culprit["rank"] for culprit in verdict["culprits"]],
                                  verdict["confidence"]), ("crashed_rank", [who], "certain"), run)
                self.assertIn(cause, verdict["summary"], run)
                # Without its core nobody is named: the others only waited.
                del cores[who]
                run, report = job.diagnose_cores(cores)
                self.assertEqual(report["verdict"]["culprits"], [], run)


if __name__ == "__main__":
    if not writes_cores_beside():
        print("ODDRANK_SKIP: the kernel gives cores to a program here, or writes them elsewhere")
        sys.exit(harness.SKIPPED)
    harness.main(harness.needs_torch)
