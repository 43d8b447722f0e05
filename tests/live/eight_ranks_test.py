#!/usr/bin/env python3
"""Runs gloo jobs of eight ranks that hang although nothing was prepared in them, each with one fault at
some rank and step, and compares the verdict with the truth: of the living ranks, of cores that gdb
writes, and of the kernel's.

    eight_ranks_test.py --oddrank PATH
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
from hung_torch_job import GCORE, Job, writes_cores_beside

RANKS = 8
MOST_BYTES = 16 * 1024  # of the calls of a node
# WHO does it, at step AT.
PROGRAM = """
WHO, AT = int(os.environ["WHO"]), int(os.environ["AT"])
LAST = AT + 3

def leaves_out():
    # All calls are made at one line; one rank leaves out one of them, and comes to its end first.
    for step in range(LAST):
        if step >= AT:
            last()
        if (rank, step) != (WHO, AT):
            dist.all_reduce(torch.ones(4))
    signal.pause()

def leaves_out_before_other():
    # One rank leaves out one of the calls of a line that is called four times a step, and goes on to
    # the step's last call, another operation.
    for step in range(LAST):
        for part in range(4):
            if step >= AT:
                last()
            if (rank, step, part) != (WHO, AT, AT % 4):
                dist.all_reduce(torch.ones(64))
        dist.barrier()

def leaves_out_and_waits():
    # The calls of two groups are made at one line. One rank leaves out one of the first group, and
    # waits in the other one.
    other = dist.new_group(list(range(world)))
    for step in range(LAST):
        for group in (None, other):
            if step >= AT:
                last()
            if (rank, step, group) != (WHO, AT, None):
                dist.all_reduce(torch.ones(4), group=group)

def differs():
    for step in range(LAST):
        if step >= AT:
            last()
        dist.all_reduce(torch.ones(24 if (rank, step) == (WHO, AT) else 32))
    signal.pause()

def swaps():
    one, two = dist.new_group(list(range(world))), dist.new_group(list(range(world)))
    for step in range(LAST):
        if step >= AT:
            last()
        for group in (two, one) if (rank, step) == (WHO, AT) else (one, two):
            dist.all_reduce(torch.ones(4), group=group)

def uneven(metrics=False):
    # One rank has a batch less than the others, which wait in DDP's backward, in one of two groups.
    # `metrics`: each step ends with a call in the other group.
    other = dist.new_group(list(range(world)))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    for step in range(AT if rank == WHO else LAST):
        if step >= AT - 1:
            last()
        model(torch.ones(2, 4)).sum().backward()
        if metrics:
            dist.all_reduce(torch.ones(1), group=other)
    dist.barrier(group=other)

def uneven_with_metrics():
    uneven(metrics=True)
"""


class Fault:
    """A part of PROGRAM, the kinds of verdict that name its rank, and what the verdict says."""

    def __init__(self, part, kinds, *words):
        self.part, self.kinds, self.words = part, kinds, words


ONE_LEFT_OUT = ("skipped_collective", "mismatched_collective")
FAULTS = (
    Fault("leaves_out", ONE_LEFT_OUT, r"in default group #\d+", r"left the loop around"),
    Fault("leaves_out_before_other", ONE_LEFT_OUT, r"#\d+ in default group", r"barrier",
          r"all_reduce of \[64\] Float"),
    Fault("leaves_out_and_waits", ("collective_order", "skipped_collective"),
          r"in default group #\d+", r"in group 1 \{0-7\} #\d+"),
    Fault("differs", ("mismatched_collective",), r"#\d+ in default group",
          r"\[24\] Float", r"\[32\] Float"),
    Fault("swaps", ("collective_order",), r"in group 1 \{0-7\} #\d+", r"in group 2 \{0-7\} #\d+"),
    Fault("uneven", ("skipped_collective",), r"in default group #\d+", r"in group 1 \{0-7\} #1"),
    Fault("uneven_with_metrics", ("skipped_collective",), r"in default group #\d+",
          r"in group 1 \{0-7\} #\d+"))
LINE = r"train\.py:\d+"


class EightRanks(unittest.TestCase):
    def check(self, fault, who, found):
        run, report = found
        verdict = report["verdict"]
        self.assertEqual((verdict["confidence"], [row["rank"] for row in verdict["culprits"]]),
                         ("certain", [who]), run)
        self.assertIn(verdict["kind"], fault.kinds, run)
        for words in (*fault.words, LINE):
            self.assertRegex(verdict["summary"], words)

    def start(self, fault, who, at):
        return Job(self, PROGRAM, fault.part, RANKS, WHO=str(who), AT=str(at))

    def test_two_groups_are_entered_in_another_order(self):
        fault = next(one for one in FAULTS if one.part == "swaps")
        folder = self.enterContext(harness.scratch())
        job = self.start(fault, 4, 70)
        self.check(fault, 4, job.diagnose("--save", f"{folder}/with.odd"))
        # The calls of a node of eight ranks take little room.
        job.diagnose("--save", f"{folder}/without.odd", "--fr-memory", "1")
        with_calls, without = (os.path.getsize(f"{folder}/{name}.odd")
                               for name in ("with", "without"))
        self.assertLess(with_calls - without, MOST_BYTES)

    @harness.only_in_full
    def test_the_rank_is_named_wherever_and_whenever_it_is(self):
        for index, fault in enumerate(FAULTS):
            for turn in (0, 1):
                # Every rank at fault in its turn, at another step.
                who, at = (3 * index + 5 * turn) % RANKS, 3 + (index + 2 * turn) % 4
                with self.subTest(part=fault.part, who=who, at=at):
                    job = self.start(fault, who, at)
                    self.check(fault, who, job.diagnose())
                    self.check_cores(fault, who, job, by_kernel=turn == 1)
                    job.end()

    def check_cores(self, fault, who, job, by_kernel):
        if by_kernel and writes_cores_beside():
            cores = job.kernel_cores()
        elif GCORE:
            cores = job.gcores()
        else:
            return
        self.check(fault, who, job.diagnose_cores(cores))
        for core in cores:  # together they would fill a disk
            os.remove(core)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
