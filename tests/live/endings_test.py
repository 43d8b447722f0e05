#!/usr/bin/env python3
"""Runs `oddrank node` on ranks that have exited, or are about to: at the end of the program, by
sys.exit(), after an exception; and on processes that a rank has left behind, which are not the
rank.

    endings_test.py --oddrank PATH
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

DEADLINE_S = 60
BEGIN = "import atexit, multiprocessing, os, signal, subprocess, sys, threading, time\n"
# Keeps the interpreter from its end. (A thread of its own: SAID says when it runs.)
THREAD = "def stay():\n  {said}\n  time.sleep(10000)\nthreading.Thread(target=stay).start()\n"


def wait_for(what, fact):
    end = time.monotonic() + DEADLINE_S
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.01)


def stat(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()


def asleep(pid):
    """Returns whether the main thread sleeps in a futex: it waits for another thread."""
    with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
        return file.read().split()[0] == "202"


class Endings(unittest.TestCase):
    jobs = 0

    def setUp(self):
        Endings.jobs += 1
        self.address = f"oddrank-test-{os.getpid()}-{Endings.jobs}"
        scratch = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.started = []
        self.left = []
        self.addCleanup(self.end)

    def end(self):
        for pid in self.left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.started:
            process.kill()
            process.wait(60)
        self.left, self.started = [], []

    def begin_again(self):
        """Ends this job, so that the next one has no foreign zombies beside its ranks."""
        self.end()
        self.setUp()

    def start(self, rank, code, world=2, own_group=False):
        """Starts a rank and waits until it has written the file that SAID stands for in its code."""
        path = os.path.join(self.folder, f"{rank}")
        said = f"(open({path + '.new'!r}, 'w').write(str(os.getpid())), " \
               f"os.rename({path + '.new'!r}, {path!r}))"
        with open(path + ".py", "w", encoding="utf-8") as file:
            file.write(BEGIN + code.format(said=said))
        env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
               "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": self.address, "MASTER_PORT": "1"}
        process = subprocess.Popen([sys.executable, path + ".py"], env=env, stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=own_group)
        self.started.append(process)
        wait_for(f"rank {rank}", lambda: os.path.exists(path))
        with open(path, encoding="utf-8") as file:
            return process, int(file.read())

    def look(self):
        """Returns the report's rows by rank, and the whole report."""
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--select", f"{self.address}:1", "--samples", "2",
             "--interval", "100ms", "--json", "-", "-q", *harness.PATIENTLY]))
        self.assertNotIn(run.status, (1, 2), run)
        return {row["rank"]: row for row in run.json()["ranks"]}, run

    def ending(self, code):
        """Returns how the report says that rank 0 ends, while its main thread waits for its last
        thread."""
        process, _ = self.start(0, THREAD + code, 1)
        wait_for("the end", lambda: asleep(process.pid))
        row = self.look()[0][0]
        return row.get("ending"), row.get("exception")

    def test_the_last_line_was_reached(self):
        self.assertEqual(self.ending(""), ("in_order", None))

    def test_an_exception_that_nothing_has_caught(self):
        self.assertEqual(self.ending("class Lost(ValueError): pass\nraise Lost(1)"),
                         ("after_exception", "Lost"))

    def test_an_exception_that_was_caught(self):
        self.assertEqual(self.ending("try:\n  raise ValueError\nexcept ValueError:\n  pass"),
                         ("in_order", None))

    def test_sys_exit(self):
        self.assertEqual(self.ending("sys.exit(1)"), ("system_exit", None))

    def test_a_handler_of_atexit(self):
        self.start(0, "def last():\n  {said}\n  time.sleep(10000)\natexit.register(last)", 1)
        row = self.look()[0][0]
        self.assertEqual((row.get("ending"), row.get("exception")), ("in_order", None))

    def test_a_rank_in_its_program_does_not_end(self):
        self.start(0, "{said}\ntime.sleep(10000)", 1)
        row = self.look()[0][0]
        self.assertEqual((row.get("ending"), row.get("exception")), (None, None))

    def test_a_zombie_tells_its_exit_code(self):
        for code, status in (("os._exit(0)", 0), ("os._exit(3)", 3 << 8),
                             ("os.kill(os.getpid(), 9)", 9)):
            with self.subTest(code=code):
                self.begin_again()
                self.start(0, "{said}\nsignal.pause()")
                _, pid = self.start(1, "{said}\n" + code)
                wait_for("zombie", lambda pid=pid: stat(pid)[0] == "Z")
                row = self.look()[0][1]
                self.assertEqual((row["pid"], row["state"], row["exit_code"]), (pid, "Z", status))

    CHILDREN = {
        "fork": "if os.fork() == 0:\n  {said}\n  signal.pause()\n",
        "mp_fork": "def worker():\n  {said}\n  signal.pause()\n"
                   "multiprocessing.get_context('fork').Process(target=worker).start()\n",
        "mp_spawn": "def worker():\n  {said}\n  signal.pause()\n"
                    "if __name__ == '__main__':\n"
                    "  multiprocessing.get_context('spawn').Process(target=worker).start()\n",
    }

    def check_left_behind(self, name, end, own_group):
        """The child of rank 1 lives on, its parent is gone."""
        first, _ = self.start(0, "{said}\nsignal.pause()")
        code = self.CHILDREN[name] + "if __name__ == '__main__':\n  signal.pause()\n"
        process, child = self.start(1, code, own_group=own_group)
        self.left.append(child)
        self.assertNotEqual(process.pid, child)
        end(process)
        process.wait(60)
        wait_for("orphan", lambda: int(stat(child)[1]) != process.pid)
        rows, run = self.look()
        self.assertEqual(rows[0]["pid"], first.pid, run)
        self.assertNotEqual((rows.get(1) or {}).get("pid"), child, run)
        self.assertFalse([row for row in run.json()["verdict"]["culprits"] if row["pid"] == child], run)
        self.assertTrue([note for note in run.json()["notes"]
                         if "rank 1 is gone" in note and str(child) in note], run)

    def test_the_child_of_a_killed_rank_is_not_the_rank(self):
        for name in self.CHILDREN:
            for own_group in (False, True):
                with self.subTest(child=name, own_group=own_group):
                    self.begin_again()
                    self.check_left_behind(name, subprocess.Popen.kill, own_group)

    def test_the_worker_of_the_only_rank_of_this_node_is_not_the_rank(self):
        for name in ("mp_fork", "mp_spawn"):
            with self.subTest(child=name):
                self.begin_again()
                code = self.CHILDREN[name] + "if __name__ == '__main__':\n  signal.pause()\n"
                process, child = self.start(0, code)
                self.left.append(child)
                process.kill()
                process.wait(60)
                wait_for("orphan", lambda c=child, p=process.pid: int(stat(c)[1]) != p)
                rows, run = self.look()
                self.assertNotEqual((rows.get(0) or {}).get("pid"), child, run)
                self.assertTrue([note for note in run.json()["notes"] if "rank 0 is gone" in note],
                                run)

    def test_the_child_of_a_rank_that_has_ended_in_order_is_not_the_rank(self):
        code = self.CHILDREN["fork"] + "sys.exit(0)"
        first, _ = self.start(0, "{said}\nsignal.pause()")
        process, child = self.start(1, code)
        self.left.append(child)
        self.assertEqual(process.wait(60), 0)
        wait_for("orphan", lambda: int(stat(child)[1]) != process.pid)
        rows, run = self.look()
        self.assertEqual(rows[0]["pid"], first.pid, run)
        self.assertNotEqual((rows.get(1) or {}).get("pid"), child, run)

    def test_ranks_whose_launcher_is_gone_are_ranks(self):
        """They are orphans, too, but each runs a program of its own."""
        pids = {}
        for rank in (0, 1):
            code = "if os.fork() == 0:\n" \
                   "  os.execv(sys.executable, [sys.executable, '-c', 'import os, signal\\n" \
                   "f = open(os.environ[\"SAID\"], \"w\")\\nf.write(str(os.getpid()))\\nf.close()\\n" \
                   "signal.pause()'])\n"
            path = os.path.join(self.folder, f"orphan.{rank}")
            os.environ["SAID"] = path
            launcher, _ = self.start(rank, code + "{said}")
            launcher.wait(60)
            wait_for("orphan", lambda path=path: os.path.exists(path) and os.path.getsize(path))
            with open(path, encoding="utf-8") as file:
                pids[rank] = int(file.read())
            self.left.append(pids[rank])
        self.assertEqual({rank: row["pid"] for rank, row in self.look()[0].items()}, pids)


if __name__ == "__main__":
    harness.main()
