#!/usr/bin/env python3
"""Runs `oddrank node` on one process whose threads wait for locks of the C library, for things without an
owner, and for several files at once. Compares each wait with what the process itself prints.

    many_waits_test.py --oddrank PATH        ODDRANK_VICTIMS names the folder of the victim programs
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

VICTIMS = os.environ.get("ODDRANK_VICTIMS", "")
QUIET = 1.5  # seconds that all threads have been blocked before they are read
NOT_THREADS = ("port", "full")


class ManyWaits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.began = time.monotonic()
        cpu = proc_facts.stay_on_one_cpu(cls.addClassCleanup)
        process = subprocess.Popen([f"{VICTIMS}/many_waits", f"{VICTIMS}/slow_plugin.so"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        cls.addClassCleanup(cls.end, process)
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], words
        cls.said = {name: int(number) for name, _, number in (w.partition("=") for w in words[1:])}
        cls.pid = process.pid
        for name, tid in cls.said.items():
            if name not in NOT_THREADS:
                proc_facts.wait_until(lambda tid=tid: proc_facts.syscall(tid), f"{name} blocks")
        blocked = time.monotonic()
        stolen = proc_facts.stolen(cpu)
        proc_facts.wait_until(lambda: time.monotonic() > blocked + QUIET, "time passes", 30)
        cls.run_ = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(cls.pid),
                                                 "--all-threads", "--samples", "1", "--json", "-",
                                                 "-q"]))
        cls.ended = time.monotonic()
        cls.stolen = proc_facts.stolen(cpu) - stolen
        rank, = cls.run_.json()["ranks"]
        cls.quiet = {row["tid"]: row.get("quiet_s") for row in rank["threads"]}
        cls.waits = {row["tid"]: row["wait"] for row in rank["threads"]}

    @classmethod
    def end(cls, process):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()

    def wait(self, name):
        return self.waits[self.said[name]]

    def check_owner(self, name, owner, *words, inferred=False):
        wait = self.wait(name)
        self.assertEqual((wait["what"], wait["pid"], wait["tid"], wait["inferred"]),
                         ("lock", self.pid, self.said[owner], inferred), wait)
        for word in words:
            self.assertIn(word, wait["detail"])

    def check_no_owner(self, name, detail):
        wait = self.wait(name)
        self.assertEqual((wait["what"], wait["pid"], wait["tid"], wait["holder_alive"]),
                         ("lock", None, None, None), wait)
        self.assertEqual(wait["detail"], detail)

    @unittest.skipUnless(os.path.exists("/proc/self/sched"), "the kernel has no /proc/PID/sched")
    def test_how_long_each_thread_has_not_run_is_told(self):
        self.assertTrue(self.quiet)
        for tid, quiet in self.quiet.items():
            self.assertIsNotNone(quiet, tid)
            self.assertGreater(quiet, QUIET - self.stolen - 0.1, tid)
            self.assertLess(quiet, self.ended - self.began + 0.1, tid)

    def test_dlopen_waits_for_who_is_in_a_constructor(self):
        self.check_owner("loads", "constructs", "mutex locked by thread ",
                         "; in dlopen(): the dynamic loader's lock")

    def test_dl_iterate_phdr_waits_for_who_walks_the_list(self):
        self.check_owner("unwinds", "walks", "mutex locked by thread ",
                         "; in dl_iterate_phdr(): the dynamic loader's lock")

    def test_fputs_waits_for_who_has_locked_the_stream(self):
        self.check_owner("writes", "prints", "lock of a stdio stream locked by thread ",
                         "; in fputs(): a stdio stream's lock")

    def test_malloc_waits_for_the_only_thread_that_is_in_the_allocator(self):
        self.check_owner("wants_heap", "allocates", "; in malloc(): the allocator's lock",
                         inferred=True)

    def test_a_first_call_waits_for_who_has_begun_it(self):
        self.check_owner("finds", "makes", "first call", inferred=True)
        # If libc has no names of its internal functions, this wait looks like any lock.
        if self.wait("comes_later")["tid"] is not None:
            self.check_owner("comes_later", "begins", "first call", inferred=True)

    def test_what_has_no_owner_is_said_to_have_none(self):
        self.check_no_owner("awaits_condition", "a condition variable, which has no owner")
        # Without names of libc's internal functions (no libc6-dbg), a semaphore's slow path has no name.
        self.assertIn(self.wait("awaits_semaphore")["detail"],
                      ("a semaphore, which has no owner", "semaphore, condition or join"))
        self.assertIsNone(self.wait("awaits_semaphore")["pid"])
        self.check_no_owner("awaits_barrier", "a barrier, which has no owner")
        self.check_no_owner("awaits_message", "semaphore or message queue of the kernel (msgrcv)")

    def test_several_files_of_one_process_name_that_process(self):
        child = self.said["child"]
        for name, call in (("polls", "poll"), ("selects", "pselect6"), ("epolls", "epoll_wait")):
            with self.subTest(name=name):
                wait = self.wait(name)
                self.assertEqual((wait["syscall"], wait["pid"], wait["inferred"]),
                                 (call, child, True), wait)
                self.assertIn(f"in {call}() of 2 files (", wait["detail"])
                self.assertIn("pipe:[", wait["detail"])
                self.assertIn("socket:[", wait["detail"])

    def test_a_listener_says_where_it_listens(self):
        wait = self.wait("accepts")
        self.assertEqual((wait["what"], wait["pid"]), ("socket", None), wait)
        self.assertIn(f"listens at 127.0.0.1:{self.said['port']}", wait["detail"])

    def test_a_connection_without_an_answer_says_to_where(self):
        wait = self.wait("connects")
        self.assertEqual((wait["what"], wait["syscall"]), ("socket", "connect"), wait)
        self.assertRegex(wait["detail"],
                         rf"TCP 127.0.0.1:\d+ to 127.0.0.1:{self.said['full']}, SYN_SENT")

    def test_a_terminal_that_the_program_has_made_is_named_by_its_other_side(self):
        wait = self.wait("reads_terminal")
        self.assertEqual((wait["what"], wait["syscall"], wait["pid"]), ("pipe", "read", None), wait)
        self.assertRegex(wait["path"], r"^/dev/pts/\d+$")
        self.assertEqual(wait["detail"].split(" (")[0], f"in read() of {wait['path']}")

    def test_who_has_what_others_want_waits_for_nobody(self):
        for name in ("constructs", "walks", "prints", "begins", "allocates"):
            wait = self.wait(name)
            self.assertEqual((wait["what"], wait["pid"]), ("signal", None), (name, wait))


if __name__ == "__main__":
    harness.main()
