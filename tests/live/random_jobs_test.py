#!/usr/bin/env python3
"""Runs random distributed programs with a known fault (tests/jobs/), and compares the verdicts with
the truth.

    random_jobs_test.py --oddrank PATH        6 jobs; 330 with ODDRANK_FULL=1
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "jobs"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
# pylint: disable=wrong-import-position
import generate
import harness
import live_job
import record
import score
import training_job

FEW_FAULTS = ("sleeps", "busy_native", "lock_circle", "crossed_groups", "leave_sleeps", "lock_file")
MANY = range(1, 331)
RIGHT_SHARE = 0.95  # of many jobs
FEW_RIGHT = 4       # of the few: on a busy machine, one may be read too early for a verdict
LEFT_OUT = 0.05  # share of jobs that may fail to hang as they should


def few():
    """Returns the first seed of each of those faults."""
    jobs = record.made(itertools.count(1))
    found = {}
    while len(found) < len(FEW_FAULTS):
        seed, job = next(jobs)
        if job.truth["fault"] in FEW_FAULTS:
            found.setdefault(job.truth["fault"], seed)
    return sorted(found.values())


class RandomJobs(unittest.TestCase):
    def test_no_innocent_is_named_and_most_verdicts_are_right(self):
        seeds = MANY if os.environ.get("ODDRANK_FULL") else few()
        with tempfile.TemporaryDirectory(prefix="jobs-") as folder:
            total, left_out = record.record(harness.Options.oddrank, seeds, folder)
        print(total.text(), flush=True)
        self.assertLessEqual(len(left_out), LEFT_OUT * len(seeds), left_out)
        self.assertEqual(total.count(score.WRONG), 0, total.text())
        enough = RIGHT_SHARE * len(total.rows) if seeds is MANY else FEW_RIGHT
        self.assertGreaterEqual(total.count(score.RIGHT), enough, total.text())

    def test_ranks_of_the_fork_server_are_found_by_their_own_variables(self):
        """Neither the server nor a job's launcher is a rank."""
        python = training_job.find_torch_python()
        with tempfile.TemporaryDirectory(prefix="jobs-") as folder, \
                live_job.Server(python) as server:
            job = generate.generate(few()[0])
            for _, _, live in live_job.jobs(server, [(0, job)], folder):
                self.assertIsInstance(live, live_job.LiveJob, live)
                found = subprocess.run(
                    [harness.Options.oddrank, "node", "--select", live.name, "--json", "-"],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                    check=False)
                ranks = json.loads(found.stdout)["ranks"]
                self.assertEqual([(row["rank"], row["pid"]) for row in ranks],
                                 list(enumerate(live.pids)), found.stdout)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
