#!/usr/bin/env python3
"""Runs `oddrank node` on real ranks of this machine, without SLURM: one job for each way in which the
training job can hang."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
from harness import Options, Run
from training_job import LocalRanks, TrainingJob, find_torch_python

RANKS = 3
ODD = 1


class NodeTest(unittest.TestCase):
    def diagnose(self, how, *options):
        """Returns (report of `oddrank node`, the job) while the job hangs."""
        with harness.scratch() as scratch:
            job = TrainingJob(f"{scratch}/job", find_torch_python(), how, ranks=RANKS, rank=ODD)
            with LocalRanks(job.prepare()) as ranks:
                job.wait_hung(still_there=ranks.alive)
                job.worker = job.host_pid(ODD, "worker")
                pids = [str(process.pid) for process in ranks.processes]
                # Other jobs may run on this machine, so ours is named by its processes.
                run = Run(harness.run_here([Options.oddrank, "node", *pids, "--json", "-",
                                            *harness.PATIENTLY, *options]))
                self.assertTrue(ranks.alive())
                self.assertEqual(run.status, 0, run)
                report = run.json()
                self.assertEqual(report["coverage"]["read"], RANKS, run)
                return report, job

    def check_culprit(self, report, *kinds):
        verdict = report["verdict"]
        self.assertIn(verdict["kind"], kinds, verdict)
        self.assertEqual([row["rank"] for row in verdict["culprits"]], [ODD], verdict)

    def test_input(self):
        report, job = self.diagnose("input")
        self.check_culprit(report, "input_stall")
        self.assertIn(job.fifo, str(report["verdict"]))

    def test_lock(self):
        report, job = self.diagnose("lock")
        self.check_culprit(report, "child_deadlock")
        verdict = report["verdict"]
        self.assertEqual(verdict["culprits"][0]["waits_for"]["pid"], job.worker, verdict)
        self.assertIn("fork() has not copied", verdict["summary"])

    def test_sleep(self):
        report, _ = self.diagnose("sleep")
        self.check_culprit(report, "external_wait", "busy_rank", "skipped_collective")

    def test_skip(self):
        """The rank skipped an all_reduce of the default group and waits in a barrier of another group of
        all ranks. Without sequence numbers that looks the same as a different order of the two."""
        report, _ = self.diagnose("skip")
        self.check_culprit(report, "skipped_collective", "collective_order")

    def test_stopped(self):
        report, _ = self.diagnose("stopped")
        self.check_culprit(report, "stopped_rank")


if __name__ == "__main__":
    harness.main(harness.needs_torch)
