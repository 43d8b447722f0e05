#!/usr/bin/env python3
"""Processes that have more of something than a report holds: it says how many were cut, and the rest is there.

    caps_test.py --oddrank PATH
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

GROUPS = """
import signal, sys, types
c10d = types.ModuleType('torch.distributed.distributed_c10d')
groups = [type('ProcessGroup', (), {})() for _ in range(int(sys.argv[1]))]
c10d._pg_map = {group: ('gloo', None) for group in groups}
c10d._pg_names = {group: str(at) for at, group in enumerate(groups)}
c10d._pg_group_ranks = {group: {0: 0, 1: 1} for group in groups}
sys.modules[c10d.__name__] = c10d
print('ready', flush=True)
signal.pause()
"""

VARIABLES = """
import sys, threading
sys.setrecursionlimit(100000)
threading.stack_size(1 << 28)
def nest(depth):
    own = depth
    if depth:
        nest(depth - 1)
    else:
        print('ready', flush=True)
        threading.Event().wait()
thread = threading.Thread(target=nest, args=(int(sys.argv[1]),))
thread.start()
thread.join()
"""

LOCK = """
import ctypes, fcntl, os, signal, sys
file = open(sys.argv[2], 'w')
fcntl.flock(file, fcntl.LOCK_EX)
parent = os.getpid()
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() == parent:
            signal.pause()
        os._exit(0)
file.close()
print('ready', flush=True)
fcntl.flock(open(sys.argv[2]), fcntl.LOCK_EX)
"""


class Caps(unittest.TestCase):
    def report(self, program, *arguments, options=(), call=None):
        process = subprocess.Popen(["/usr/bin/python3", "-c", program, *map(str, arguments)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        if call:
            proc_facts.wait_until(lambda: proc_facts.in_call(process.pid, call), "it waits")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid), "--samples", "1",
                                            "--json", "-", *harness.PATIENTLY, *options]))
        self.assertEqual(run.status, 0, run.err)
        (rank,) = run.json()["ranks"]
        self.assertTrue(rank["threads"][0]["frames"])
        return rank

    def test_process_groups(self):
        for count, why in ((4096, None), (4097, "only 4096 of its process groups are read"),
                           (40960, "only 4096 of its process groups are read")):
            with self.subTest(count=count):
                rank = self.report(GROUPS, count)
                self.assertEqual(rank["why"], why)
                self.assertEqual(len(rank["groups"]), 4096)

    def test_variables(self):
        """Of 5,000 frames with two variables each, 4,096 are read, and the first 4,096 variables are kept."""
        rank = self.report(VARIABLES, 5000, options=["--locals"])
        self.assertRegex(rank["why"], r"^the variables of (29|3[01])\d\d frames are not shown: there are too many")
        (thread,) = [thread for thread in rank["threads"] if "frames_left_out" in thread]
        self.assertGreater(len(thread["frames"]), 1500)
        self.assertGreater(len(thread["frames"]) + thread["frames_left_out"], 5000)

    def test_holders_of_a_lock(self):
        with harness.scratch() as folder:
            rank = self.report(LOCK, 17, f"{folder}/lock", call=proc_facts.FLOCK)
        self.assertEqual(len(rank["children"]), 17)
        self.assertRegex(rank["threads"][0]["wait"]["detail"], r"; so have pids \d+, \d+, \d+, \d+ and 12 others")


if __name__ == "__main__":
    harness.main()
