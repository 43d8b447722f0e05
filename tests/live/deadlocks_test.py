#!/usr/bin/env python3
"""Runs `oddrank node` on real processes whose threads wait for each other. Compares every thread
and every lock of the circle with what the process itself prints.

    deadlocks_test.py --oddrank PATH        ODDRANK_VICTIMS names the folder of the victim programs
"""

import glob
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIMS = os.environ.get("ODDRANK_VICTIMS", "")
PYTHON_LOCKS = os.path.join(os.path.dirname(HERE), "victims", "python_locks.py")


class Victim:
    """A process that prints "ready" and the tids whose waits are tested: for locks, or with `gil`, for
    the other threads, for the GIL."""

    def __init__(self, test, command, gil=False):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        text=True)
        test.addCleanup(self.end)
        line = self.process.stdout.readline()
        test.assertTrue(line.startswith("ready"), line)
        self.tids = [int(word) for word in line.split()[1:] if int(word)]
        self.pid = self.process.pid
        for tid in [self.pid, *self.tids]:
            proc_facts.wait_until(
                lambda tid=tid: (proc_facts.in_call(tid, proc_facts.FUTEX)
                                 if gil and tid != self.pid else proc_facts.wants_lock(tid)),
                f"thread {tid} blocks")

    def end(self):
        if not self.process.stdout.closed:
            self.process.kill()
            self.process.wait(60)
            self.process.stdout.close()


def read(pid, samples=2):
    return harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--json", "-",
                                         "--samples", str(samples), "-q"]))


