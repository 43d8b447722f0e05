#!/usr/bin/env python3
"""Tests that `oddrank node` says which thread a thread polls for: `while t.is_alive(): sleep()`.

    polled_threads_test.py --oddrank PATH
"""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "polled_threads.py")


class PolledThreads(unittest.TestCase):
    def test_the_thread_that_is_polled_for(self):
        victim = subprocess.Popen([sys.executable, VICTIM], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE)
        try:
            expected = json.loads(victim.stdout.readline())
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", str(victim.pid), "--samples", "2", "--interval", "100ms",
                 "--json", "-", *harness.PATIENTLY]))
            threads = {thread["python_name"]: thread for thread in run.json()["ranks"][0]["threads"]
                       if thread.get("python_name")}
        finally:
            victim.kill()
            victim.communicate()
        for name, tid in expected.items():
            with self.subTest(thread=name):
                wait = threads[name]["wait"]
                self.assertEqual(wait.get("tid"), tid, wait)
                self.assertEqual(wait["what"] == "thread", tid is not None, wait)
        self.assertEqual(run.json()["verdict"]["kind"], "unknown", run)  # nobody waits in a circle


if __name__ == "__main__":
    harness.main()
