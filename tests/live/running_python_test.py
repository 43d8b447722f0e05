#!/usr/bin/env python3
"""Tests what `oddrank node --never-stop` says about a thread that runs Python code: its Python frames are those
of one moment, or are marked. Up to 3.10 each frame tells whether its call goes on, so a frame whose call has
returned gives a stack away that was read in pieces.

    running_python_test.py --oddrank PATH
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

# On request the frame of outer() says that its call has returned, as one does that was read too late.
VICTIM = """
import ctypes, sys
def inner():
    print("ready", flush=True)
    while True:
        pass
def outer():
    state = ctypes.c_byte.from_address(id(sys._getframe()) + {offset})
    assert state.value == {executing}
    state.value = {shown}
    inner()
outer()
"""
# Offset of the field, its value while the call goes on, and after it.
STATES = {"3.8": (116, 1, 0), "3.9": (116, 1, 0), "3.10": (108, 0, 1)}


def interpreters():
    """Returns the paths of the Pythons from 3.8 to 3.10 that are at hand, by version."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    found += [path for path in os.environ.get("ODDRANK_PYTHONS", "").split(":") if path]
    known = {}
    for path in sorted(found):
        told = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                              stdout=subprocess.PIPE, check=False, encoding="utf-8")
        if told.stdout.strip() in STATES:
            known[told.stdout.strip()] = path
    return known


# Calls and returns all the time. Each frame tells by its line which call it is in.
BUSY = """
def leaf(n):
    return n + 1
def first(n):
    n += 1
    return leaf(n)
def second(n):
    k = third(n)
    return third(k)
def third(n): return n
print("ready", flush=True)
while True:
    first(1)
    second(2)
"""
CALLS = {("leaf", "first", 6), ("third", "second", 8), ("third", "second", 9),
         ("first", "<module>", 13), ("second", "<module>", 14)}


class RunningPython(unittest.TestCase):
    def start(self, python, program):
        victim = subprocess.Popen([python, "-c", program], stdout=subprocess.PIPE)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        self.assertEqual(victim.stdout.readline(), b"ready\n")
        return victim.pid

    def read(self, pid):
        """Returns the names of the Python frames, whether they are marked as torn, and the text."""
        with harness.scratch() as folder:
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", str(pid), "--never-stop", "--samples", "1",
                 "--json", f"{folder}/json"]))
            run.file = f"{folder}/json"
            with open(run.file, encoding="utf-8") as file:
                run.out, text = file.read(), run.out
        thread = run.json()["ranks"][0]["threads"][0]
        self.frames = [frame for frame in thread["frames"] if frame["kind"] == "python"]
        names = [frame["name"] for frame in self.frames]
        return names, thread.get("torn", False), text.replace("\n    ", " ")

    def test_frames_that_are_not_marked_were_a_stack_at_some_moment(self):
        reads = 200 if os.environ.get("ODDRANK_MATRIX") else 10
        for version, python in {"": sys.executable, **interpreters()}.items():
            with self.subTest(version=version):
                pid = self.start(python, BUSY)
                marked = 0
                for _ in range(reads):
                    names, torn, text = self.read(pid)
                    marked += torn
                    if not torn:
                        self.assertEqual(names[-1], "<module>", text)
                        lines = [frame["line"] for frame in self.frames]
                        self.assertLessEqual(set(zip(names, names[1:], lines[1:])), CALLS, text)
                # Beside busy processes a fifth may be: of a few reads by chance the half.
                self.assertLess(marked, reads / 2 if reads > 100 else reads)
                os.kill(pid, signal.SIGKILL)  # its CPU is wanted

    def test_a_thread_that_stays_in_its_function_is_not_marked(self):
        pid = self.start(sys.executable, "print('ready', flush=True)\nwhile True: pass")
        names, torn, text = self.read(pid)
        self.assertEqual((names, torn), (["<module>"], False), text)
        self.assertIn("no native frames: the thread was running", text)

    @harness.only_with(interpreters())
    def test_a_call_that_has_returned_is_marked(self):
        for version, python in interpreters().items():
            offset, executing, returned = STATES[version]
            for shown in (executing, returned):
                with self.subTest(version=version, shown=shown):
                    pid = self.start(python, VICTIM.format(offset=offset, executing=executing,
                                                           shown=shown))
                    names, torn, text = self.read(pid)
                    self.assertEqual(names, ["inner", "outer", "<module>"], text)
                    self.assertEqual(torn, shown == returned, text)
                    self.assertEqual("may be of different moments" in text, torn, text)


if __name__ == "__main__":
    harness.main()
