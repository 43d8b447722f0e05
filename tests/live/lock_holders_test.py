#!/usr/bin/env python3
"""Tests who holds a file lock if the process that took it has left it to another one, and when a lock
file is called stale.

    lock_holders_test.py --oddrank PATH
"""

import os
import re
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

TAKE = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(3600)
if sys.argv[2] == "exits":
    os._exit(0)
os.close(fd)  # the child still has it open
time.sleep(3600)
"""
WAIT = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX)
"""
# Each has a lock for readers, and wants it for itself.
UPGRADE = """
import fcntl, os, struct, sys
def lock(kind):
    fcntl.fcntl(fd, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
lock(fcntl.F_RDLCK)
print("ready", flush=True)
sys.stdin.readline()
lock(fcntl.F_WRLCK)
"""
# The lock is the existence of the file.
POLL = """
import os, sys, time
def acquire_lock(path):
    while True:
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            time.sleep(0.5)
acquire_lock(sys.argv[1])
"""


class LockHolders(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def start(self, code, *arguments, stdin=subprocess.DEVNULL):
        process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=stdin,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def read(self, pid):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid),
                                            *harness.PATIENTLY, "--json", "-"]))
        rank = run.json()["ranks"][0]
        return rank["threads"][0]["wait"], run.json()["verdict"], run

    def end_of(self, pid):
        os.kill(pid, 9)
        proc_facts.wait_until(lambda: proc_facts.has_ended(pid), f"{pid} ends")

    def check_inherited(self, parent):
        path = f"{self.folder}/data.{parent}"
        taker = self.start(TAKE, path, parent)
        child = int(taker.stdout.readline())
        self.addCleanup(self.end_of, child)
        if parent == "exits":
            taker.wait(timeout=60)
        else:
            proc_facts.wait_until(lambda: proc_facts.in_call(
                taker.pid, proc_facts.CLOCK_NANOSLEEP, *proc_facts.SELECTS), "the taker sleeps")
        waiter = self.start(WAIT, path)
        proc_facts.wait_until(lambda: proc_facts.in_call(waiter.pid, proc_facts.FLOCK), "it waits")
        wait, verdict, run = self.read(waiter.pid)
        self.assertEqual((wait["what"], wait["pid"], wait["holder_alive"]),
                         ("file_lock", child, True), run)
        self.assertIn(f"pid {child} has the open file with the lock", wait["detail"], run)
        self.assertNotIn("stale", verdict["summary"], run)
        self.assertFalse([advice for advice in verdict["advice"] if "rm " in advice], run)

    def test_a_lock_whose_taker_has_exited_is_held_by_the_child(self):
        self.check_inherited("exits")

    def test_a_lock_whose_taker_has_closed_the_file_is_held_by_the_child(self):
        self.check_inherited("stays")

    def test_readers_of_one_file_that_all_want_to_write_wait_for_each_other(self):
        readers = [self.start(UPGRADE, f"{self.folder}/catalog", stdin=subprocess.PIPE) for _ in range(2)]
        for reader in readers:
            self.assertEqual(reader.stdout.readline(), b"ready\n")
        for reader in readers:
            reader.stdin.write(b"go\n")
            reader.stdin.flush()
        for reader in readers:
            proc_facts.wait_until(lambda pid=reader.pid: proc_facts.in_call(pid, proc_facts.FCNTL), "it waits")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *(str(one.pid) for one in readers),
                                            *harness.PATIENTLY, "--json", "-"]))
        verdict = run.json()["verdict"]
        self.assertEqual(verdict["kind"], "resource_cycle", run)
        self.assertEqual({one["pid"] for one in verdict["culprits"]}, {one.pid for one in readers}, run)

    def test_the_advice_of_a_container_leads_into_it(self):
        """The lock file is in a file system that only the rank's own mount namespace has."""
        gone = self.start("pass")
        gone.wait(timeout=60)
        script = f"mount -t tmpfs none {self.folder} && echo {gone.pid} > {self.folder}/a.lock && exec \"$@\""
        poller = subprocess.Popen(
            harness.unshare("sh", "-c", script, "sh", sys.executable, "-c", POLL, f"{self.folder}/a.lock"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(poller.communicate)
        self.addCleanup(poller.kill)
        proc_facts.wait_until(lambda: "python" in proc_facts.comm(poller.pid) and proc_facts.in_call(
            poller.pid, proc_facts.CLOCK_NANOSLEEP, *proc_facts.SELECTS), "it polls")
        _, verdict, run = self.read(poller.pid)
        removals = [advice for advice in verdict["advice"] if "rm " in advice]
        self.assertTrue(removals, run)
        for advice in removals:
            path, = re.findall(r"/proc/\d+/root/\S+a\.lock", advice)
            self.assertTrue(os.path.exists(path), advice)

    def check_polled(self, written, *expected):
        path = f"{self.folder}/it's a.lock"
        with open(path, "w", encoding="utf-8") as file:
            file.write(written)
        poller = self.start(POLL, path)
        proc_facts.wait_until(lambda: proc_facts.in_call(
            poller.pid, proc_facts.CLOCK_NANOSLEEP, *proc_facts.SELECTS), "it polls")
        # All processes of the node are searched within half a second, or nothing is said.
        ends = time.monotonic() + 60
        wait, verdict, run = self.read(poller.pid)
        while wait["holder_alive"] != expected[0] and time.monotonic() < ends:
            wait, verdict, run = self.read(poller.pid)
        self.assertEqual((wait["what"], wait["path"]), ("file_lock", path), run)
        self.assertEqual(wait["holder_alive"], expected[0], run)
        removals = [advice for advice in verdict["advice"] if "rm " in advice]
        self.assertEqual(bool(removals), expected[1], run)
        for advice in removals:
            self.assertIn("'" + path.replace("'", "'\\''") + "'", advice)
        return verdict

    def test_a_lock_file_is_stale_only_if_its_maker_is_known_to_be_gone(self):
        gone = self.start("pass")
        gone.wait(timeout=60)
        verdict = self.check_polled(str(gone.pid), False, True)
        self.assertIn(f"pid {gone.pid}, which made it, is gone", verdict["summary"])

    def test_a_lock_file_of_an_unknown_maker_is_not_removed(self):
        self.check_polled("", None, False)

    def test_a_lock_file_of_a_living_maker_is_not_removed(self):
        self.check_polled(str(os.getpid()), True, False)


if __name__ == "__main__":
    harness.main()
