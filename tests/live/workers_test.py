#!/usr/bin/env python3
"""Runs `oddrank node` on ranks that wait for their own workers. The wait names the worker that owes
the rank something, with the pid or tid that the rank itself knows.

    workers_test.py --oddrank PATH
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

WORKERS = os.path.join(os.path.dirname(HERE), "victims", "workers.py")


def family(pid):
    """Returns the children and grandchildren, including idle workers."""
    children = proc_facts.children(pid)
    return children + [each for child in children for each in proc_facts.children(child)]


def blocks(tid):
    """Returns whether the thread waits for work or for a lock, or is a zombie."""
    return (proc_facts.state(tid) == "Z" or proc_facts.wants_lock(tid)
            or proc_facts.in_call_on(tid, proc_facts.READ, "pipe:"))


class Workers(unittest.TestCase):
    def start(self, mode):
        """Starts a rank; returns the pids (or tids) that it prints."""
        process = subprocess.Popen(["/usr/bin/python3", WORKERS, mode], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, start_new_session=True, text=True,
                                   env=dict(os.environ, RANK="0", WORLD_SIZE="1"))
        self.addCleanup(self.end, process)
        line = process.stdout.readline().split()
        self.assertEqual(line[:2], ["ready", str(process.pid)], line)
        tids = [int(word) for word in line[1:]]
        for tid in filter(None, (*tids, *family(process.pid))):
            proc_facts.wait_until(lambda tid=tid: blocks(tid), f"{tid} blocks")
        return tids

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()

    def read(self, pid):
        """Returns the main thread's wait, and the report."""
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--json",
                                            "-", "--all-threads", "-q"]))
        rank, = run.json()["ranks"]
        return next(row for row in rank["threads"] if row["tid"] == pid)["wait"], run

    def check_worker(self, mode, words):
        rank, worker, other = self.start(mode)
        wait, run = self.read(rank)
        self.assertEqual((wait["what"], wait["pid"], wait["tid"], wait["holder_alive"],
                          wait["inferred"]), ("child", worker, worker, True, True), run)
        self.assertIn(f"{words} pid {worker}: in read() of pipe:[", wait["detail"], run)
        self.assertIn("at stuck (workers.py:", wait["detail"], run)
        self.assertNotIn(f"worker pid {other}", wait["detail"], run)

    def test_a_future_of_a_process_pool_names_the_worker_that_works(self):
        self.check_worker("executor", "process pool worker")

    def test_a_result_of_a_multiprocessing_pool_names_the_worker_that_works(self):
        self.check_worker("pool", "multiprocessing.Pool worker")
        self.check_worker("starmap", "multiprocessing.Pool worker")

    def test_a_future_of_another_program_s_pool_names_that_program_s_worker(self):
        self.check_worker("compile", "process pool worker")

    def test_a_future_of_a_thread_pool_names_the_thread_that_is_at_work_on_it(self):
        rank, thread, _ = self.start("threads")
        wait, run = self.read(rank)
        self.assertEqual((wait["what"], wait["pid"], wait["tid"], wait["inferred"]),
                         ("thread", rank, thread, False), run)
        self.assertIn(f"future that thread {thread} is at work on", wait["detail"], run)

    def test_a_thread_pool_that_works_on_something_else_is_not_waited_for(self):
        self.check_worker("processes", "process pool worker")

    def test_a_future_that_nobody_has_begun_with_names_nobody(self):
        rank, _, worker = self.start("queued")
        wait, run = self.read(rank)
        self.assertEqual((wait["what"], wait["pid"], wait["tid"]), ("lock", None, None), run)
        self.assertNotIn(str(worker), wait["detail"], run)

    def test_a_dead_writer_of_a_queue_says_how_it_ended(self):
        for mode, words in (("killed", "killed by signal 9"), ("failed", "exit code 3")):
            with self.subTest(mode=mode):
                rank, child, _ = self.start(mode)
                wait, run = self.read(rank)
                self.assertEqual((wait["pid"], wait["holder_alive"]), (child, False), run)
                self.assertIn(f"its only child pid {child}: dead, not reaped, {words}",
                              wait["detail"], run)
                verdict = run.json()["verdict"]
                self.assertEqual(verdict["kind"], "child_deadlock", run)
                self.assertEqual(verdict["culprits"][0]["waits_for"]["pid"], child, run)


if __name__ == "__main__":
    harness.main()
