#!/usr/bin/env python3
"""Tests that the CPU time of `oddrank node` grows with the number of ranks, and no faster.

    many_ranks_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

FEW, MANY = 12, 72
# Time that grows with the square of the ranks would grow 36 times.
MOST = 1.7 * MANY / FEW
CODE = """
import ctypes, socket
ctypes.CDLL(None).prctl(1, 9)  # ends with the test
ours, theirs = socket.socketpair()
print("ready", flush=True)
ours.recv(1)
"""


class ManyRanks(unittest.TestCase):
    def start(self, count):
        for rank in range(count):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count),
                               MASTER_ADDR="127.0.0.1", MASTER_PORT="29733")
            process = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, env=environment)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            yield process

    def seconds_for(self, processes):
        pids = [process.pid for process in processes]
        proc_facts.wait_until(lambda: all(proc_facts.sleeping(pid) for pid in pids),
                              "all ranks wait")
        runs, least = harness.timed_runs(
            ["node", *map(str, pids), "--samples", "1", "--json", "-", *harness.PATIENTLY])
        for run in runs:
            self.assertIn(run.status, (0, 3), run.err)  # 3: of the few, the others are missing
            self.assertEqual(len(run.json()["ranks"]), len(pids))
        return least

    def test_time_is_linear(self):
        processes = list(self.start(MANY))
        for process in processes:
            self.assertEqual(process.stdout.readline(), b"ready\n")
        few, many = self.seconds_for(processes[:FEW]), self.seconds_for(processes)
        self.assertLess(many, MOST * few, f"{FEW} ranks: {few} s, {MANY} ranks: {many} s")


if __name__ == "__main__":
    harness.main()