def pythons():
    """Returns one interpreter of each version at hand, 3.8 and later: ((13, whether it has a GIL), its path)."""
    given = os.environ.get("ODDRANK_PYTHONS")
    paths = [path for path in given.split(":") if path] if given else [
        *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")), "/usr/bin/python3"]
    found = {}
    for path in paths:
        version = subprocess.run(
            [path, "-c", "import sys, sysconfig as s;"
             "print(*sys.version_info[:2], s.get_config_var('Py_GIL_DISABLED') or 0)"],
            capture_output=True, text=True, timeout=60, check=False).stdout.split()
        if len(version) == 3 and int(version[1]) >= 8:
            found.setdefault((int(version[1]), version[2] == "0"), path)
    return sorted(found.items())


class Circles(unittest.TestCase):
    def check(self, victim, circle, kind="lock_deadlock"):
        """Checks the verdict. `circle`: (waiter, holder) tids, starting with the main thread."""
        run = read(victim.pid)
        # A thread that wants the GIL looks for it every 5 ms, and may be seen on its way to a CPU.
        while any(row["state"] == "R" for row in run.json()["ranks"][0]["threads"]):
            run = read(victim.pid)
        self.assertEqual(run.status, 0, run)
        verdict = run.json()["verdict"]
        self.assertEqual(verdict["kind"], kind, run)
        self.assertEqual([row["pid"] for row in verdict["culprits"]], [victim.pid], run)
        for (waiter, holder), link in zip(circle, verdict["chain"], strict=True):
            self.assertTrue(link["waiters"].startswith(f"thread {waiter} "), run)
            self.assertTrue(link["waits_for"].startswith(f"thread {holder} "), run)
            self.assertIn(f"thread {holder}", verdict["summary"], run)
        self.assertEqual(verdict["culprits"][0]["waits_for"]["tid"], circle[0][1], run)
        return verdict


class Native(Circles):
    def start(self, mode):
        return Victim(self, [f"{VICTIMS}/locks", mode])

    def test_two_mutexes_in_different_order(self):
        victim = self.start("circle")
        other = victim.tids[0]
        verdict = self.check(victim, [(victim.pid, other), (other, victim.pid)])
        self.assertEqual(verdict["summary"].count("the lock at 0x"), 2, verdict)

    def test_a_mutex_taken_twice(self):
        victim = self.start("twice")
        self.check(victim, [(victim.pid, victim.pid)])

    def test_a_thread_is_joined_that_wants_the_joiner_s_lock(self):
        victim = self.start("join-circle")
        other = victim.tids[0]
        self.check(victim, [(victim.pid, other), (other, victim.pid)])

    def test_the_main_thread_waits_for_a_thread_of_a_circle(self):
        victim = self.start("behind")
        first, second = victim.tids
        self.check(victim, [(victim.pid, first), (first, second), (second, first)])

    def test_an_owner_that_waits_for_nobody_is_no_deadlock(self):
        victim = Victim(self, [f"{VICTIMS}/locks", "condition"])
        run = read(victim.pid)
        self.assertNotIn(run.json()["verdict"]["kind"], ("lock_deadlock", "gil_deadlock"), run)


class Python(Circles):
    def start(self, python, mode, *more):
        return Victim(self, [python, PYTHON_LOCKS, mode, *more], gil=mode == "gil")

    def each(self, check, mode, *more):
        """Calls check(victim) with each Python."""
        for (minor, has_gil), python in pythons():
            if mode == "gil" and not has_gil:
                continue
            with self.subTest(mode=mode, minor=minor, has_gil=has_gil):
                victim = self.start(python, mode, *more)
                try:
                    check(victim)
                finally:
                    victim.end()

    def check_crossed(self, mode, inferred, kind="lock_deadlock"):
        def check(victim):
            other = victim.tids[0]
            verdict = self.check(victim, [(victim.pid, other), (other, victim.pid)], kind)
            self.assertEqual(verdict["confidence"], "likely", verdict)
            self.assertIn("python_locks.py", verdict["summary"], verdict)
            self.assertEqual("`with`" in str(verdict["chain"]), inferred, verdict)

        self.each(check, mode)

    def wait(self, victim):
        run = read(victim.pid, samples=1)
        rank, = run.json()["ranks"]
        thread = next(row for row in rank["threads"] if row["tid"] == victim.pid)
        return thread["wait"], run

    def check_owner(self, mode, inferred, words, *more, what="lock"):
        def check(victim):
            wait, run = self.wait(victim)
            self.assertEqual(wait["what"], what, run)
            self.assertEqual(wait["tid"], victim.tids[0], run)
            self.assertEqual(wait["pid"], victim.pid, run)
            self.assertEqual(wait["inferred"], inferred, run)
            self.assertIn(words, wait["detail"], run)

        self.each(check, mode, *more)

    def check_nobody(self, mode, words):
        def check(victim):
            wait, run = self.wait(victim)
            self.assertIsNone(wait["tid"], run)
            self.assertIn(words, wait["detail"], run)

        self.each(check, mode)

    def test_two_locks_in_different_order(self):
        self.check_crossed("crossed", inferred=True)

    def test_two_locks_within_loops_and_try_blocks(self):
        self.check_crossed("crossed_deep", inferred=True)

    def test_two_locks_by_acquire_in_different_order(self):
        self.check_crossed("acquired_crossed", inferred=False)

    def test_an_acquire_that_may_not_hold_any_more_names_nobody(self):
        for mode in ("acquired_by_chance", "acquired_as_signal"):
            self.check_nobody(mode, "Python lock, which does not say who holds it")

    def test_two_recursive_locks_say_their_owners(self):
        self.check_crossed("recursive_crossed", inferred=False)

    def test_a_thread_is_joined_that_wants_the_joiner_s_lock(self):
        self.check_crossed("join_crossed", inferred=True)

    def test_the_gil_against_a_mutex(self):
        self.check_crossed("gil", inferred=False, kind="gil_deadlock")

    def test_a_lock_taken_twice(self):
        self.each(lambda victim: self.check(victim, [(victim.pid, victim.pid)]), "twice")

    def test_a_queue_s_lock_taken_twice_beside_a_reader(self):
        self.each(lambda victim: self.check(victim, [(victim.pid, victim.pid)]), "twice_beside_a_reader")

    def check_futures(self, mode, words, alone):
        def check(victim):
            first, second = (victim.tids * 2)[:2]
            circle = [(first, first)] if alone else [(first, second), (second, first)]
            verdict = self.check(victim, [(victim.pid, first), *circle])
            self.assertEqual(verdict["confidence"], "likely", verdict)  # one process, no job
            self.assertIn(words, verdict["summary"], verdict)

        self.each(check, mode)

    def test_a_pool_whose_only_thread_waits_for_work_of_the_pool(self):
        self.check_futures("one_thread_pool", "waits for itself: work in the queue of its pool", True)

    def test_a_pool_all_of_whose_threads_wait_for_work_of_the_pool(self):
        self.check_futures("full_pool", "work in the queue of its pool", False)

    def test_two_pools_that_wait_for_each_other(self):
        self.check_futures("two_pools", "work in the queue of its pool", False)

    def test_an_event_loop_that_waits_for_a_coroutine_of_its_own(self):
        for mode in ("loop_s_own_coroutine", "loop_s_begun_coroutine"):
            self.check_futures(mode, "waits for itself: a coroutine of the event loop that it runs", True)

    def test_futures_that_somebody_else_may_give(self):
        for mode in ("pool_with_a_free_way", "loop_s_other_future"):
            self.check_nobody(mode, "waits for a future")

    def test_a_recursive_lock(self):
        self.check_owner("recursive", False, "Python RLock, held by thread")

    def test_a_join(self):
        self.check_owner("join", False, "waits for the end of thread", what="thread")

    def test_an_import(self):
        with harness.scratch() as folder:
            self.check_owner("imports", False, "import lock of module 'slow_module'", folder)

    def test_a_with_that_was_left_names_nobody(self):
        self.check_nobody("left_before", "Python lock, which does not say who holds it")

    def test_what_others_have_to_do_has_no_owner(self):
        for mode, words in (("condition", "threading.Condition"), ("get", "queue.Queue"),
                            ("event", "threading.Event"), ("future", "future")):
            self.check_nobody(mode, words)


if __name__ == "__main__":
    harness.main()
