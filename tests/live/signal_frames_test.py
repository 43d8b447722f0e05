#!/usr/bin/env python3
"""Tests that stacks say where a signal was delivered, and show what it interrupted: a handler in Python, which
the interpreter calls, and one in C, which the kernel calls. With every Python at hand.

    signal_frames_test.py --oddrank PATH
"""

import glob
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

# The handlers block: they read from a pipe that nobody writes to.
VICTIM = """
import ctypes, os, signal, sys, time
inner, outer = os.pipe()
def block():
    os.read(inner, 1)
class Job:
    def on_signal(self, number, frame):
        block()
def on_plain_signal(number, frame):
    block()
def on_any_signal(*rest):
    block()
def on_native_signal(number):
    block()
def sleep():
    print("ready", flush=True)
    time.sleep(1000)
kept = ctypes.CFUNCTYPE(None, ctypes.c_int)(on_native_signal)
if sys.argv[1] == "native":
    ctypes.CDLL(None).signal(signal.SIGUSR1, kept)
else:
    handlers = {"method": Job().on_signal, "rest": on_any_signal, "function": on_plain_signal}
    signal.signal(signal.SIGUSR1, handlers[sys.argv[1]])
sleep()
"""
MARK = "<signal SIGUSR1 delivered here>"


def interpreters():
    found = {"/usr/bin/python3", sys.executable}
    found.update(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    found.update(path for path in os.environ.get("ODDRANK_PYTHONS", "").split(":") if path)
    told = {path: subprocess.run([path, "-c", "import ctypes, sys; print(sys.version_info >= (3, 6))"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            for path in sorted(found)}
    return [path for path, run in told.items() if run.stdout == b"True\n"]


class SignalFrames(unittest.TestCase):
    def interrupt(self, python, kind):
        """Returns the pid of a process whose handler blocks."""
        victim = subprocess.Popen([python, "-c", VICTIM, kind], stdout=subprocess.PIPE)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        self.assertEqual(victim.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.asleep(victim.pid), "it sleeps")
        victim.send_signal(signal.SIGUSR1)
        proc_facts.wait_until(
            lambda: proc_facts.in_call_on(victim.pid, proc_facts.READ, "pipe:"), "its handler blocks")
        return victim.pid

    def read(self, pid):
        """Returns the names of the frames, innermost first, and the lines of the thread's text."""
        with harness.scratch() as folder:
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", str(pid), "--samples", "1", "--json",
                 f"{folder}/json"]))
            text = run.out
            with open(f"{folder}/json", encoding="utf-8") as file:
                run.out = file.read()
        thread = run.json()["ranks"][0]["threads"][0]
        return thread["frames"], text

    def check_python(self, python, kind, handler):
        frames, text = self.read(self.interrupt(python, kind))
        names = [frame["name"].rsplit(".", 1)[-1] for frame in frames if frame["kind"] == "python"]
        self.assertEqual(names, ["block", handler, MARK, "sleep", "<module>"], text)
        lines = [line.split("  ")[0].rsplit(".", 1)[-1] for line in
                 (line.strip() for line in text[text.index("\nThread"):].splitlines()[2:])]
        self.assertEqual(lines[:6], ["read", "block", handler, MARK, "sleep", "<module>"], text)

    def test_handlers_in_python(self):
        for python in interpreters():
            for kind, handler in (("function", "on_plain_signal"), ("method", "on_signal"),
                                  ("rest", "on_any_signal")):
                with self.subTest(python=python, kind=kind):
                    self.check_python(python, kind, handler)

    def test_a_handler_that_the_kernel_calls(self):
        for python in interpreters():
            with self.subTest(python=python):
                frames, text = self.read(self.interrupt(python, "native"))
                names = [frame["name"] for frame in frames]
                at = names.index(MARK)
                self.assertIn("on_native_signal", names[:at], text)
                below = [frame["name"] for frame in frames[at:] if frame["kind"] == "python"]
                self.assertEqual(below, ["sleep", "<module>"], text)
                self.assertRegex(text, rf"on_native_signal .*\n(.*\n)*? +{MARK}\n +\w*(nanosleep|select)",
                                 text)


if __name__ == "__main__":
    harness.main()
