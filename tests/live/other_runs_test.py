#!/usr/bin/env python3
"""A rank of an earlier run hangs on beside the job that has its address now.

    other_runs_test.py --oddrank PATH
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
from hung_torch_job import Job

PROGRAM = """
def all_pause():
    dist.all_reduce(torch.ones(4))
    last()
    signal.pause()

def first_pauses():
    dist.all_reduce(torch.ones(4))
    last()
    if rank == 0:
        signal.pause()
    dist.all_reduce(torch.ones(4))
"""


class OtherRuns(unittest.TestCase):
    def test_a_rank_that_was_left_behind_is_not_the_jobs(self):
        old = Job(self, PROGRAM, "all_pause", 2)
        old.ranks[0].kill()  # the port is free again
        old.ranks[0].wait()
        new = Job(self, PROGRAM, "first_pauses", 2, MASTER_PORT=str(old.port))
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", "--select", f"127.0.0.1:{old.port}",
                                            "--json", "-", *harness.PATIENTLY]))
        report = run.json()
        self.assertEqual([each["pid"] for each in report["ranks"]], [rank.pid for rank in new.ranks], run)
        self.assertEqual([each["rank"] for each in report["verdict"]["culprits"]], [0], run)
        notes = [note for note in report["notes"] if "another run" in note]
        self.assertEqual(len(notes), 1, run)
        self.assertIn(f"pid {old.ranks[1].pid} ", notes[0])


if __name__ == "__main__":
    harness.main(harness.needs_torch)
