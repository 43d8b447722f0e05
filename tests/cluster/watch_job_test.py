#!/usr/bin/env python3
"""Tests a SLURM job whose ranks run under `oddrank watch`. Rank 0 reads a file that does not respond; rank 1
waits for it on another node. The watcher of rank 0 captures both nodes, and the job's log has the
verdict without anybody asking. The same with one watch in the batch script, triggered by a signal."""

import glob
import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from star_job import PEERS, StarJob

# Longer than one rank may have to wait for the other to start, and longer than a machine stands
# still, so no alarm comes before the job hangs. The next one is due after twice that.
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks=2 --ntasks-per-node=1 --output={folder}/log
exec srun {oddrank} watch --interval 500ms --stalled-for 20s --save {folder}/save \\
  --on-stall 'cp $1 {folder}/hook.new; mv {folder}/hook.new {folder}/hook.json' \\
  -- /usr/bin/python3 {peers} ranks {folder}
"""
# The trap that SLURM's --signal=B:USR1@120 is meant for; bash runs it only while it waits.
BATCH = """#!/bin/bash
#SBATCH --nodes=2 --ntasks=2 --ntasks-per-node=1 --output={folder}/log
{oddrank} watch --job $SLURM_JOB_ID --interval 1s --save {folder}/save &
watch=$!
trap 'kill -USR1 $watch' USR1
srun /usr/bin/python3 {peers} ranks {folder} &
echo waiting
while wait $!; [ $? -gt 128 ]; do :; done
wait
echo ended
"""


class WatchJobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(Cluster(nodes=2))

    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def start(self, script):
        """Starts the job; returns when it hangs."""
        job = StarJob(self.lab, self.folder, nodes=2, ranks=2)
        self.addCleanup(self.end, job)
        return job.start(batch=script.format(folder=self.folder, peers=PEERS,
                                             oddrank=Options.oddrank))

    def end(self, job):
        if job.id is not None:
            self.lab.cancel(job.id)
            self.lab.wait_job_state(job.id, ("CANCELLED", "COMPLETED", "FAILED"))

    def said(self):
        try:
            with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_said(self, words):
        try:
            proc_facts.wait_until(lambda: words in self.said(), f"the log says '{words}'")
        except TimeoutError as error:
            raise AssertionError(f"{error}; it says:\n{self.said()}") from error

    def check_report(self, path, job):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["verdict"]["kind"], "io_stall", self.said())
        self.assertEqual([row["rank"] for row in report["verdict"]["culprits"]], [0], self.said())
        self.assertEqual((report["job"]["id"], report["job"]["source"]), (job, "slurm"))
        self.assertEqual((report["coverage"]["read"], report["coverage"]["expected"]), (2, 2))
        # Neither the watchers nor their processes are taken for children of a rank.
        self.assertEqual([row["children"] for row in report["ranks"]], [[], []], self.said())

    def test_the_watchers_of_the_ranks(self):
        job = self.start(SCRIPT)
        proc_facts.wait_until(lambda: os.path.exists(f"{self.folder}/hook.json"),
                              "the command of --on-stall has run")
        self.check_report(f"{self.folder}/hook.json", job.id)
        self.wait_said("oddrank watch: saved")
        self.assertIn("io_stall: rank 0", self.said())
        # The first sample may find the rank at rest.
        self.assertRegex(self.said(), r"rank\s+0\s+(last\s+moved|has\s+not\s+moved\s+since\s+the\s+watch\s+began)\s+at")
        self.assertNotIn("rank 1 has not moved", self.said())
        self.assertEqual(len(glob.glob(f"{self.folder}/save/stall-{job.id}-*.odd")), 1)
        # The data arrives: the job ends, and no watcher delays its end.
        job.feed()
        self.lab.wait_job_state(job.id, ("COMPLETED",))
        proc_facts.wait_until(lambda: not self.watchers(), "no watcher is left")

    def watchers(self):
        return [pid for node in self.lab.nodes for pid in self.lab.node_pids(node)
                if proc_facts.comm(pid).startswith("oddrank")]

    def test_one_watch_in_the_batch_script(self):
        job = self.start(BATCH)
        self.wait_said("waiting")
        proc_facts.wait_until(lambda: any(proc_facts.blocks(pid, signal.SIGUSR1)
                                          for pid in self.watchers()), "the watch takes signals")
        result = self.lab.run_client(["scancel", "--batch", "--signal=USR1", job.id])
        self.assertEqual(result.returncode, 0, Run(result))
        self.wait_said("oddrank watch: saved")
        self.assertIn("capture requested by SIGUSR1", self.said())
        saved, = glob.glob(f"{self.folder}/save/stall-{job.id}-*.json")
        self.check_report(saved, job.id)
        job.feed()
        self.lab.wait_job_state(job.id, ("COMPLETED",))
        self.wait_said("ended")


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
