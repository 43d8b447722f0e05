#!/usr/bin/env python3
"""Runs `oddrank node` on ranks that hang, move or run: checks how many samples each decision takes.

    sampling_test.py --oddrank PATH
"""

import ctypes
import os
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

PACING = os.path.join(os.path.dirname(HERE), "victims", "pacing.py")
OLD_S = 5  # kOldWait in node/enough_samples.h
MOST = 5  # kMaxSamples
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # of ptrace(2)
WALL = 0x40000000


class Tracer:
    """Stops the main thread of a process as a debugger does."""

    def __init__(self, pid):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.pid = pid

    def ptrace(self, request):
        if self.libc.ptrace(ctypes.c_long(request), ctypes.c_long(self.pid), None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace({request:#x})")

    def stop(self):
        self.ptrace(SEIZE)
        self.ptrace(INTERRUPT)
        os.waitpid(self.pid, WALL)

    def let_go(self):
        self.ptrace(DETACH)


class Sampling(unittest.TestCase):
    def start(self, *modes):
        """Starts the ranks of a job, one for each mode; returns when each has said that it is ready."""
        ranks = []
        for rank, mode in enumerate(modes):
            process = subprocess.Popen(
                ["/usr/bin/python3", PACING, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(len(modes)),
                         LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                         MASTER_PORT=f"pace{os.getpid()}"))
            self.addCleanup(self.end, process)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            ranks.append(process)
        for mode, process in zip(modes, ranks):
            if mode == "hang":
                proc_facts.wait_until(lambda pid=process.pid: proc_facts.in_call(
                    pid, proc_facts.READ), "it hangs")
        return ranks

    @staticmethod
    def end(process):
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stdout.close()

    @staticmethod
    def command(ranks, *options):
        return [harness.Options.oddrank, "node", *(str(rank.pid) for rank in ranks), "--json", "-",
                *harness.PATIENTLY, *options]

    def read(self, ranks, *options):
        run = harness.Run(harness.run_here(self.command(ranks, *options), also=False))
        return run, [self.main_thread(row) for row in run.json()["ranks"]]

    @staticmethod
    def main_thread(row):
        return next(thread for thread in row["threads"] if thread["tid"] == row["pid"])

    def test_a_job_that_hung_a_moment_ago_is_sampled_until_its_waits_are_old(self):
        proc_facts.stay_on_one_cpu(self.addCleanup)
        for _ in range(3):
            begun = time.monotonic()
            run, threads = self.read(self.start("hang", "hang"))
            if time.monotonic() - begun < 2 * OLD_S or threads[0]["samples"] > 2:
                break  # else the machine paused before the first samples
        for thread in threads:
            self.assertGreater(thread["samples"], 2, run)
            self.assertLessEqual(thread["samples"], MOST, run)
            self.assertGreaterEqual(thread["quiet_s"], OLD_S, run)
        self.assertIn("2 of 2 processes; waits are young, sampling again (3)", run.err, run)

    def test_a_job_that_has_hung_for_long_is_sampled_twice(self):
        ranks = self.start("hang", "hang")
        begun = time.monotonic()
        proc_facts.wait_until(lambda: time.monotonic() > begun + OLD_S + 1, "its waits are old")
        run, threads = self.read(ranks)
        self.assertEqual([thread["samples"] for thread in threads], [2, 2], run)
        self.assertNotIn("sampling again", run.err, run)

    def test_a_job_that_moves_is_decided_by_three_samples(self):
        run, threads = self.read(self.start("step", "step"))
        for thread in threads:  # four if a machine that pauses let a rank take no step
            self.assertIn(thread["samples"], (3, 4), run)

    def test_a_rank_that_runs_or_polls_at_one_place_is_sampled_up_to_the_limit(self):
        run, threads = self.read(self.start("spin", "poll"))
        self.assertEqual([thread["samples"] for thread in threads], [MOST, MOST], run)
        self.assertIn("a rank runs, sampling again (5)", run.err, run)

    def test_what_the_user_chose_is_kept(self):
        ranks = self.start("hang", "hang")
        for options, samples in ((("--samples", "2"), 2), (("--interval", "100ms"), 2),
                                 (("--samples", "4", "--interval", "10ms"), 4)):
            run, threads = self.read(ranks, *options)
            self.assertEqual({thread["samples"] for thread in threads}, {samples}, run)
            self.assertNotIn("sampling again", run.err, run)

    def test_the_stacks_of_one_process_need_two_samples(self):
        run, threads = self.read(self.start("hang"))
        self.assertEqual(threads[0]["samples"], 2, run)

    def test_a_rank_that_another_tool_stops_for_an_instant_is_sampled_again(self):
        for _ in range(4):  # on a busy machine the stop may miss the sample
            ranks = self.start("hang", "hang")
            rank = self.stopped_in_one_sample(ranks)
            if "t" in rank.get("states", ""):
                break
        self.assertRegex(rank["states"], r"^S+tS+$")
        self.assertEqual(rank["state"], "S")
        self.assertEqual(rank["tracer"], {"pid": os.getpid(), "name": self.own_name()})

    def test_a_tracer_that_does_not_stop_a_rank_is_named(self):
        ranks = self.start("hang", "hang")
        tracer = Tracer(ranks[0].pid)
        tracer.ptrace(SEIZE)
        run, threads = self.read(ranks, "--samples", "2")
        tracer.ptrace(INTERRUPT)
        os.waitpid(ranks[0].pid, WALL)
        tracer.let_go()
        self.assertEqual(threads[0]["tracer"], {"pid": os.getpid(), "name": self.own_name()}, run)
        self.assertNotIn("states", threads[0], run)
        self.assertNotIn("tracer", threads[1], run)

    @staticmethod
    def own_name():
        return proc_facts.comm(os.getpid())

    def stopped_in_one_sample(self, ranks):
        """Returns what oddrank reports about the main thread of the first rank, which is stopped in
        its third sample if this machine is fast enough, and released before the fourth."""
        tracer, stopped, said = Tracer(ranks[0].pid), False, []
        with subprocess.Popen(self.command(ranks), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stderr:
                said.append(line)
                if "sampling again (3)" in line:
                    tracer.stop()
                    stopped = True
                elif stopped and "sampling again (4)" in line:
                    tracer.let_go()
                    stopped = False
            if stopped:
                tracer.let_go()
            out = process.stdout.read()
        run = harness.Run(subprocess.CompletedProcess([], process.returncode, out, "".join(said)))
        row = next(row for row in run.json()["ranks"] if row["pid"] == ranks[0].pid)
        thread = self.main_thread(row)
        if "t" in thread.get("states", ""):
            self.assertIn("a rank was stopped for an instant, sampling again (4)", run.err, run)
        return thread


if __name__ == "__main__":
    harness.main()
