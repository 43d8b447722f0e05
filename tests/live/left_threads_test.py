#!/usr/bin/env python3
"""Tests Python threads whose process is not as Python knows it: the child of a fork() of which Python was not
told, as a C library and uWSGI do it (python3 -m pip install pyuwsgi), and a process whose main thread has
ended; with every Python at hand.

    left_threads_test.py --oddrank PATH
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import interpreters
import proc_facts

FORK = """
import ctypes, os, threading
inner, outer = os.pipe()
def background():
    os.read(inner, 1)
def work():
    os.read(inner, 1)
def main():
    threading.Thread(target=background, name="loader").start()
    if ctypes.PyDLL(None).fork() == 0:
        work()
    background()
main()
"""
MAIN_ENDS = """
import ctypes, os, sys, threading
inner, outer = os.pipe()
def work():
    os.read(inner, 1)
def main():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    threading.Thread(target=work, name="loader").start()
    ctypes.CDLL(None).syscall(int(sys.argv[1]), 0)
main()
"""
SERVER = """
import os, threading
inner, outer = os.pipe()
def background():
    os.read(inner, 1)
threading.Thread(target=background, name="loader", daemon=True).start()
def handle():
    os.read(inner, 1)
def application(environ, start_response):
    handle()
"""


def sections(text):
    """Returns the names of the frames below each title of a thread."""
    return {title: re.findall(r"(?m)^    (\S+)", body)
            for title, body in re.findall(r"(?m)^(Thread \d+|Python thread \"\w+\").*\n((?:    .*\n)*)", text)}


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def blocks_in_read(pid):
    return proc_facts.in_call_on(pid, proc_facts.READ, "pipe:")


class ForkWithoutPython(unittest.TestCase):
    def start(self, *command, **options):
        victim = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
        self.addCleanup(victim.wait, 60)
        self.addCleanup(os.killpg, victim.pid, signal.SIGKILL)
        return victim

    def read(self, pid):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--samples", "1",
                                            *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run)
        return sections(run.out.split("\n\nProcess ")[0]), run  # not of its children

    def test_the_child_shows_its_frames_and_those_that_nobody_runs(self):
        for python in interpreters.all_here():
            with self.subTest(python=python):
                victim = self.start(python, "-c", FORK)
                child, = proc_facts.wait_until(lambda: proc_facts.children(victim.pid), "the child")
                proc_facts.wait_until(lambda: blocks_in_read(child), "it blocks")
                shown, run = self.read(child)
                self.assertEqual(shown[f"Thread {child}"][1:], ["work", "main", "<module>"], run)
                self.assertEqual(shown['Python thread "loader"'][0], "background", run)
                self.assertEqual(len(shown), 2, run)
                proc_facts.wait_until(
                    lambda: all(blocks_in_read(tid) for tid in proc_facts.threads(victim.pid)), "it blocks")
                shown, run = self.read(victim.pid)  # its parent lacks nothing
                self.assertEqual(shown[f"Thread {victim.pid}"][1:3], ["background", "main"], run)
                self.assertNotIn('Python thread "loader"', shown, run)

    @harness.only_with(shutil.which("uwsgi", path=os.path.dirname(sys.executable)))
    def test_a_worker_of_uwsgi(self):
        with harness.scratch() as folder:
            with open(f"{folder}/app.py", "w", encoding="utf-8") as file:
                file.write(SERVER)
            port = free_port()
            victim = self.start(
                f"{os.path.dirname(sys.executable)}/uwsgi", "--http-socket", f"127.0.0.1:{port}",
                "--master", "--processes", "1", "--enable-threads", "--wsgi-file", f"{folder}/app.py",
                stderr=subprocess.DEVNULL)
            worker, = proc_facts.wait_until(lambda: proc_facts.children(victim.pid), "its worker")
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                proc_facts.wait_until(lambda: blocks_in_read(worker), "it blocks")
                shown, run = self.read(worker)
        self.assertEqual(shown[f"Thread {worker}"][1:4], ["handle", "application", "<module>"], run)
        self.assertEqual(shown['Python thread "loader"'][0], "background", run)


class MainThreadEnds(unittest.TestCase):
    def start(self, python):
        """Returns the pids of a process that waits for its child, and of the child, and the child's last tid."""
        exit_call = 93 if os.uname().machine == "aarch64" else 60  # of one thread
        victim = subprocess.Popen([python, "-c", MAIN_ENDS, str(exit_call)], stdin=subprocess.DEVNULL,
                                  start_new_session=True)
        self.addCleanup(victim.wait, 60)
        self.addCleanup(os.killpg, victim.pid, signal.SIGKILL)
        child, = proc_facts.wait_until(lambda: proc_facts.children(victim.pid), "the child")
        proc_facts.wait_until(lambda: proc_facts.state(child) == "Z", "its main thread ends")
        left = max(proc_facts.threads(child))
        proc_facts.wait_until(lambda: proc_facts.in_call(left, proc_facts.READ), "it blocks")
        return victim.pid, child, left

    def test_the_other_threads_are_read(self):
        for python in interpreters.all_here():
            with self.subTest(python=python):
                _, child, left = self.start(python)
                for pid in (child, left):
                    run = harness.Run(harness.run_here(
                        [harness.Options.oddrank, "node", str(pid), "--samples", "1"]))
                    self.assertEqual(run.status, 0, run)
                    self.assertIn(f"Process {child} ", run.out)
                    self.assertIn("1 thread, its main thread has ended", run.out)
                    shown = sections(run.out)
                    self.assertEqual(shown[f"Thread {left}"][:2], ["read", "work"], run)
                    self.assertNotIn(f"Thread {child}", shown, run)
                    self.assertEqual(f"Note: {os.uname().nodename}: {left} is a thread of pid {child}" in run.out,
                                     pid == left, run)

    def test_its_parent_does_not_wait_for_a_dead_child(self):
        parent, child, _ = self.start(sys.executable)
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(parent), str(child), "--json", "-", "--samples", "1"]))
        report = run.json()
        self.assertEqual(run.status, 0, run)
        self.assertEqual({row["pid"]: row["state"] for row in report["ranks"]}, {parent: "S", child: "S"}, run)
        self.assertNotIn(report["verdict"]["kind"], ("early_exit", "child_deadlock", "missing_rank"), run)
        self.assertNotRegex(run.out, r"\bdead\b|zombie")


if __name__ == "__main__":
    harness.main()
