#!/usr/bin/env python3
"""Processes that have more of something than a report holds: it says how many were cut, and the rest is there.

    caps_test.py --oddrank PATH
"""

import os
import signal
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

# As a node of eight ranks with 40 loader processes each has: the last child holds the lock.
CHILDREN = """
import multiprocessing, os, signal, sys
lock = multiprocessing.Lock()
told, tells = os.pipe()
for at in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.close(told)
        if at + 1 == int(sys.argv[1]):
            lock.acquire()
            os.write(tells, str(os.getpid()).encode())
        os.close(tells)
        signal.pause()
os.close(tells)
holder = os.read(told, 20)
while os.read(told, 20):
    pass
print('ready', flush=True)
lock.acquire()
"""

class Caps(unittest.TestCase):
    @staticmethod
    def end(process):
        for pid in proc_facts.children(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()

    def report(self, program, count, waits, *options):
        process = subprocess.Popen(["/usr/bin/python3", "-c", program, str(count)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: all(waits(tid) for tid in proc_facts.threads(process.pid)), "it waits")
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
                rank = self.report(GROUPS, count, lambda tid: proc_facts.in_call(tid, proc_facts.PAUSE))
                self.assertEqual(rank["why"], why)
                self.assertEqual(len(rank["groups"]), 4096)

    def test_variables(self):
        """Of 5,000 frames with two variables each, 4,096 are read, and the first 4,096 variables are kept."""
        rank = self.report(VARIABLES, 5000, proc_facts.wants_lock, "--locals")
        self.assertRegex(rank["why"], r"^the variables of (29|3[01])\d\d frames are not shown: there are too many")
        (thread,) = [thread for thread in rank["threads"] if "frames_left_out" in thread]
        self.assertGreater(len(thread["frames"]), 1500)
        self.assertGreater(len(thread["frames"]) + thread["frames_left_out"], 5000)

    def test_processes_that_share_a_lock(self):
        rank = self.report(CHILDREN, 300, proc_facts.wants_lock)
        wait = rank["threads"][0]["wait"]
        self.assertRegex(wait["detail"], f"a lock of multiprocessing that thread {wait['pid']} of pid "
                                         f"{wait['pid']} has acquired and not released")


if __name__ == "__main__":
    harness.main()
