#!/usr/bin/env python3
"""Runs `oddrank node` on threads that wait for nothing: the change between two samples shows
whether they spin, poll, work or sleep.

    motion_test.py --oddrank PATH        ODDRANK_VICTIMS names the folder of the victim programs
"""

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

VICTIMS = os.environ.get("ODDRANK_VICTIMS", "")
SPINS = r"used \d+ ms of CPU in the same functions: it spins, or works at one place$"
# If others want the CPU, a thread that gives it up gets little of it.
PUT_ASIDE = r"was put aside \d+ times in the same functions: it spins, while others want the CPU$"


def counters(pid, tid):
    """Returns a thread's milliseconds of CPU, and its voluntary and other context switches."""
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    row = proc_facts.status(pid, tid)
    return (sum(map(int, fields[11:13])) * 1000 // os.sysconf("SC_CLK_TCK"),
            int(row["voluntary_ctxt_switches"]), int(row["nonvoluntary_ctxt_switches"]))


def moved(name, before, after):
    """Returns whether the thread did so much that the report must show it."""
    cpu_ms, woke, put_aside = (now - then for then, now in zip(before, after))
    enough = {"spins": cpu_ms > 200, "works": cpu_ms > 200, "polls": woke > 20,
              "yields": cpu_ms > 200 or put_aside > 300}
    return enough.get(name, True)


class Motion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        process = subprocess.Popen([f"{VICTIMS}/motion"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end, process)
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], words
        said = {name: int(number) for name, _, number in (w.partition("=") for w in words[1:])}
        # If others want the CPU too, samples take long and these threads get little of it.
        for interval_s in (1, 5, 20):
            begun = time.monotonic()
            before = {name: counters(process.pid, tid) for name, tid in said.items()}
            # One build only, because its run time tells whether others want the CPU.
            run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid),
                                                "--all-threads", "--samples", "2", "--interval",
                                                f"{interval_s}s", "--json", "-", "-q"], also=False))
            took_s = time.monotonic() - begun
            rank, = run.json()["ranks"]
            by_tid = {row["tid"]: row["wait"] for row in rank["threads"]}
            cls.waits = {name: by_tid[tid] for name, tid in said.items()}
            # A sample that finds it awake, or for which it could not be stopped, does not show this.
            polls = "it polls" in cls.waits["polls"]["detail"]
            if polls and took_s < 1.5 * interval_s and all(
                    moved(name, before[name], counters(process.pid, said[name])) for name in said):
                break

    @classmethod
    def end(cls, process):
        process.kill()
        process.wait(60)
        process.stdout.close()

    def check(self, name, what, pattern):
        wait = self.waits[name]
        self.assertRegex(wait["detail"], pattern)
        self.assertEqual((wait["what"], wait["pid"], wait["tid"]), (what, None, None), wait)

    def test_a_loop_that_looks_at_memory_spins(self):
        self.check("spins", "nothing", "^runs; " + SPINS)

    def test_a_loop_that_gives_the_cpu_up_spins(self):
        self.check("yields", "nothing", f"; ({SPINS})|({PUT_ASIDE})")

    def test_a_loop_that_sleeps_polls(self):
        awake = self.waits["polls"]["detail"].startswith("runs; ")
        self.check("polls", "nothing" if awake else "unknown",
                   r"; woke \d+ times in the same functions: it polls$")

    def test_a_stack_that_moves_is_work(self):
        self.check("works", "nothing", r"used \d+ ms of CPU, its stack moved: it works$")

    def test_who_sleeps_is_said_to_sleep_and_no_more(self):
        self.check("sleeps", "unknown", r"^sleeps \(clock_nanosleep\)(, for [^;]* more at most)?$")


if __name__ == "__main__":
    harness.main()
