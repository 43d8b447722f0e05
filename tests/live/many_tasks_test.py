#!/usr/bin/env python3
"""A process with more asyncio tasks than a report can hold: what is cut says how much, and the rest is there.

    many_tasks_test.py --oddrank PATH
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

PROGRAM = """
import asyncio, sys
sys.setrecursionlimit(100000)
async def nest(depth):
    if depth:
        await nest(depth - 1)
    else:
        await asyncio.Event().wait()
async def main():
    tasks = [asyncio.create_task(nest(int(sys.argv[2]))) for _ in range(int(sys.argv[1]))]
    await asyncio.sleep(0)
    print('ready', flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
"""


THREADS = """
import signal, sys, threading
threading.stack_size(65536)
event = threading.Event()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=event.wait, daemon=True).start()
print('ready', flush=True)
signal.pause()
"""


class ManyTasks(unittest.TestCase):
    def process(self, tasks, depth):
        process = subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM, str(tasks), str(depth)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.in_call(process.pid, proc_facts.EPOLL_WAIT), "it waits")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid), "--tasks",
                                            "--samples", "1", "--json", "-", *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run.err)
        (rank,) = run.json()["ranks"]
        self.assertTrue(rank["threads"][0]["frames"])
        return rank

    def test_long_chains(self):
        """3,000 tasks, each of which awaits a hundred coroutines: not all fit."""
        rank = self.process(3000, 100)
        self.assertRegex(rank["why"], r"^\d+ of its 3001 tasks are shown: the others do not fit")

    def test_chain(self):
        """A chain of exactly as many coroutines as fit is whole; of one more, the innermost is said to be missing."""
        for depth, why in ((1022, None), (1023, "1 task with more than 1024 coroutines: the innermost are not shown")):
            with self.subTest(depth=depth):
                rank = self.process(1, depth)
                self.assertEqual(rank["why"], why)
                self.assertIn(1024, [len(task["frames"]) for task in rank["tasks"]])

    def test_members(self):
        """All that a gather waits for are listed, up to the limit; the rest are said to be missing."""
        rank = self.process(300, 0)
        self.assertIn(300, [len(task["members"]) for task in rank["tasks"]])
        rank = self.process(4100, 0)
        self.assertRegex(rank["why"], r"1 task with more than 4096 others to wait for: the rest are not listed")

    def test_some_tasks_too_many(self):
        """One more than the limit of 4,096."""
        rank = self.process(4096, 0)
        self.assertRegex(rank["why"], r"^only 4096 of its tasks are shown")

    def test_threads(self):
        """Each of 2,000 threads waits at an object: the time that this takes does not grow by their square."""
        process = subprocess.Popen(["/usr/bin/python3", "-c", THREADS, "2000"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid), "--samples", "1",
                                            "--json", "-", *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run.err)
        (rank,) = run.json()["ranks"]
        self.assertGreater(len(rank["threads"]), 100)
        self.assertTrue(all(thread["frames"] for thread in rank["threads"]))

    def test_five_times_too_many(self):
        rank = self.process(20000, 0)
        self.assertRegex(rank["why"], r"^only 4096 of its tasks are shown")
        self.assertTrue(rank["tasks"])

    def test_all_of_a_few(self):
        self.assertIsNone(self.process(10, 10)["why"])


if __name__ == "__main__":
    harness.main()
