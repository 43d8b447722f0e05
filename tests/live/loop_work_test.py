#!/usr/bin/env python3
"""Tests that `oddrank node` tells a rank that gets work done from one that holds the others up.

    loop_work_test.py --oddrank PATH
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("support", "victims")]
# pylint: disable=wrong-import-position
import harness
import loop_work
import proc_facts

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "loop_work.py")
RANKS = 3


class LoopWork(unittest.TestCase):
    def report(self, work):
        with contextlib.ExitStack() as at_end:
            listener = at_end.enter_context(socket.create_server(("127.0.0.1", 0)))
            pids = []
            for rank in range(RANKS):
                process = subprocess.Popen(
                    [sys.executable, VICTIM, work], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    pass_fds=[listener.fileno()] if rank == 0 else [],
                    env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1",
                             MASTER_PORT=str(listener.getsockname()[1]), LISTENER=str(listener.fileno())))
                at_end.callback(process.communicate)
                at_end.callback(process.kill)
                pids.append(process)
            for process in pids:
                self.assertEqual(process.stdout.readline(), b"ready\n")
            for process in pids[1:]:
                proc_facts.wait_until(lambda pid=process.pid: proc_facts.sleeping(pid), "it is there")
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", *(str(one.pid) for one in pids), "--samples", "3",
                 "--interval", "700ms", *harness.PATIENTLY, "--json", "-", "-q"]))
        return run.json()["verdict"], run

    def test_work_that_goes_on_is_told_with_what_is_left(self):
        for work in (each.__name__ for each in loop_work.GETS_DONE):
            with self.subTest(work=work):
                verdict, run = self.report(work)
                self.assertEqual((verdict["kind"], [one["rank"] for one in verdict["culprits"]]), ("slow", [0]), run)
                done = re.search(r"has done (\d+) items? in .* with (\d+) left", verdict["summary"])
                self.assertTrue(done, run)
                self.assertGreater(int(done.group(1)), 0)
                self.assertLess(int(done.group(2)), 10**5)

    def test_what_comes_to_no_end_is_no_work(self):
        for work in (each.__name__ for each in loop_work.WAITS):
            with self.subTest(work=work):
                verdict, run = self.report(work)
                self.assertNotIn(verdict["kind"], ("slow", "healthy"), run)


if __name__ == "__main__":
    harness.main()
