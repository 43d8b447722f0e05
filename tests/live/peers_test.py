#!/usr/bin/env python3
"""Runs `oddrank node` on processes that wait for another process's end of a pipe or connection. The holder
is the process that has that end, even if it is not among the requested processes.

    peers_test.py --oddrank PATH
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

PEERS = os.path.join(os.path.dirname(HERE), "victims", "peers.py")
# The call that blocks the waiter, and the kind of file; if none is given, the waiter wants a lock.
BLOCKS = {"pipe": (proc_facts.READ, "pipe:"), "named": (proc_facts.READ, "/"),
          "tcp": (proc_facts.RECVFROM, "socket:"),
          "local": (proc_facts.RECVFROM, "socket:"), "outside": (proc_facts.RECVFROM, "socket:"),
          "tls": (proc_facts.READ, "socket:"), "output": (proc_facts.WRITE, "pipe:"),
          "join": (proc_facts.WAIT4, ""), "several": (proc_facts.POLL, ""),
          "flock": (proc_facts.FLOCK, "")}
POLLS = ("baton", "filelock", "stale")


def blocks(pid, mode):
    if mode not in BLOCKS:
        return proc_facts.wants_lock(pid)
    number, kind = BLOCKS[mode]
    return proc_facts.in_call_on(pid, number, kind) if kind else proc_facts.in_call(pid, number)


class Peers(unittest.TestCase):
    def start(self, mode, *more, **environment):
        process = subprocess.Popen(["/usr/bin/python3", PEERS, mode, *more], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, start_new_session=True,
                                   env=dict(os.environ, **environment))
        self.addCleanup(self.end, process)
        line = process.stdout.readline().decode().split()
        self.assertEqual(line[0], "ready")
        waiter, holder = int(line[1]), int(line[2])
        self.third = int(line[3]) if len(line) > 3 else 0
        sleeps = mode in POLLS or (mode == "flock" and environment["RANK"] == "0")
        proc_facts.wait_until(
            lambda: proc_facts.asleep(waiter) if sleeps else blocks(waiter, mode), "it blocks")
        return process.pid, waiter, holder

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()

    def read(self, *pids, samples=1):
        return harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, pids), "--json", "-", "--samples",
             str(samples), "-q"]))

    def wait_of(self, run, pid):
        ranks = run.json()["ranks"]
        rows = ranks + [child for row in ranks for child in row["children"]]
        row = next(row for row in rows if row["pid"] == pid)
        return next(row for row in row["threads"] if row["tid"] == pid)["wait"]

    def test_a_pipe_between_two_processes(self):
        _, waiter, holder = self.start("pipe")
        run = self.read(waiter, holder)
        wait = self.wait_of(run, waiter)
        self.assertEqual((wait["what"], wait["pid"], wait["inferred"]), ("pipe", holder, False), run)

    def test_a_named_pipe_between_two_processes(self):
        with harness.scratch() as folder:
            _, waiter, holder = self.start("named", folder)
            for pids in ((waiter, holder), (waiter,)):
                run = self.read(*pids)
                wait = self.wait_of(run, waiter)
                self.assertEqual((wait["what"], wait["pid"], wait["path"]),
                                 ("file", holder, folder + "/hand-over"), run)
                self.assertIn(f"pid {holder} has it open for writing", wait["detail"], run)

    def test_a_connection_between_two_processes(self):
        _, waiter, holder = self.start("tcp")
        run = self.read(waiter, holder)
        wait = self.wait_of(run, waiter)
        self.assertEqual((wait["what"], wait["pid"]), ("socket", holder), run)
        self.assertIn("TCP 127.0.0.1:", wait["detail"], run)

    def test_a_local_socket_between_two_processes(self):
        _, waiter, holder = self.start("local")
        run = self.read(waiter, holder)
        wait = self.wait_of(run, waiter)
        self.assertEqual((wait["what"], wait["pid"]), ("socket", holder), run)
        # The parent is found even if it is not among the requested processes.
        run = self.read(waiter)
        self.assertEqual(self.wait_of(run, waiter)["pid"], holder, run)

    def check_outside(self, mode):
        _, rank, holder = self.start(mode)
        run = self.read(rank, samples=2)
        wait = self.wait_of(run, rank)
        self.assertEqual((wait["what"], wait["pid"]), ("socket", holder), run)
        verdict = run.json()["verdict"]
        self.assertEqual(verdict["kind"], "external_wait", run)
        self.assertEqual([row["pid"] for row in verdict["culprits"]], [rank], run)
        self.assertIn(f"pid {holder}", verdict["summary"], run)
        return wait["detail"]

    def test_a_connection_to_a_process_that_is_not_of_the_job(self):
        self.assertNotIn("TLS", self.check_outside("outside"))

    def test_a_connection_over_tls_says_so(self):
        self.assertIn(", over TLS", self.check_outside("tls"))

    def test_a_full_pipe_is_read_by_a_process_that_was_not_asked_about(self):
        pid, waiter, holder = self.start("output")
        self.assertEqual((pid, holder), (waiter, os.getpid()))
        run = self.read(waiter)
        wait = self.wait_of(run, waiter)
        self.assertEqual((wait["what"], wait["pid"]), ("pipe", os.getpid()), run)

    @staticmethod
    def is_stuck_in_write(child):
        """Returns whether one of its threads is, while the main thread joins it."""
        threads = proc_facts.threads(child)
        return (any(proc_facts.in_call_on(tid, proc_facts.WRITE, "pipe:") for tid in threads)
                and proc_facts.wants_lock(child))

    def test_a_child_that_writes_to_who_waits_for_its_end(self):
        _, rank, child = self.start("join", RANK="0", WORLD_SIZE="1")
        proc_facts.wait_until(lambda: self.is_stuck_in_write(child), "the child blocks")
        run = self.read(rank, samples=2)
        verdict = run.json()["verdict"]
        self.assertEqual(verdict["kind"], "child_deadlock", run)
        culprit, = verdict["culprits"]
        self.assertEqual((culprit["pid"], culprit["waits_for"]["pid"]), (rank, child), run)
        self.assertIn("full pipe", verdict["summary"], run)

    def test_a_pipe_and_a_connection_of_one_process(self):
        _, waiter, holder = self.start("several")
        run = self.read(waiter)
        wait = self.wait_of(run, waiter)
        self.assertEqual((wait["pid"], wait["inferred"]), (holder, True), run)
        self.assertIn(f"pid {holder} has it open for writing; fd ", wait["detail"], run)
        self.assertIn(f"the other end is pid {holder}; fd ", wait["detail"], run)
        self.assertIn("this very process has it open", wait["detail"], run)

    def wait_for_multiprocessing(self, mode):
        pid, waiter, holder = self.start(mode, RANK="0", WORLD_SIZE="1")
        self.assertEqual(pid, waiter)
        for other in (holder, self.third, *(proc_facts.children(holder) if holder else ())):
            if other:
                proc_facts.wait_until(lambda tid=other: proc_facts.asleep(tid), "it has the lock")
        run = self.read(waiter)
        return self.wait_of(run, waiter), holder, run

    def test_locks_of_multiprocessing_name_the_child_that_has_them(self):
        for mode, inferred in (("mplock", True), ("mprlock", False), ("mpowned", True),
                               ("mpglobal", True)):
            with self.subTest(mode=mode):
                wait, child, run = self.wait_for_multiprocessing(mode)
                self.assertEqual((wait["what"], wait["pid"], wait["tid"], wait["inferred"]),
                                 ("lock", child, self.third, inferred), run)

    def test_a_lock_of_multiprocessing_that_two_seem_to_have_names_nobody(self):
        wait, _, run = self.wait_for_multiprocessing("mpforked")
        self.assertEqual((wait["what"], wait["pid"], wait["tid"]), ("lock", None, None), run)
        self.assertIn("semaphore shared by processes", wait["detail"], run)
        self.assertIn("it tells no owner", wait["detail"], run)

    def test_a_full_queue_of_multiprocessing_is_no_lock(self):
        wait, _, run = self.wait_for_multiprocessing("mpfull")
        self.assertEqual((wait["what"], wait["pid"], wait["tid"]), ("lock", None, None), run)

    def ranks_of_a_lock(self, mode, folder):
        """Returns the pids of rank 0, which has the lock, and of rank 1; and the report."""
        pids = [self.start(mode, folder, RANK=rank, WORLD_SIZE="2")[0] for rank in "01"]
        return *pids, self.read(*pids, samples=2)

    def check_lock(self, mode, inferred):
        with harness.scratch() as folder:
            holder, waiter, run = self.ranks_of_a_lock(mode, folder)
            wait = self.wait_of(run, waiter)
            self.assertEqual((wait["what"], wait["path"], wait["pid"], wait["inferred"]),
                             ("file_lock", f"{folder}/lock", holder, inferred), run)
            verdict = run.json()["verdict"]
            self.assertEqual(verdict["kind"], "file_lock", run)
            self.assertEqual([row["rank"] for row in verdict["culprits"]], [0], run)
            self.assertIn(f"{folder}/lock", verdict["summary"], run)

    def test_a_lock_that_another_rank_has(self):
        self.check_lock("flock", False)

    def test_a_lock_file_that_is_polled_and_that_another_rank_has_open(self):
        self.check_lock("baton", True)
        self.check_lock("filelock", True)

    def test_a_lock_file_that_is_polled_and_that_nobody_has_open(self):
        with harness.scratch() as folder:
            pid, _, _ = self.start("stale", folder)
            run = self.read(pid)
            wait = self.wait_of(run, pid)
            self.assertEqual((wait["what"], wait["path"], wait["pid"]),
                             ("file_lock", f"{folder}/lock", None), run)
            self.assertIn("nobody on this node has it open", wait["detail"], run)
            self.assertRegex(wait["detail"], r"made \d+ s ago$", run)
            then = time.time() - 3 * 3600 - 1
            os.utime(f"{folder}/lock", (then, then))
            wait = self.wait_of(self.read(pid), pid)
            self.assertIn("; made 3 h ago, before this process began", wait["detail"], run)


if __name__ == "__main__":
    harness.main()
