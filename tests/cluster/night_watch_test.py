#!/usr/bin/env python3
"""Runs `oddrank watch` on jobs that it might misjudge, and where it cannot do what it is asked for."""

import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from harness import Options, Run
from night_lab import RANK, NightLab


class WatchLab(NightLab):
    def watch(self, job, *options):
        """Starts `oddrank watch` on n0; returns it and a function for what it has said. (From here, jobs of
        that number in other clusters would be seen, too.)"""
        said = self.enterContext(open(f"{self.folder}/said", "w+b"))  # pylint: disable=consider-using-with
        watch = self.enterContext(subprocess.Popen(  # pylint: disable=consider-using-with
            self.lab.node_command("n0", [Options.oddrank, "watch", "--job", job, "--interval", "500ms",
                                         "--stalled-for", "2s", *options]),
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env=dict(os.environ, SLURM_CONF=self.lab.conf)))
        self.addCleanup(self.signal_ours, signal.SIGTERM)
        return watch, lambda: " ".join(os.pread(said.fileno(), 1 << 20, 0).decode().split())


class NightWatchTest(WatchLab):
    def test_a_watch_says_at_once_that_it_cannot_save(self):
        job = self.start("step")
        file = f"{self.folder}/file"
        with open(file, "wb"):
            pass
        run = self.oddrank("watch", "--job", job, "--save", f"{file}/save", timeout=60)
        harness.check_trouble(self, run, "captures cannot be saved", "not a directory", status=1)
        beside = self.oddrank("watch", "--save", f"{file}/save", "--", "/bin/sleep", "1",
                              extra_env={"RANK": "0"})
        self.assertEqual(beside.status, 0, beside)
        proc_facts.wait_until(lambda: "captures cannot be saved" in beside.err, "the watcher says so")

    def test_a_watch_of_sleepers_says_that_nothing_trains(self):
        job = self.submit("srun -N2 -n2 sleep 3600", "-N2", "-n2")
        watch, said = self.watch(job)
        proc_facts.wait_until(lambda: "nothing is watched" in said(), "the watch says so")
        self.assertIsNone(watch.poll())

    def test_a_watch_of_a_healthy_job_beside_sleepers(self):
        """A larger step that stands still is no reason for an alarm."""
        job = self.submit("srun -N2 -n6 --overlap --overcommit --mem=0 sleep 3600 & "
                          "srun -N2 -n2 --overlap --overcommit --mem=0 "
                          f"/usr/bin/python3 {RANK} {self.folder} step & wait",
                          "-N2", "-n2", "--overcommit")
        proc_facts.wait_until(lambda: os.path.exists(f"{self.folder}/rank-1"), "the ranks are connected")
        watch, said = self.watch(job, "--on-stall", f"touch {self.folder}/alarm")
        proc_facts.wait_until(lambda: watch.pid and self.ours(), "the watch runs")
        ranks = proc_facts.wait_until(lambda: self.ranks_of(job, 2), "both ranks run")

        def steps():  # five a second
            return min(int(proc_facts.status(pid)["voluntary_ctxt_switches"]) for pid in ranks)
        before = steps()
        proc_facts.wait_until(lambda: steps() >= before + 50, "two limits have passed")
        self.assertNotIn("has not moved", said())
        self.signal_ours(signal.SIGUSR1)
        proc_facts.wait_until(lambda: "capture requested by SIGUSR1" in said(), "the watch is awake")
        self.assertRegex(said(), r"capture requested by SIGUSR1 (healthy|slow)")
        self.assertFalse(os.path.exists(f"{self.folder}/alarm"))

    def test_a_command_that_does_not_exist(self):
        plain = self.lab.run_client(["srun", "-n1", "nosuchcmd"])
        watched = Run(self.lab.run_client(["srun", "-n1", Options.oddrank, "watch", "--", "nosuchcmd"]))
        self.assertNotEqual(plain.returncode, 0)
        self.assertEqual(watched.status, 127, watched)
        self.assertIn("cannot run nosuchcmd: no such file or directory", watched.err)


class LateWatchTest(WatchLab):
    @classmethod
    def setUpClass(cls):
        proc_facts.stay_on_one_cpu(cls.addClassCleanup)  # also the nodes, else "last moved" may be unknown
        super().setUpClass()

    def test_a_watch_that_comes_after_the_hang(self):
        """It says when the rank last moved, by the kernel's word, and not its own start."""
        job = self.start_star()
        proc_facts.wait_until(lambda: [row for row in self.report(job)["ranks"]
                                       if row["rank"] == 0 and row["threads"][0].get("quiet_s", 0) >= 8],
                              "rank 0 has waited for eight seconds")
        began = time.time()
        _, said = self.watch(job)
        proc_facts.wait_until(lambda: "before this capture)" in said(), "an alarm")
        moved = re.search(r"rank 0 last moved at (\d+:\d+:\d+) \(([0-9.]+) s before this capture\)", said())
        self.assertIsNotNone(moved, said())
        self.assertIn(moved[1], [time.strftime("%H:%M:%S", time.localtime(began - ago)) for ago in range(5, 600)])
        self.assertGreaterEqual(float(moved[2]), 7, said())
        still = re.search(r"oddrank watch: rank 0 has not moved for ([0-9.]+) s", said())
        self.assertGreaterEqual(float(still[1]), 7, said())


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
