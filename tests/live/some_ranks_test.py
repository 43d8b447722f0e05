#!/usr/bin/env python3
"""Reads some ranks of a hung job, by their pids. The others are neither gone nor to blame.

    some_ranks_test.py --oddrank PATH
"""

import itertools
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
from hung_torch_job import Job

RANKS = 3
CULPRIT = 2
PROGRAM = """
def one_pauses():
    dist.all_reduce(torch.ones(4))
    last()
    if rank == 2:
        signal.pause()
    dist.all_reduce(torch.ones(4))
"""


class SomeRanks(unittest.TestCase):
    def read(self, job, ranks):
        pids = [str(job.ranks[rank].pid) for rank in ranks]
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *pids, "--json", "-",
                                            *harness.PATIENTLY]))
        return run, run.json()["verdict"]

    def test_every_choice_of_ranks(self):
        job = Job(self, PROGRAM, "one_pauses", RANKS)
        for count in range(1, RANKS + 1):
            for ranks in itertools.combinations(range(RANKS), count):
                with self.subTest(ranks=ranks):
                    run, verdict = self.read(job, ranks)
                    named = [culprit["rank"] for culprit in verdict["culprits"]]
                    self.assertIn(named, ([], [CULPRIT]), run)
                    self.assertNotIn("ended", verdict["summary"], run)
                    self.assertNotIn("gone", verdict["summary"], run)
                    if CULPRIT not in ranks:
                        self.assertEqual(named, [], run)
                    if count == RANKS:
                        self.assertEqual(named, [CULPRIT], run)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
