#!/usr/bin/env python3
"""Tests that `oddrank node` knows whom a rank waits for in a request of gloo (isend, irecv), of which
no frame says it.

    transfers_test.py --oddrank PATH
"""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
import training_job

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "transfers.py")


class Transfers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ports = []
        for _ in range(3):
            port, reserved = training_job.reserve_port()
            cls.addClassCleanup(reserved.close)
            ports.append(str(port))
        cls.victim = subprocess.Popen([training_job.find_torch_python(), VICTIM, *ports],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      env={**os.environ, "OMP_NUM_THREADS": "1"})
        cls.addClassCleanup(cls.victim.communicate)  # closes stdin
        cls.jobs = json.loads(cls.victim.stdout.readline())

    def verdict_of(self, job, sleeper=None):
        for rank, pid in enumerate(self.jobs[job]["pids"]):
            call = proc_facts.CLOCK_NANOSLEEP if rank == sleeper else proc_facts.FUTEX
            proc_facts.wait_until(lambda pid=pid, call=call: proc_facts.in_call(pid, call),
                                  f"rank {rank} of {job} waits")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--select", f"127.0.0.1:{self.jobs[job]['port']}",
             "--samples", "2", "--interval", "200ms", "--json", "-", *harness.PATIENTLY]))
        return run.json()["verdict"], run

    def test_a_stage_that_does_not_pass_on_is_named(self):
        verdict, run = self.verdict_of("pipeline", sleeper=1)
        self.assertEqual([culprit["rank"] for culprit in verdict["culprits"]], [1], run)
        waits = " ".join(hop["evidence"] for hop in verdict["chain"])
        self.assertIn("gloo's buffer is open at the pair of member 1 of 4", waits, run)

    def test_a_circle_of_requests_is_told(self):
        verdict, run = self.verdict_of("circle")
        self.assertEqual(verdict["kind"], "p2p_order", run)
        self.assertEqual([culprit["rank"] for culprit in verdict["culprits"]], [0, 1, 2, 3], run)

    def test_a_send_and_a_receive_with_different_tags_wait_for_each_other(self):
        verdict, run = self.verdict_of("tags")
        self.assertEqual(verdict["kind"], "p2p_order", run)
        self.assertEqual([culprit["rank"] for culprit in verdict["culprits"]], [0, 1], run)
        self.assertIn("recv from rank 0, tag 5", verdict["summary"], run)
        self.assertIn("send to rank 1, tag 4", verdict["summary"], run)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
