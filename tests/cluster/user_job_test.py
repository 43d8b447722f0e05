#!/usr/bin/env python3
"""`oddrank job` as an ordinary user, on a job of his own: no capability, no privilege, the common
case. The verdict is the same; and nobody else may ask, not even root: SLURM says no."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
from cluster import Cluster
from harness import Options, Run
from training_job import TrainingJob, find_torch_python

USER = "nobody"


class UserJobTest(unittest.TestCase):
    def test_own_job(self):
        with Cluster() as lab, harness.scratch() as scratch:
            job = TrainingJob(f"{scratch}/job", find_torch_python()).prepare()
            job_id = lab.submit(job.script, user=USER)
            lab.wait_job_running(job_id)
            job.wait_hung(lab, still_there=lambda: lab.job_state(job_id) == "RUNNING")
            run = Run(lab.run_client([Options.oddrank, "job", job_id, "--json", "-"], 90,
                                     user=USER))
            self.assertEqual(run.status, 0, run)
            report = run.json()
            self.assertEqual(report["coverage"]["read"], 8, run)
            self.assertEqual(report["verdict"]["kind"], "input_stall", run)
            fact = job.fact(5)
            self.assertEqual([(row["rank"], row["host"], row["pid"])
                              for row in report["verdict"]["culprits"]],
                             [(5, fact["host"], fact["pid"])])
            by_root = Run(lab.run_client([Options.oddrank, "job", job_id], 90))
            harness.check_trouble(self, by_root, job_id, USER)


if __name__ == "__main__":
    harness.main(harness.needs_cluster, harness.needs_torch, harness.needs_other_user)
