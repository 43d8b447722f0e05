#!/usr/bin/env python3
"""Runs `oddrank job` on jobs of different shapes: many nodes, a task of an array, a component of a
heterogeneous job, one step of several, a job started by srun without a batch script. 64 nodes with
ODDRANK_FULL."""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from star_job import StarJob

NODES = 64 if os.environ.get("ODDRANK_FULL") else 12
RANK = "/usr/bin/python3 -c 'import time; time.sleep(3600)'"


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.scratch())
        cls.lab = cls.enterClassContext(Cluster(nodes=NODES))

    def report(self, job, *options):
        run = Run(self.lab.run_client([Options.oddrank, "job", job, "--json", "-", "--samples", "1",
                                       *harness.PATIENTLY, *options]))
        self.assertEqual(run.status, 0, run)
        return run.json()

    def submit(self, text, *options):
        script = f"{self.folder}/{self.id().rpartition('.')[2]}.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n#SBATCH --output=/dev/null\n{text}\n")
        job = self.lab.submit(script, *options)
        self.addCleanup(self.lab.cancel, job)
        return job

    def wait_ranks(self, job, count):
        """Waits until `count` ranks of the job run and all of them sleep."""
        def ranks():
            pids = [pid for node in self.lab.nodes for pid in self.lab.node_pids(node)
                    if proc_facts.comm(pid) == "python3"
                    and proc_facts.environ(pid).get("SLURM_JOB_ID") == job]
            return len(pids) == count and all(proc_facts.asleep(pid) for pid in pids)
        proc_facts.wait_until(ranks, f"{count} ranks of job {job} sleep")

    def task_id(self, name):
        """Returns the job number of one task of an array or one component of a heterogeneous job."""
        def number():
            shown = self.lab.run_client(["scontrol", "show", "job", "-o", name]).stdout
            return re.findall(r"^JobId=(\d+)", shown)
        return proc_facts.wait_until(number, f"{name} has a number")[0]

    def test_many_nodes(self):
        job = StarJob(self.lab, self.folder, nodes=NODES, ranks=NODES).start()
        self.addCleanup(self.lab.cancel, job.id)
        report = self.report(job.id)
        self.assertEqual(report["coverage"]["read"], NODES)
        self.assertEqual(report["coverage"]["nodes_answered"], NODES)
        self.assertEqual([row["rank"] for row in report["verdict"]["culprits"]], [0])
        self.assertRegex(report["notes"][0],
                         r"^the job has run for \d+ (s|min); .* \(Requeue=1\)")
        told = Run(self.lab.run_client([Options.oddrank, "job", job.id, "-v", "--samples", "1",
                                        *harness.PATIENTLY]))
        self.assertRegex(told.err, r"oddrank: asked SLURM: job \d+ of root on \S+: \d+ ms", told)
        for node in self.lab.nodes:
            self.assertRegex(told.err, rf"oddrank: {node} answered after \d+ ms \(\d+ bytes\)", told)
        # The same through a shared folder, in which nothing is left.
        shared = f"{self.folder}/shared"
        os.mkdir(shared)
        by_folder = self.report(job.id, "--shared", shared)
        self.assertEqual(by_folder["coverage"]["read"], NODES)
        for key in ("kind", "culprits"):
            self.assertEqual(by_folder["verdict"][key], report["verdict"][key])
        self.assertEqual(os.listdir(shared), [])

    def test_a_task_of_an_array(self):
        job = self.submit(f"srun -n2 {RANK}", "--array=3-4", "--ntasks=2", "--nodes=1")
        task = self.task_id(f"{job}_4")
        self.wait_ranks(task, 2)
        report = self.report(f"{job}_4")
        self.assertEqual(report["job"]["id"], f"{job}_4")
        self.assertEqual(report["coverage"]["read"], 2)
        self.wait_ranks(self.task_id(f"{job}_3"), 2)
        run = Run(self.lab.run_client([Options.oddrank, "job", job]))
        harness.check_trouble(self, run, "is an array", f"oddrank job {job}_3",
                              f"oddrank job {job}_4", status=2)

    def test_ids_that_name_nothing(self):
        job = self.submit(f"srun -n1 {RANK}", "-N1", "-n1")
        self.wait_ranks(job, 1)
        for name in (f"{job}+1", f"{job}_0", f"{job}+7", "999999_1", "999999+1"):
            with self.subTest(name=name):
                run = Run(self.lab.run_client([Options.oddrank, "job", name]))
                harness.check_trouble(self, run, status=harness.NOTHING_READ)

    def test_a_heterogeneous_job_is_one(self):
        """Any component may be named: the ranks of all of them wait for each other."""
        job = self.submit(f"srun --het-group=0,1 {RANK}", "-N1", "-n1", ":", "-N2", "-n3")
        self.wait_ranks(job, 4)
        for name in (job, f"{job}+1", self.task_id(f"{job}+1")):
            with self.subTest(name=name):
                report = self.report(name)
                self.assertEqual(report["job"]["id"], job)
                self.assertEqual(report["coverage"]["read"], 4)
                self.assertEqual(len(report["job"]["hosts"]), 3)

    def test_one_step_of_several(self):
        # Without --overlap the second step waits for the first if a node has fewer than three CPUs.
        job = self.submit(f"srun -n1 --overlap --overcommit --mem=0 {RANK} & "
                          f"srun -n2 --overlap --overcommit --mem=0 {RANK} & wait", "-N1", "-n3",
                          "--overcommit")
        self.wait_ranks(job, 3)
        counts = {self.report(f"{job}.{step}")["coverage"]["read"] for step in (0, 1)}
        self.assertEqual(counts, {1, 2})
        run = Run(self.lab.run_client([Options.oddrank, "job", f"{job}.7"]))
        harness.check_trouble(self, run, f"{job}", "step 7")

    def test_a_larger_step_of_sleepers_is_left_out(self):
        """A step that only keeps nodes busy may have more tasks, and may be alone on a node."""
        job = self.submit(f"srun -N1 -n2 --overlap --overcommit --mem=0 {RANK} & "
                          "srun -N2 -n6 --overlap --overcommit --mem=0 sleep 3600 & wait",
                          "-N2", "-n2", "--overcommit")
        self.wait_ranks(job, 2)
        proc_facts.wait_until(lambda: self.sleepers(job) == 6, "the sleepers run")
        report = self.report(job)
        self.assertEqual((report["coverage"]["expected"], report["coverage"]["read"]), (2, 2))
        self.assertEqual({row["rank"] for row in report["ranks"]}, {0, 1})
        self.assertIn("sleep", " ".join(report["notes"]))

    def sleepers(self, job):
        return sum(proc_facts.comm(pid) == "sleep"
                   and proc_facts.environ(pid).get("SLURM_JOB_ID") == job
                   for node in self.lab.nodes for pid in self.lab.node_pids(node))

    def test_what_a_batch_script_runs_itself(self):
        job = self.submit(RANK, "-N1", "-n4", "--overcommit")
        self.wait_ranks(job, 1)
        report = self.report(job)
        self.assertEqual((report["coverage"]["expected"], report["coverage"]["read"]), (1, 1))
        self.assertEqual([row["rank"] for row in report["ranks"]], [0])
        self.assertNotEqual(report["verdict"]["kind"], "missing_rank")

    def test_a_job_of_srun_alone(self):
        environment = dict(os.environ, SLURM_CONF=self.lab.conf)
        with subprocess.Popen(["srun", "-n2", "-N2", "-J", "alone", "/usr/bin/python3", "-c",
                               "import time; time.sleep(3600)"], env=environment,
                              stdin=subprocess.DEVNULL) as srun:
            try:
                job = proc_facts.wait_until(
                    lambda: self.lab.run_client(["squeue", "-h", "-n", "alone", "-t", "R", "-o",
                                                 "%A"]).stdout.strip(), "the job runs")
                self.wait_ranks(job, 2)
                self.assertEqual(self.report(job)["coverage"]["read"], 2)
            finally:
                srun.terminate()


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
