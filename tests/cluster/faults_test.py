#!/usr/bin/env python3
"""Causes faults while `oddrank job` collects, on a real cluster. The report names each fault, no
data is lost, no process of oddrank is left, and the job goes on."""

import contextlib
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
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
# A library that gives a program another wall clock; not available if oddrank is linked statically.
OTHER_CLOCK = os.environ.get("ODDRANK_OTHER_CLOCK")
RANKS = 8
IN_VFORK = 3  # its main thread is in state D
# Agents take two samples; the faults happen in between.
SLOW = ["--interval", "8s", *harness.PATIENTLY]
FOR_EVER = ["--interval", "5m", "--timeout", "10m"]
# A node counts as silent only after this limit.
LIMITED = ["--timeout", "30s", "--interval", "500ms"]  # both of which HELD changes
LIMIT = "30 s"
# Runs in the place of one node's agent: like the others, but it never reaches its second sample.
HELD = """for word; do
  shift
  case $word in --interval=*) word=--interval=1h ;; --timeout=*) word=--timeout=2h ;; esac
  set -- "$@" "$word"
done
exec "$ODDRANK" "$@"
"""


class FaultsTest(unittest.TestCase):
    """One cluster and one job; each test leaves both as it found them."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = cls.enterClassContext(harness.scratch())
        cls.lab = cls.enterClassContext(Cluster())
        step = (f'sh -c \'if [ "$SLURM_PROCID" = {IN_VFORK} ]; then exec {BLOCKED} vfork; fi; '
                f"exec {STEP}'")
        cls.job = StarJob(cls.lab, cls.scratch, nodes=4, ranks=RANKS, step=step)
        # Otherwise rank 0 would wait for that rank's connection too.
        cls.job.start(others=[IN_VFORK], environment={"STAR_CONNECTIONS": str(RANKS - 2)})
        proc_facts.wait_until(cls.in_vfork, f"rank {IN_VFORK} waits for its child")

    @classmethod
    def in_vfork(cls):
        """Returns whether all processes with a child are in state D, so that vfork() must be the reason."""
        pids = [pid for node in cls.lab.nodes for pid in cls.lab.node_pids(node)
                if proc_facts.comm(pid) == os.path.basename(BLOCKED)]
        parents = {proc_facts.parent(pid) for pid in pids} & set(pids)
        return parents and all(proc_facts.state(pid) == "D" for pid in parents)

    def setUp(self):
        self.killed = set()
        # A node that had no network learns late what to start; that agent exits at its own time
        # limit.
        proc_facts.wait_until(lambda: not self.agents(), "no agent is left")

    def tearDown(self):
        proc_facts.wait_until(lambda: not self.agents(), "no agent is left")
        proc_facts.wait_until(lambda: "oddrank" not in self.lab.run_client(
            ["squeue", "-s", "-h", "-j", self.job.id, "-o", "%j"]).stdout, "no step of ours is left")
        self.assertEqual(self.lab.job_state(self.job.id), "RUNNING")
        # A rank whose reader was killed may still need the CPU to get back into its call.
        for rank in set(range(RANKS)) - {IN_VFORK} - self.killed:
            proc_facts.wait_until(lambda rank=rank: self.job.blocked(rank), f"rank {rank} blocks")

    def agents(self, node=None):
        """Returns the pids of our agents, as seen from here."""
        return [pid for name in ([node] if node else self.lab.nodes)
                for pid in self.lab.node_pids(name) if proc_facts.comm(pid) == "oddrank"]

    def agent(self, node):
        """Returns the node's agent if it is between its two samples, None otherwise."""
        pids = self.agents(node)  # its readers have the same name
        return next((pid for pid in pids
                     if proc_facts.parent(pid) not in pids and proc_facts.asleep(pid)), None)

    def start(self, options=SLOW, nodes=None):
        """Starts `oddrank job`; returns when all agents, or those of `nodes`, have taken one sample."""
        command = [Options.oddrank, "job", self.job.id, "--json", "-", *options]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        # If the machine stands still for long, all of them may have come and gone.
        proc_facts.wait_until(lambda: process.poll() is not None
                              or all(self.agent(node) for node in nodes or self.lab.nodes),
                              "the agents have read once", every=0.02)
        return process

    def start_held(self, node):
        """Returns (`oddrank job`, pid of that node's agent). That agent will not answer."""
        self.enterContext(self.agent_through(node, HELD))
        process = self.start(LIMITED, [node])
        self.assertIsNone(process.poll())
        return process, self.agent(node)

    def start_endless(self):
        process = self.start(FOR_EVER)
        self.assertIsNone(process.poll())
        return process

    def environment(self):
        return dict(os.environ, SLURM_CONF=self.lab.conf)

    def finish(self, process, seconds=180):
        out, err = process.communicate(timeout=seconds)
        return Run(subprocess.CompletedProcess(process.args, process.returncode, out, err))

    @contextlib.contextmanager
    def agent_through(self, node, line):
        """Lets the shell run `line` in the agent's place, on that node only; $ODDRANK is the agent."""
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
            self.lab.node_exec(node, ["sh", "-c", f"umount -l {program} {folder}/oddrank"])
            shutil.rmtree(folder)

    def check_partial(self, run, node, *words):
        """Checks that all ranks were read except those of `node`, which are listed with the reason, and that
        the verdict is the same."""
        self.assertEqual(run.status, harness.PARTIAL, run)
        report = run.json()
        unread = [row for row in report["coverage"]["unread"] if row["host"] == node]
        self.assertEqual(len(unread), 2, run)
        for word in words:
            self.assertIn(word, unread[0]["why"])
        self.assertGreaterEqual(report["coverage"]["read"], 5, run)
        self.check_culprit(report, run)

    def check_culprit(self, report, run):
        """Checks that the culprit is the rank that all others wait for; the one in vfork() may be named
        as well."""
        culprits = {row["rank"] for row in report["verdict"]["culprits"]}
        self.assertIn(0, culprits, run)
        self.assertLessEqual(culprits, {0, IN_VFORK}, run)

    def test_01_a_rank_in_state_d_is_a_row_and_costs_nobody_else(self):
        run = self.patient_report()
        report = run.json()
        self.assertEqual(report["coverage"]["expected"], RANKS, run)
        row = next(rank for rank in report["ranks"] if rank["rank"] == IN_VFORK)
        self.assertEqual(row["state"], "D", run)
        self.assertEqual(report["coverage"]["read"] + report["coverage"]["partial"], RANKS, run)

    def test_02_an_agent_is_killed(self):
        process, agent = self.start_held("n2")
        os.kill(agent, signal.SIGKILL)
        self.check_partial(self.finish(process), "n2", "agent")

    def test_03_an_agent_hangs(self):
        process, agent = self.start_held("n2")
        os.kill(agent, signal.SIGSTOP)
        self.check_partial(self.finish(process), "n2", LIMIT)

    def test_04_slurmd_is_killed(self):
        process = self.start()
        self.lab.kill_slurmd("n2")
        try:
            run = self.finish(process)
        finally:
            self.lab.restart_slurmd("n2")
        # Its agent goes on and may still deliver.
        self.assertIn(run.status, (0, harness.PARTIAL), run)
        self.check_culprit(run.json(), run)
        self.assertGreaterEqual(run.json()["coverage"]["read"], 5, run)

    def test_05_the_network_of_a_node_is_cut(self):
        process, _ = self.start_held("n2")
        self.lab.node_exec("n2", ["ip", "link", "set", "eth0", "down"])
        try:
            run = self.finish(process)
        finally:
            self.lab.node_exec("n2", ["ip", "link", "set", "eth0", "up"])
        self.check_partial(run, "n2", LIMIT)

    def test_06_the_controller_goes_away(self):
        process = self.start()
        self.lab.stop_controller()
        try:
            run = self.finish(process)
        finally:
            self.lab.continue_controller()
        self.assertEqual(run.json()["coverage"]["nodes_answered"], 4, run)
        self.check_culprit(run.json(), run)

    def test_07_the_disk_is_full(self):
        script = ("mount -t tmpfs -o size=4k,mode=1777 tmpfs /mnt && "
                  "head -c 4096 /dev/zero > /mnt/full && "
                  f"exec {Options.oddrank} job {self.job.id} --save /mnt/capture --json - " +
                  shlex.join(harness.PATIENTLY))
        run = Run(self.lab.run_client(harness.unshare("sh", "-c", script)))
        self.assertEqual(run.status, 2, run)
        self.assertIn("No space left".lower(), run.err.lower())
        self.assertIn("nothing has been read yet", run.err)
        self.assertEqual(run.out, "", run)

    def test_08_ctrl_c_once_gives_the_report_of_what_is_there(self):
        process = self.start_endless()
        process.send_signal(signal.SIGINT)
        run = self.finish(process, 60)
        self.assertIn("interrupted", run.out)

    def test_09_ctrl_c_twice_ends_everything(self):
        process = self.start_endless()
        process.send_signal(signal.SIGINT)
        # Two pending signals of one kind are delivered as one.
        proc_facts.wait_until(lambda: not proc_facts.pending(process.pid, signal.SIGINT),
                              "the first is taken", every=0.001)
        process.send_signal(signal.SIGINT)
        # If this one comes late, the report that the first one caused has been printed.
        self.assertIn(process.wait(60), (128 + signal.SIGINT, harness.NOTHING_READ))

    def test_10_the_client_is_killed(self):
        process = self.start_endless()
        process.kill()
        process.wait(60)
        # tearDown waits for the end of the agents.

    def test_11_an_answer_is_cut_in_the_middle(self):
        with self.agent_through("n2", 'exec "$ODDRANK" "$@" | head -c 1200'):
            run = self.patient_report()
        self.check_partial(run, "n2", "its answer arrived incomplete")

    def patient_report(self):
        return Run(self.lab.run_client([Options.oddrank, "job", self.job.id, "--json", "-",
                                        *harness.PATIENTLY]))

    def clock_ahead_of(self, node, seconds):
        with self.agent_through(node, f"ODDRANK_CLOCK_OFFSET={seconds} LD_PRELOAD={OTHER_CLOCK} "
                                'exec "$ODDRANK" "$@"'):
            return self.patient_report()

    if OTHER_CLOCK:
        def test_12_a_clock_is_an_hour_off(self):
            """A note says so, and nothing else changes."""
            right = self.patient_report()

            def told(run):
                return run.status, [run.json()["verdict"][key] for key in
                                    ("kind", "confidence", "summary", "culprits", "advice")]
            for seconds, words in ((3600, "60 min ahead"), (-3600, "60 min behind")):
                run = self.clock_ahead_of("n2", seconds)
                self.assertTrue(run.out, run)
                report = run.json()
                self.assertIn(f"n2 is {words}", " ".join(report["notes"]), run)
                self.assertLess(report["coverage"]["capture_skew_ms"], 60_000, run)
                self.assertEqual(told(run), told(right), run)

    def test_13_the_controller_is_restarted(self):
        process = self.start()
        os.kill(self.lab.controller, signal.SIGTERM)  # slurmctld saves its state
        proc_facts.wait_until(lambda: proc_facts.has_ended(self.lab.controller),
                              "the controller has ended")
        # pylint: disable-next=consider-using-with
        again = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "slurmctld", "-D", "-f", self.lab.conf],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(self.environment(), PATH=cluster.daemon_path()))
        self.addClassCleanup(again.wait, 120)
        self.addClassCleanup(again.kill)
        run = self.finish(process)
        self.assertEqual(run.json()["coverage"]["nodes_answered"], 4, run)
        self.check_culprit(run.json(), run)
        proc_facts.wait_until(lambda: self.lab.job_state(self.job.id) == "RUNNING",
                              "the new one knows the job")

    def test_14_a_terminal_shows_who_is_waited_for_and_ctrl_c_gives_the_verdict_so_far(self):
        self.enterContext(self.agent_through("n2", HELD))
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [Options.oddrank, "job", self.job.id, "--json", "-", "--interval", "500ms", "--timeout", "10m"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, text=True, env=self.environment())
        os.close(slave)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        shown = bytearray()

        def shows(words):
            if select.select([master], [], [], 0.2)[0]:
                shown.extend(os.read(master, 65536))
            return words in shown.decode(errors="replace")
        proc_facts.wait_until(lambda: shows("3 of 4 nodes, waiting for n2 (reading)"),
                              "the terminal names the node that is waited for", every=0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=180)
        run = Run(subprocess.CompletedProcess(process.args, process.returncode, out, shown.decode()))
        self.check_partial(run, "n2", "interrupted while its agent was reading")
        self.assertEqual(run.json()["coverage"]["nodes_answered"], 3, run)

    def test_80_a_rank_is_killed(self):
        self.killed = {7}
        pid = self.job.host_pid(7)
        os.kill(pid, signal.SIGKILL)
        proc_facts.wait_until(lambda: proc_facts.state(pid) == "", "rank 7 is gone")
        run = self.patient_report()
        self.assertEqual(run.status, harness.PARTIAL, run)
        unread = run.json()["coverage"]["unread"]
        self.assertIn((7, "n3"), [(row["rank"], row["host"]) for row in unread], run)
        # The others wait for rank 0 as before, and none for the rank that is gone.
        verdict = run.json()["verdict"]
        self.check_culprit(run.json(), run)
        self.assertIn("missing_rank", [row["kind"] for row in verdict["alternatives"]], run)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
