#!/usr/bin/env python3
"""Runs `oddrank node` on ranks of a node that is in trouble: others take its CPUs, and a process of
somebody else is stuck in state D. Notes say so, and accuse no rank.

    node_health_test.py --oddrank PATH
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from sleepers import SLEEP, SPIN

BLOCKED = os.environ["ODDRANK_BLOCKED_VICTIM"]
# Runs only if nobody else wants the CPU (SCHED_IDLE), and counts for the load all the same.
IDLE = """
import os, sys
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        break
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True:
    pass
"""


def load():
    return os.getloadavg()[0]


class NodeHealthTest(unittest.TestCase):
    def start(self, *command, ready=True, **variables):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   start_new_session=True, env=dict(os.environ, **variables))
        self.addCleanup(self.end, process)
        if ready:
            self.assertTrue(process.stdout.readline().startswith(b"ready"))
        return process.pid

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()

    def notes(self, pid):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--json", "-",
                                            "-q", *harness.PATIENTLY]))
        return run.json()["notes"]

    def test_others_take_the_cpus(self):
        cpus = os.cpu_count()
        rank = self.start(sys.executable, "-c", SPIN, RANK="0", WORLD_SIZE="1")
        sleeper = self.start(sys.executable, "-c", SLEEP, RANK="1", WORLD_SIZE="2")
        self.start(sys.executable, "-c", IDLE, str(20 * cpus), ready=False)
        proc_facts.wait_until(lambda: load() > 2 * cpus + 1, "the load is high", every=0.5)
        words = rf"the load is [0-9.]+ on {cpus} CPUs?, and rank 0 wants to run"
        notes = proc_facts.wait_until(
            lambda: [note for note in self.notes(rank) if "the load is" in note],
            "the rank is found runnable")
        self.assertRegex(notes[0], words)
        self.assertEqual([note for note in self.notes(sleeper) if "the load is" in note], [])

    def test_a_process_beside_the_job_is_in_state_d(self):
        rank = self.start(sys.executable, "-c", SLEEP, RANK="0", WORLD_SIZE="1")
        stuck = self.start(BLOCKED, "vfork")
        # What has run within five seconds does not count. Other tests may have such processes, too.
        notes = proc_facts.wait_until(
            lambda: [note for note in self.notes(rank) if "in state D" in note],
            "a process has been in state D for long")
        self.assertTrue(re.search(r"pid \d+ \(\w+\) has been in state D for [^,]+, in \w+; ", notes[0]),
                        notes)
        if f"pid {stuck} " in notes[0]:
            self.assertIn(f"({os.path.basename(BLOCKED)})", notes[0])
        # The wait of the job's own process says it, so there is no note.
        own = self.start(BLOCKED, "vfork", RANK="0", WORLD_SIZE="1")
        self.assertFalse([note for note in self.notes(own) if f"pid {own} " in note])


if __name__ == "__main__":
    harness.main()
