#!/usr/bin/env python3
"""Tests that the CPU time of `oddrank node` grows with the number of threads, and no faster.

    many_threads_test.py --oddrank PATH
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

FEW, MANY = 300, 2400
# Time that grows with the square of the threads would grow 64 times.
MOST = 1.7 * MANY / FEW
CODE = """
import sys, threading
threading.stack_size(256 << 10)
lock = threading.Lock()
lock.acquire()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=lock.acquire, daemon=True).start()
print("ready", flush=True)
lock.acquire()
"""


class ManyThreads(unittest.TestCase):
    def seconds_for(self, threads):
        process = subprocess.Popen([sys.executable, "-c", CODE, str(threads)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            proc_facts.wait_until(
                lambda: all(proc_facts.wants_lock(tid) for tid in proc_facts.threads(process.pid)),
                "all threads wait")
            runs, least = harness.timed_runs(
                ["node", str(process.pid), "--samples", "1", "--json", "-", *harness.PATIENTLY])
            for run in runs:
                self.assertEqual(run.status, 0, run.err)
                rank = run.json()["ranks"][0]  # a report lists the first ones of so many
                self.assertEqual(len(rank["threads"]) + rank.get("threads_left_out", 0), threads + 1)
            return least
        finally:
            process.kill()
            process.communicate()

    def test_time_is_linear(self):
        few, many = self.seconds_for(FEW), self.seconds_for(MANY)
        self.assertLess(many, MOST * few, f"{FEW} threads: {few} s, {MANY} threads: {many} s")


if __name__ == "__main__":
    harness.main()
