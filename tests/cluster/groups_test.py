#!/usr/bin/env python3
"""Runs `oddrank node` on a job that is parallel in several dimensions (tests/victims/parallel_job.py):
eight gloo ranks that end up waiting in groups of four and two. Except in one test, no environment
variable is set and no recorder is on: the groups are read from the memory of the processes. The
cascade of waits must end at the one rank that sleeps."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from harness import Options, Run
from training_job import ROOT, find_torch_python, reserve_port

RANKS = 8
STUCK, AT = 5, 2
IN_GROUPS = {**{rank: (AT, "dp") for rank in range(4)},
             **{rank: (AT, "tp") for rank in (4, 6, 7)}, STUCK: (AT, "sleep")}
# The pipeline backs up: each stage before the stuck one is one step further.
IN_PIPELINE = {**{rank: (AT + 4 - rank, "send") for rank in range(5)}, STUCK: (AT, "sleep"),
               6: (AT, "recv"), 7: (AT, "recv")}


class ParallelJob:
    """The ranks as processes on this machine. A context manager that always ends them."""

    def __init__(self, directory, how):
        self.directory, self.how = directory, how
        self.processes = []
        self._reserved = None

    def __enter__(self):
        port, self._reserved = reserve_port()
        command = [find_torch_python(), f"{ROOT}/tests/victims/parallel_job.py",
                   f"--facts={self.directory}", f"--how={self.how}"]
        with open(f"{self.directory}/log", "ab") as log:
            for rank in range(RANKS):
                environment = {"PATH": os.environ["PATH"], "RANK": str(rank),
                               "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
                               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                               "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
                if self.how == "mesh":
                    environment["TORCH_FR_BUFFER_SIZE"] = "100"
                    environment["TORCH_WORKER_SERVER_SOCKET"] = f"{self.directory}/ask-{rank}"
                self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log,
                                                       stderr=log, env=environment))
        return self

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(120)
            process.stdin.close()
        self._reserved.close()

    def fact(self, rank):
        try:
            with open(f"{self.directory}/rank-{rank}.json", encoding="utf-8") as file:
                row = json.load(file)
                return row["step"], row["doing"]
        except OSError:
            return None

    def alive(self):
        return all(process.poll() is None for process in self.processes)

    def wait_hung(self, expected):
        def hung():
            if not self.alive():
                with open(f"{self.directory}/log", encoding="utf-8") as log:
                    raise RuntimeError(f"a rank ended:\n{log.read()[-2000:]}")
            return (all(self.fact(rank) == expected[rank] for rank in range(RANKS))
                    and all(proc_facts.sleeping(process.pid) for process in self.processes))
        try:
            proc_facts.wait_until(hung, "the job hangs", 400, 0.2)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {[self.fact(rank) for rank in range(RANKS)]}") from error


class GroupsTest(unittest.TestCase):
    def diagnose(self, how, expected):
        with harness.scratch() as scratch, ParallelJob(scratch, how) as job:
            job.wait_hung(expected)
            pids = [str(process.pid) for process in job.processes]
            command = [Options.oddrank, "node", *pids, *harness.PATIENTLY]
            run = Run(harness.run_here([*command, "--json", "-"]))
            text = Run(harness.run_here(command))
            self.assertTrue(job.alive())
        self.assertEqual(run.status, 0, run)
        report = run.json()
        self.assertEqual(report["coverage"]["read"], RANKS, run)
        verdict = report["verdict"]
        self.assertEqual([row["rank"] for row in verdict["culprits"]], [STUCK], verdict)
        self.assertNotIn(verdict["confidence"], ("none", "possible"), verdict)
        return report, text.out

    def check_slots(self, report, dp, tp):
        """Checks every group that a rank waits in, with its missing members. `dp` and `tp` are the
        report's names for the groups."""
        slots = {(row["inside"], row["absent"]) for row in report["collectives"]}
        self.assertEqual(slots, {("4,6-7", "5"), ("0", "4"), ("1", "5"), ("2", "6"), ("3", "7")})
        phases = {group["ranks"]: group["phase"] for group in report["groups"]}
        self.assertIn(tp, phases["4,6-7"])
        waits = " ".join(f"{link['on']} {link['evidence']}" for link in report["verdict"]["chain"])
        self.assertIn(tp, waits)
        self.assertIn(dp, json.dumps(report))

    def test_groups_in_locals(self):
        report, text = self.diagnose("plain", IN_GROUPS)
        self.check_slots(report, "{0,4}", "{4-7}")
        self.assertIn("{4-7}", text)

    def test_groups_of_megatron(self):
        report, _ = self.diagnose("megatron", IN_GROUPS)
        self.check_slots(report, "group dp {0,4}", "group tp {4-7}")

    def test_groups_of_a_device_mesh(self):
        """The ranks' flight recorders are read: the number of each call is known, and the recorders
        name the same rank."""
        report, _ = self.diagnose("mesh", IN_GROUPS)
        self.check_slots(report, "group dp {0,4}", "group tp {4-7}")
        slots = {row["inside"]: row["sequence"] for row in report["collectives"]}
        self.assertEqual(slots, dict.fromkeys(("4,6-7", "0", "1", "2", "3"), AT + 1))
        rows = [row for row in report["sources"] if row["source"] == "flight recorder"]
        self.assertEqual([(row["ranks"], row["agrees"]) for row in rows], [(str(STUCK), True)])
        self.assertIn(f"calls in the memory of {RANKS} of {RANKS} ranks", rows[0]["text"])

    def test_pipeline(self):
        report, text = self.diagnose("p2p", IN_PIPELINE)
        self.assertIn("recv from rank 5", text)
        self.assertIn("recv from rank 6", text)
        self.assertIn("send to rank 5", text)
        links = [(link["waiters"], link["waits_for"]) for link in report["verdict"]["chain"]]
        self.assertTrue(any(waits_for == "5" for _, waits_for in links), links)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
