#!/usr/bin/env python3
"""What goes wrong while `oddrank job` collects, on a real cluster: each fault is named, nothing that
was read is lost, nothing of ours is left, and the job goes on."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import cluster
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from star_job import STEP, StarJob

BLOCKED = os.environ["ODDRANK_BLOCKED_VICTIM"]
# A library that gives a program another wall clock; not there where oddrank is linked statically.
OTHER_CLOCK = os.environ.get("ODDRANK_OTHER_CLOCK")
RANKS = 8
IN_VFORK = 3  # its main thread is in state D
# Long enough for a fault while the agents read, which they do twice.
TIMEOUT = "12s"
SLOWER = ["--interval", "20s", "--timeout", "60s"]
SLOW = ["--samples", "2", "--interval", "2500ms", "--timeout", TIMEOUT]


class FaultsTest(unittest.TestCase):
    """One cluster and one job; the tests leave both as they found them."""

    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(Cluster())
        cls.scratch = cls.enterClassContext(harness.scratch())
        step = (f'sh -c \'if [ "$SLURM_PROCID" = {IN_VFORK} ]; then exec {BLOCKED} vfork; fi; '
                f"exec {STEP}'")
        cls.job = StarJob(cls.lab, cls.scratch, nodes=4, ranks=RANKS, step=step)
        # Rank 0 would wait for that rank's connection, too.
        cls.job.start(others=[IN_VFORK], environment={"STAR_CONNECTIONS": str(RANKS - 2)})

    def setUp(self):
        self.killed = set()
        # A node that had no network is told late what to start; that agent ends by its own limit.
        proc_facts.wait_until(lambda: not self.agents(), "no agent is left", 60)

    def tearDown(self):
        proc_facts.wait_until(lambda: not self.agents(), "no agent is left", 30)
        self.assertEqual(self.lab.job_state(self.job.id), "RUNNING")
        for rank in set(range(RANKS)) - {IN_VFORK} - self.killed:
            self.assertTrue(self.job.blocked(rank), f"rank {rank}")

    def agents(self, node=None):
        """Pids of our agents, as seen from here."""
        return [pid for name in ([node] if node else self.lab.nodes)
                for pid in self.lab.node_pids(name) if proc_facts.comm(pid) == "oddrank"]

    def start(self, options=SLOW):
        """`oddrank job` at the moment when each node's agent has begun."""
        command = [Options.oddrank, "job", self.job.id, "--json", "-", *options]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        proc_facts.wait_until(lambda: all(self.agents(node) for node in self.lab.nodes),
                              "each node has its agent", 20, 0.02)
        return process

    def environment(self):
        return dict(os.environ, SLURM_CONF=self.lab.conf)

    def finish(self, process, seconds=40):
        out, err = process.communicate(timeout=seconds)
        return Run(subprocess.CompletedProcess(process.args, process.returncode, out, err))

    @contextlib.contextmanager
    def agent_through(self, node, line):
        """On that node alone the shell runs `line` in the agent's place; $ODDRANK is the agent."""
        folder = f"{self.scratch}/agent-{node}"
        os.makedirs(folder)
        open(f"{folder}/oddrank", "wb").close()
        with open(f"{folder}/instead", "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\nODDRANK={folder}/oddrank\n{line}\n")
        os.chmod(f"{folder}/instead", 0o755)
        program = shlex.quote(Options.oddrank)
        try:
            done = self.lab.node_exec(node, ["sh", "-c", f"mount --bind {program} {folder}/oddrank "
                                             f"&& mount --bind {folder}/instead {program}"])
            self.assertEqual(done.returncode, 0, done.stderr)
            yield
        finally:
            self.lab.node_exec(node, ["sh", "-c", f"umount {program}; umount {folder}/oddrank"])
            shutil.rmtree(folder)

    def check_partial(self, run, node, *words):
        """All ranks but those of `node`, which are listed with the reason; the verdict stays."""
        self.assertEqual(run.status, harness.PARTIAL, run)
        report = run.json()
        unread = [row for row in report["coverage"]["unread"] if row["host"] == node]
        self.assertEqual(len(unread), 2, run)
        for word in words:
            self.assertIn(word, unread[0]["why"])
        self.assertGreaterEqual(report["coverage"]["read"], 5, run)
        self.check_culprit(report, run)

    def check_culprit(self, report, run):
        """The rank that all others wait for; the one in vfork() may be named beside it."""
        culprits = {row["rank"] for row in report["verdict"]["culprits"]}
        self.assertIn(0, culprits, run)
        self.assertLessEqual(culprits, {0, IN_VFORK}, run)

    def test_01_a_rank_in_state_d_is_a_row_and_costs_nobody_else(self):
        run = Run(self.lab.run_client([Options.oddrank, "job", self.job.id, "--json", "-"]))
        report = run.json()
        self.assertEqual(report["coverage"]["expected"], RANKS, run)
        row = next(rank for rank in report["ranks"] if rank["rank"] == IN_VFORK)
        self.assertEqual(row["state"], "D", run)
        self.assertEqual(report["coverage"]["read"] + report["coverage"]["partial"], RANKS, run)

    def test_02_an_agent_is_killed(self):
        process = self.start()
        os.kill(self.agents("n2")[0], signal.SIGKILL)
        self.check_partial(self.finish(process), "n2", "agent")

    def test_03_an_agent_hangs(self):
        process = self.start()
        for pid in self.agents("n2"):
            os.kill(pid, signal.SIGSTOP)
        run = self.finish(process)
        # One that had not said a word yet is asked again, and a second agent answers.
        if run.status != 0:
            self.check_partial(run, "n2", "12 s")
        self.check_culprit(run.json(), run)

    def test_04_slurmd_is_killed(self):
        process = self.start()
        self.lab.kill_slurmd("n2")
        try:
            run = self.finish(process)
        finally:
            self.lab.restart_slurmd("n2")
        # Its agent lives on and may still deliver.
        self.assertIn(run.status, (0, harness.PARTIAL), run)
        self.check_culprit(run.json(), run)
        self.assertGreaterEqual(run.json()["coverage"]["read"], 5, run)

    def test_05_the_network_of_a_node_is_cut(self):
        process = self.start()
        self.lab.node_exec("n2", ["ip", "link", "set", "eth0", "down"])
        try:
            run = self.finish(process)
        finally:
            self.lab.node_exec("n2", ["ip", "link", "set", "eth0", "up"])
        self.check_partial(run, "n2", "12 s")

    def test_06_the_controller_goes_away(self):
        process = self.start()
        os.kill(self.lab.controller, signal.SIGSTOP)
        try:
            run = self.finish(process)
        finally:
            os.kill(self.lab.controller, signal.SIGCONT)
        # It has much to catch up with, before the next test's questions.
        proc_facts.wait_until(lambda: self.lab.run_client(["squeue", "-h"]).returncode == 0,
                              "the controller answers again", 60)
        self.assertEqual(run.json()["coverage"]["nodes_answered"], 4, run)
        self.check_culprit(run.json(), run)

    def test_07_the_disk_is_full(self):
        script = ("mount -t tmpfs -o size=4k,mode=1777 tmpfs /mnt && "
                  "head -c 4096 /dev/zero > /mnt/full && "
                  f"exec {Options.oddrank} job {self.job.id} --save /mnt/capture --json -")
        run = Run(self.lab.run_client(["unshare", "--mount", "sh", "-c", script]))
        self.assertEqual(run.status, 1, run)
        self.assertIn("No space left".lower(), run.err.lower())
        self.check_culprit(run.json(), run)

    def test_08_ctrl_c_once_gives_the_report_of_what_is_there(self):
        process = self.start(SLOWER)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        run = self.finish(process, 10)
        self.assertLess(time.monotonic() - began, 5)
        self.assertIn("interrupted", run.out)

    def test_09_ctrl_c_twice_ends_everything(self):
        process = self.start(SLOWER)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.wait(5)
        self.assertLess(time.monotonic() - began, 1.5)

    def test_10_the_client_is_killed(self):
        process = self.start(SLOWER)
        process.kill()
        process.wait(5)
        # tearDown sees the agents' end.

    def test_11_an_answer_is_cut_in_the_middle(self):
        with self.agent_through("n2", 'exec "$ODDRANK" "$@" | head -c 1200'):
            run = Run(self.lab.run_client([Options.oddrank, "job", self.job.id, "--json", "-"]))
        self.check_partial(run, "n2", "its answer arrived incomplete")

    def patient_report(self):
        """For what is not about time: other tests may want all CPUs."""
        return Run(self.lab.run_client([Options.oddrank, "job", self.job.id, "--json", "-",
                                        "--timeout", "60s"], timeout=90))

    def clock_ahead_of(self, node, seconds):
        with self.agent_through(node, f"ODDRANK_CLOCK_OFFSET={seconds} LD_PRELOAD={OTHER_CLOCK} "
                                'exec "$ODDRANK" "$@"'):
            return self.patient_report()

    if OTHER_CLOCK:
        def test_12_a_clock_is_an_hour_off(self):
            """It is said, and changes nothing else."""
            right = self.patient_report()

            def told(run):
                return run.status, [run.json()["verdict"][key] for key in
                                    ("kind", "confidence", "summary", "culprits", "advice")]
            for seconds, words in ((3600, "60 min ahead"), (-3600, "60 min behind")):
                run = self.clock_ahead_of("n2", seconds)
                self.assertTrue(run.out, run)
                report = run.json()
                self.assertIn(f"the clock of n2 is {words}", " ".join(report["notes"]), run)
                self.assertLess(report["coverage"]["capture_skew_ms"], 60_000, run)
                self.assertEqual(told(run), told(right), run)

    def test_13_the_controller_is_restarted(self):
        process = self.start(["--samples", "2", "--interval", "4s", "--timeout", "20s"])
        os.kill(self.lab.controller, signal.SIGTERM)  # it saves what it knows
        proc_facts.wait_until(lambda: proc_facts.state(self.lab.controller) in ("", "Z"),
                              "the controller has ended", 20)
        # pylint: disable-next=consider-using-with
        again = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "slurmctld", "-D", "-f", self.lab.conf],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(self.environment(), PATH=cluster.daemon_path()))
        self.addClassCleanup(again.wait, 20)
        self.addClassCleanup(again.kill)
        run = self.finish(process)
        self.assertEqual(run.json()["coverage"]["nodes_answered"], 4, run)
        self.check_culprit(run.json(), run)
        proc_facts.wait_until(lambda: self.lab.job_state(self.job.id) == "RUNNING",
                              "the new one knows the job", 30)

    def test_80_a_rank_is_killed(self):
        self.killed = {7}
        pid = self.job.host_pid(7)
        os.kill(pid, signal.SIGKILL)
        proc_facts.wait_until(lambda: proc_facts.state(pid) == "", "rank 7 is gone", 10)
        run = Run(self.lab.run_client([Options.oddrank, "job", self.job.id, "--json", "-"]))
        self.assertEqual(run.status, harness.PARTIAL, run)
        unread = run.json()["coverage"]["unread"]
        self.assertIn((7, "n3"), [(row["rank"], row["host"]) for row in unread], run)
        # The others wait for rank 0 as before, and nobody for the one that is gone.
        verdict = run.json()["verdict"]
        self.check_culprit(run.json(), run)
        self.assertIn("missing_rank", [row["kind"] for row in verdict["alternatives"]], run)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
