#!/usr/bin/env python3
"""Ranks of several jobs that have the same name: of several users, of a sweep, of posers. The report of root
accounts for each of their processes, and shows none in place of another's."""

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

ALICE, BOB, CAROL = 61301, 61302, 61303  # no such users are needed
PROGRAM = "import sys; print('ready', flush=True); sys.stdin.read()"
USERS = (ALICE, BOB, CAROL)


def needs_root():
    return None if os.geteuid() == 0 else "needs root, to become other users"


class WhoIsWho(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        os.chmod(self.folder, 0o755)
        self.script = f"{self.folder}/train.py"
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.all = []

    def start(self, rank, size, user=None, program=None, **variables):
        names = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "localhost",
                 "MASTER_PORT": "29777", "PATH": os.environ["PATH"]}
        become = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        process = subprocess.Popen(program or ["/usr/bin/python3", self.script], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**names, **variables}, cwd="/", **become)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.in_call(process.pid, proc_facts.READ), "it waits")
        self.all.append(process.pid)
        return process.pid

    @staticmethod
    def end(process):
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stdout.close()

    def node(self, *arguments):
        return harness.Run(harness.run_here([harness.Options.oddrank, "node", "--json", "-", "--samples", "1",
                                             *arguments]))

    def each(self):
        """Returns the pids of the ranks of each job."""
        text, jobs = self.node("--each").out.lstrip(), []
        while text:
            report, end = json.JSONDecoder().raw_decode(text)
            jobs.append([rank["pid"] for rank in report["ranks"] if rank["pid"] in self.all])
            text = text[end:].lstrip()
        return sorted(filter(None, jobs))

    def select(self, name):
        """Returns pid -> rank of the one job with this name."""
        report = self.node("--select", name).json()
        return {rank["pid"]: rank["rank"] for rank in report["ranks"]}, report

    def test_three_users_with_jobs_of_one_name(self):
        jobs = {user: [self.start(rank, 2, user) for rank in range(2)] for user in USERS}
        run = self.node()
        self.assertEqual(run.status, 2, run)
        for user, pids in jobs.items():
            name = f"localhost:29777 of user {user}"
            self.assertIn(f"--select '{name}'", run.err)
            ranks, report = self.select(name)
            self.assertEqual(ranks, dict(zip(pids, range(2))), report)
        self.assertEqual(self.each(), sorted(jobs.values()))

    def test_a_poser_replaces_nobody(self):
        """Another user's process has all variables of a rank, SLURM's too; it began before, or after."""
        slurm = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2",
                 "SLURM_STEP_NUM_TASKS": "2"}
        for variables in ({}, slurm):
            before = self.start(0, 2, BOB, **variables, **({"SLURM_PROCID": "0"} if variables else {}))
            victims = [self.start(rank, 2, ALICE, **variables,
                                  **({"SLURM_PROCID": str(rank)} if variables else {})) for rank in range(2)]
            after = self.start(1, 2, BOB, **variables, **({"SLURM_PROCID": "1"} if variables else {}))
            job = "slurm 4711.0" if variables else "localhost:29777"
            ranks, report = self.select(f"{job} of user {ALICE}")
            self.assertEqual(ranks, {victims[0]: 0, victims[1]: 1}, report)
            self.assertIn(f"{job} of user {BOB}", str(report["notes"]))
            ranks, report = self.select(f"{job} of user {BOB}")
            self.assertEqual(ranks, {before: 0, after: 1}, report)

    def test_an_agent_believes_only_the_owner_of_a_slurm_job(self):
        variables = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2",
                     "SLURM_STEP_NUM_TASKS": "2"}
        poser = self.start(0, 2, BOB, SLURM_PROCID="0", **variables)
        victims = [self.start(rank, 2, ALICE, SLURM_PROCID=str(rank), **variables) for rank in range(2)]
        capture = f"{self.folder}/node.odd"
        run = harness.run_here([harness.Options.oddrank, "agent", "--slurm-job", "4711", "--slurm-user", str(ALICE),
                                "--samples", "1", "--out", capture])
        self.assertEqual(run.returncode, 0, run.stderr)
        report = harness.Run(harness.run_here([harness.Options.oddrank, "report", capture, "--json", "-"])).json()
        self.assertEqual({rank["pid"] for rank in report["ranks"]}, set(victims), report)
        self.assertIn(f"pid {poser} (python3) of user {BOB}", str(report["notes"]))

    def test_a_sweep_of_small_runs(self):
        """Three runs of one rank each, started by hand with the same variables."""
        pids = [self.start(0, 1) for _ in range(3)]
        run = self.node()
        self.assertEqual(run.status, 2, run)
        self.assertEqual(run.err.count("--select 'localhost:29777"), 2, run)
        self.assertIn("--select localhost:29777\n", run.err)
        self.assertEqual(self.each(), sorted([pid] for pid in pids))

    def test_two_processes_that_claim_one_rank(self):
        """The same user's: both pids are shown, and one of them is not read."""
        first = [self.start(rank, 2) for rank in range(2)]
        second = self.start(1, 2)
        report = self.node("--select", "localhost:29777").json()
        shown = {rank["pid"] for rank in report["ranks"]}
        self.assertTrue(shown in ({first[0], first[1]}, {first[0], second}), report)
        (left,) = {first[1], second} - shown
        self.assertIn(f"pid {left} (python3) as rank 1", str(report["notes"]))

    def test_nothing_that_looks_like_a_rank_is_left_out_silently(self):
        """A process beside the ranks carries the number of one, and began before it."""
        monitor = self.start(0, 2, program=["/usr/bin/python3", "-c", PROGRAM])
        pids = [self.start(rank, 2) for rank in range(2)]
        report = self.node("--select", "localhost:29777").json()
        self.assertEqual({rank["pid"] for rank in report["ranks"]}, set(pids), report)
        self.assertIn(f"pid {monitor} (python3)", str(report["notes"]))


if __name__ == "__main__":
    harness.main(needs_root)
