#!/usr/bin/env python3
"""Tests that a verdict's kind is what the culprit's wait ends in, through its own children, pools,
pipes, queues and threads.

    wait_ends_test.py --oddrank PATH
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "wait_ends.py")
OPENAT = 257
SHAPES = ("pool", "pool_spawn", "executor", "thread_pool", "queue", "join", "feeder", "event",
          "process_of_thread")
# What the end waits in -> the kind, and the system call that shows that it does.
ENDS = {"fifo": ("io_stall", OPENAT), "lock": ("file_lock", proc_facts.FLOCK),
        "answer": ("external_wait", proc_facts.RECVFROM), "output": ("io_stall", proc_facts.WRITE)}
THREADS = ("thread_pool", "feeder", "event")  # the end is a thread of the process itself


class Case(contextlib.ExitStack):
    """One process that waits, with all that its end can wait in."""

    def __init__(self, shape, end):
        super().__init__()
        self.folder = self.enter_context(harness.scratch())
        os.mkfifo(f"{self.folder}/pipe")
        self.lock = self.enter_context(open(f"{self.folder}/lock", "w", encoding="utf-8"))
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        server = self.enter_context(socket.create_server(("127.0.0.1", 0)))
        with open(f"{self.folder}/port", "w", encoding="utf-8") as file:
            file.write(str(server.getsockname()[1]))
        reading, writing = os.pipe()
        self.callback(os.close, reading)
        self.callback(os.close, writing)
        self.victim = subprocess.Popen(
            [sys.executable, VICTIM, shape, end], cwd=self.folder, stdout=subprocess.PIPE,
            env={**os.environ, "OUTPUT": str(writing)}, start_new_session=True, pass_fds=(writing,))
        self.callback(self.victim.communicate)
        self.callback(os.killpg, self.victim.pid, signal.SIGKILL)
        self.pid, self.tid = map(int, self.victim.stdout.readline().split())

    def ends_in(self, number):
        """Waits until the thread at the end is in this call; of a program, the child of the last."""
        def is_there():
            pid = self.tid
            while proc_facts.children(pid):
                pid = proc_facts.children(pid)[0]
            return proc_facts.in_call(pid, number)
        proc_facts.wait_until(is_there, "the end blocks")

    def verdict(self):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(self.victim.pid), "--samples", "2",
             *harness.PATIENTLY, "--json", f"{self.folder}/report.json"]))
        if run.status != 0:
            raise AssertionError(str(run))
        with open(f"{self.folder}/report.json", encoding="utf-8") as file:
            return json.load(file)["verdict"]


class WaitEnds(unittest.TestCase):
    def check(self, case, kind, verdict):
        self.assertEqual((verdict["kind"], [each["pid"] for each in verdict["culprits"]]),
                         (kind, [case.victim.pid]), verdict)

    def check_python(self, shape, end):
        kind, call = ENDS[end]
        with self.subTest(shape=shape, end=end), Case(shape, end) as case:
            case.ends_in(call)
            verdict = case.verdict()
            self.check(case, kind, verdict)
            if shape != "thread_pool":  # its thread speaks for the process
                last = case.tid if shape in THREADS else case.pid
                self.assertIn(f" {last}", verdict["summary"])
            path = {"fifo": "pipe", "lock": "lock"}.get(end)
            if path:
                self.assertEqual(verdict["culprits"][0]["waits_for"]["path"],
                                 f"{case.folder}/{path}")

    def test_shapes(self):
        for shape in SHAPES:
            self.check_python(shape, "fifo")

    def test_ends(self):
        for end in ENDS:
            self.check_python("join", end)
            self.check_python("event", end)

    @harness.only_in_full
    def test_all(self):
        for shape in SHAPES:
            for end in ENDS:
                if (shape, end) != ("pool_spawn", "output"):  # a spawned process inherits no pipe
                    self.check_python(shape, end)

    def test_stopped_child(self):
        for shape in ("pool", "executor", "join", "process_of_thread"):
            with self.subTest(shape=shape), Case(shape, "stopped") as case:
                proc_facts.wait_until(lambda pid=case.pid: proc_facts.state(pid) == "T", "it stops")
                verdict = case.verdict()
                self.check(case, "stopped_rank", verdict)
                self.assertIn(f"kill -CONT {case.pid}", " ".join(verdict["advice"]))

    def test_terminal(self):
        for end, kind, call in (("fifo", "io_stall", OPENAT), ("prompt", "external_wait", proc_facts.READ)):
            with self.subTest(end=end), Case("terminal", end) as case:
                case.ends_in(call)
                proc_facts.wait_until(lambda pid=case.victim.pid: proc_facts.in_call(pid, proc_facts.READ),
                                      "the program reads its terminal")
                verdict = case.verdict()
                self.check(case, kind, verdict)
                self.assertIn(f"child process pid {case.pid}", verdict["summary"])

    def test_programs(self):
        for shape in ("run", "shell"):
            with self.subTest(shape=shape), Case(shape, "fifo") as case:
                proc_facts.wait_until(lambda pid=case.pid: proc_facts.children(pid), "a child")
                case.ends_in(OPENAT)
                verdict = case.verdict()
                self.check(case, "io_stall", verdict)
                self.assertIn("(cat pipe)", verdict["summary"])


if __name__ == "__main__":
    harness.main()
