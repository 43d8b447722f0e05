#!/usr/bin/env python3
"""Tests `oddrank job` end to end: a real SLURM cluster of four nodes, and a real PyTorch job of eight
ranks, rank 5 of which hangs in its input pipeline. If possible, the job and oddrank run as an ordinary
user without capabilities or privileges, which is the common case. One job serves all tests of this
file, in the order of their numbers. At the end the missing data arrives and the job finishes,
undisturbed."""

import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from training_job import TrainingJob, find_torch_python

HEALTHY = [0, 1, 2, 3, 4, 6, 7]
# The line that the watchdog of a GPU job would have printed.
SAYS = ("[rank0]:[E1121 10:00:01.000 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID 0(default_pg) Rank 0] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, "
        "NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.")
USER = "nobody"


class HungJobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(harness.scratch())
        cls.lab = cls.enterClassContext(Cluster())
        cls.job = TrainingJob(f"{cls.scratch}/job", find_torch_python()).prepare()
        cls.user = None if harness.needs_other_user() else USER
        cls.id = cls.lab.submit(cls.job.script, user=cls.user, extra_env={"TRAIN_SAYS": SAYS})
        cls.lab.wait_job_running(cls.id)
        cls.job.wait_hung(cls.lab, still_there=lambda: cls.lab.job_state(cls.id) == "RUNNING")

    def oddrank(self, *arguments, **options):
        return Run(self.lab.run_client([Options.oddrank, *arguments],
                                       **{"user": self.user, **options}))

    def patient_job(self, *arguments):
        return self.oddrank("job", self.id, *harness.PATIENTLY, *arguments)

    def check_verdict(self, report):
        """Checks that the verdict names rank 5, by the facts that the job itself wrote down."""
        rank, worker = self.job.fact(5), self.job.fact(5, "worker")
        verdict = report["verdict"]
        self.assertEqual(verdict["kind"], "input_stall", verdict)
        self.assertEqual(len(verdict["culprits"]), 1, verdict)
        culprit = verdict["culprits"][0]
        self.assertEqual((culprit["rank"], culprit["host"], culprit["pid"]),
                         (5, rank["host"], rank["pid"]))
        self.assertEqual(culprit["waits_for"]["pid"], worker["pid"], culprit)
        self.assertIn(self.job.fifo, json.dumps(verdict))

    # -- the report -------------------------------------------------------------------------------

    def test_01_json_names_rank_5(self):
        run = self.patient_job("--json", "-", "-q")
        self.assertEqual(run.status, 0, run)
        report = run.json()
        self.check_verdict(report)
        self.assertEqual(report["oddrank"]["format"], 1)
        self.assertEqual(report["job"]["id"], self.id)
        self.assertEqual(report["job"]["source"], "slurm")
        self.assertEqual(report["job"]["world_size"], 8)
        self.assertEqual(sorted(report["job"]["hosts"]), ["n0", "n1", "n2", "n3"])
        coverage = report["coverage"]
        self.assertEqual((coverage["expected"], coverage["read"], coverage["unread"]), (8, 8, []))
        groups = {group["ranks"]: group for group in report["groups"]}
        self.assertEqual(set(groups), {"0-4,6-7", "5"})
        self.assertEqual(groups["0-4,6-7"]["count"], 7)
        self.assertIn("all_reduce", json.dumps(groups["0-4,6-7"]["frames"]))
        self.assertIn("average_gradients", json.dumps(groups["0-4,6-7"]["frames"]))
        for rank in report["ranks"]:
            fact = self.job.fact(rank["rank"])
            self.assertEqual((rank["host"], rank["pid"]), (fact["host"], fact["pid"]))

        # From the file that SLURM says the job writes to; the ranks' stdout is a pipe to srun.
        said = [row["text"] for row in report["sources"] if row["source"] == "log"]
        self.assertEqual(said, ["PyTorch's watchdog gave up ALLREDUCE #12 on rank 0"], report["sources"])

    def test_02_first_screen_in_time(self):
        # The best of several runs, because the machine may be busy for a while.
        best = float("inf")
        for _ in range(15):
            began = time.monotonic()
            run = self.patient_job()
            best = min(best, time.monotonic() - began)
            self.assertEqual(run.status, 0, run)
            if best < Options.limit_s:
                break
        print(f"oddrank job took {best:.2f} s")
        self.assertLess(best, Options.limit_s)
        screen = "\n".join(run.out.splitlines()[:40])
        for text in ("rank 5", "n2", str(self.job.fact(5)["pid"]), "8/8 ranks", "4/4 nodes",
                     "0-4,6-7", "train.py", "average_gradients"):
            self.assertIn(text, screen, run)

    def test_03_no_rank_is_disturbed(self):
        """Even a short stop shows as a context switch of a thread that does nothing else."""
        pids = {rank: self.job.host_pid(rank, lab=self.lab) for rank in range(8)}
        worker = self.job.host_pid(5, "worker", self.lab)
        still = [pids[rank] for rank in HEALTHY] + [worker]

        def look():
            return {pid: proc_facts.status(pid)["voluntary_ctxt_switches"] for pid in still}
        before = look()
        self.assertEqual(self.patient_job("--all-threads").status, 0)
        self.assertEqual(look(), before)
        for pid in [*pids.values(), worker]:
            self.assertEqual(proc_facts.status(pid)["TracerPid"], "0")
            # Rank 5 checks every few seconds whether its worker is alive.
            proc_facts.wait_until(lambda pid=pid: proc_facts.state(pid) == "S", "it sleeps again")
        self.assertEqual(self.lab.job_state(self.id), "RUNNING")

    def test_04_saved_capture_gives_the_same_verdict(self):
        saved = f"{self.scratch}/capture"
        live = self.patient_job("--save", saved, "--json", "-", "-q")
        self.assertEqual(live.status, 0, live)
        again = self.oddrank("report", saved, "--json", "-", "-q")
        self.assertEqual(again.status, 0, again)
        self.check_verdict(again.json())
        self.assertEqual(again.json()["verdict"], live.json()["verdict"])
        self.assertEqual(again.json()["groups"], live.json()["groups"])

    def test_05_a_larger_step_beside_it_changes_nothing(self):
        """More sleepers than ranks, with the numbers of tasks, on all nodes."""
        step = self.lab.run_client(
            ["sh", "-c", f"srun --jobid={self.id} --overlap --overcommit --mem=0 -J beside -N4 -n12 sleep 600 "
             "</dev/null >/dev/null 2>&1 &"], user=self.user)
        self.assertEqual(step.returncode, 0, step)

        def sleepers():
            return [pid for node in self.lab.nodes for pid in self.lab.node_pids(node)
                    if proc_facts.comm(pid) == "sleep"]
        try:
            proc_facts.wait_until(lambda: len(sleepers()) == 12, "the sleepers run")
            run = self.patient_job("--json", "-", "-q")
            self.assertEqual(run.status, 0, run)
            self.check_verdict(run.json())
            coverage = run.json()["coverage"]
            self.assertEqual((coverage["expected"], coverage["read"]), (8, 8), coverage)
            self.assertIn("sleep", " ".join(run.json()["notes"]), run.json()["notes"])
        finally:
            steps = self.lab.run_client(["squeue", "-s", "-h", "-j", self.id, "-o", "%i %j"]).stdout
            for line in steps.splitlines():
                if line.split()[1] == "beside":
                    self.lab.run_client(["scancel", line.split()[0]], user=self.user)
        proc_facts.wait_until(lambda: not sleepers(), "the sleepers are gone")

    # -- trouble ----------------------------------------------------------------------------------

    def test_10_unknown_job(self):
        harness.check_trouble(self, self.oddrank("job", "999999"), "999999")

    def test_11_not_a_job_id(self):
        harness.check_trouble(self, self.oddrank("job", "seven"), "seven", status=2)

    def test_12_pending_job(self):
        script = f"{self.scratch}/pending.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n#SBATCH --output=/dev/null --exclusive\ntrue\n")
        pending = self.lab.submit(script, user=self.user)
        self.addCleanup(self.lab.cancel, pending)
        self.assertEqual(self.lab.job_state(pending), "PENDING")
        harness.check_trouble(self, self.oddrank("job", pending), pending, "pending")

    def test_13_job_of_somebody_else(self):
        """SLURM lets no other user start agents in it, not even root."""
        if self.user is None:
            self.skipTest(harness.needs_other_user())
        harness.check_trouble(self, self.oddrank("job", self.id, "-q", user=None), self.id,
                              self.user)

    def test_14_no_slurm_here(self):
        run = self.oddrank("job", self.id, extra_env={"PATH": "/nonexistent"})
        harness.check_trouble(self, run, "slurm")

    def test_15_controller_does_not_answer(self):
        self.lab.stop_controller()
        try:
            began = time.monotonic()
            run = self.oddrank("job", self.id, "--timeout", "5s")
            self.assertLess(time.monotonic() - began, 40)
        finally:
            self.lab.continue_controller()
        harness.check_trouble(self, run, self.id)

    def test_16_one_node_does_not_answer(self):
        # A limit that the other nodes meet even if the machine stands still for a while.
        self.lab.stop_slurmd("n3")
        try:
            began = time.monotonic()
            run = self.oddrank("job", self.id, "--timeout", "20s", "--json",
                               f"{self.scratch}/report.json")
            self.assertLess(time.monotonic() - began, 60)
        finally:
            self.lab.continue_slurmd("n3")
        self.assertEqual(run.status, harness.PARTIAL, run)
        self.assertIn("6/8 ranks on 3/4 nodes", run.out)
        self.assertIn("n3", run.out)
        with open(f"{self.scratch}/report.json", encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["coverage"]["expected"], 8)
        self.assertEqual(report["coverage"]["read"], 6)
        unread = report["coverage"]["unread"]
        self.assertEqual({row["host"] for row in unread}, {"n3"}, unread)
        self.assertTrue(all(row["why"] for row in unread), unread)
        self.assertEqual({row["rank"] for row in report["verdict"]["culprits"]}, {5})

    # -- and the job goes on ----------------------------------------------------------------------

    def test_90_the_job_finishes_when_its_data_comes(self):
        self.job.feed()
        state = self.lab.wait_job_state(self.id, ("COMPLETED", "FAILED", "CANCELLED"))
        self.assertEqual(state, "COMPLETED", self.job.tail())
        self.assertIn(f"step {self.job.steps - 1}:", self.job.tail())

    def test_91_finished_job(self):
        harness.check_trouble(self, self.oddrank("job", self.id), self.id, "completed")


if __name__ == "__main__":
    harness.main(harness.needs_cluster, harness.needs_torch)
