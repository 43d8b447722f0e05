#!/usr/bin/env python3
"""Tests that a thread's title and JSON say what the Python interpreter does beside its program: it collects
garbage, runs hooks of fork(), or ends. With every Python at hand. And what is said of interpreters that are
not read, and of a process in one line.

    interpreter_work_test.py --oddrank PATH
"""

import glob
import os
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

# Each blocks in a read from a pipe that nobody writes to.
VICTIM = """
import gc, os, sys
inner, outer = os.pipe()
def block(read=os.read, write=os.write, pid=os.getpid, fd=inner):
    write(1, b"%d\\n" % pid())
    read(fd, 1)
class Owner:
    def __init__(self):
        self.own = self
    def __del__(self, block=block):
        block()
if sys.argv[1] == "collects_garbage":
    Owner()
    gc.collect()
elif sys.argv[1] == "runs_fork_hooks":
    os.register_at_fork(after_in_child=block)
    child = os.fork()
    os.waitpid(child, 0)
elif sys.argv[1] == "ends_interpreter":
    sys.modules["__kept__"] = owner = Owner()
    owner.own = None
else:
    block()
"""
WORDS = {"collects_garbage": ", collects garbage", "ends_interpreter": ", ends the interpreter",
         "runs_fork_hooks": ", runs hooks of fork()"}


def interpreters():
    found = {"/usr/bin/python3", sys.executable}
    found.update(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    found.update(path for path in os.environ.get("ODDRANK_PYTHONS", "").split(":") if path)
    told = {path: subprocess.run([path, "-c", "import sys; print(sys.version_info >= (3, 8))"],
                                 stdout=subprocess.PIPE, check=False) for path in sorted(found)}
    return [path for path, run in told.items() if run.stdout == b"True\n"]


def has_names(pid):
    """Returns whether the interpreter has symbols of functions that it does not export."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        paths = {line.split()[-1] for line in file if "python" in line.split()[-1]}
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if b"\0run_at_forkers\0" in file.read():
                    return True
    return False


class InterpreterWork(unittest.TestCase):
    def start(self, python, work):
        victim = subprocess.Popen([python, "-c", VICTIM, work], stdout=subprocess.PIPE,
                                  start_new_session=True)
        self.addCleanup(victim.communicate)
        self.addCleanup(os.killpg, victim.pid, signal.SIGKILL)
        pid = int(victim.stdout.readline())
        proc_facts.wait_until(
            lambda: proc_facts.in_call_on(pid, proc_facts.READ, "pipe:"), "it blocks")
        return pid

    def read(self, pid):
        with harness.scratch() as folder:
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", str(pid), "--samples", "1", "--json",
                 f"{folder}/json"]))
            text = run.out
            with open(f"{folder}/json", encoding="utf-8") as file:
                run.out = file.read()
        return run.json()["ranks"][0]["threads"][0].get("interpreter", []), text

    def test_each_is_said_and_nothing_else(self):
        for python in interpreters():
            for work in (*WORDS, "plain"):
                with self.subTest(python=python, work=work):
                    pid = self.start(python, work)
                    told, text = self.read(pid)
                    expected = [work] if work in WORDS else []
                    if work == "runs_fork_hooks" and not has_names(pid):
                        expected = []  # a stripped interpreter
                    if work == "ends_interpreter" and "collects_garbage" in told:
                        told.remove("collects_garbage")  # as part of it
                    self.assertEqual(told, expected, text)
                    for name, words in WORDS.items():
                        if name != "collects_garbage" or work != "ends_interpreter":
                            self.assertEqual(words in text, name in expected, text)


OLD = glob.glob(os.path.expanduser("~/.pyenv/versions/3.[67].*/bin/python3"))


class Refusals(unittest.TestCase):
    def start(self, *command):
        victim = subprocess.Popen(command)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        proc_facts.wait_until(lambda: proc_facts.asleep(victim.pid), "it sleeps")
        return victim.pid

    def check(self, pid, words, state="state S"):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(pid), "--samples", "1"]))
        self.assertEqual(run.status, 3, run)
        self.assertIn(words, run.out.replace("\n", " "), run)
        self.assertNotIn("no Python found", run.out)
        line, = self.one_line(pid)
        self.assertTrue(line.startswith(f"pid {pid} ("), line)
        self.assertIn(state, line)
        self.assertIn(words, line)

    def one_line(self, pid):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "-q"]))
        return run.out.splitlines()

    def test_pypy_is_named(self):
        with harness.scratch() as folder:
            shutil.copy("/bin/sleep", f"{folder}/pypy3")  # told by the name of the program
            pid = self.start(f"{folder}/pypy3", "1000")
            self.check(pid, f"pid {pid} is PyPy; only CPython's frames are read")

    @harness.only_with(shutil.which("pypy3"))
    def test_a_real_pypy_is_named(self):
        pid = self.start("pypy3", "-c", "import time; time.sleep(1000)")
        self.check(pid, f"pid {pid} is PyPy; only CPython's frames are read")

    @harness.only_with(OLD)
    def test_a_refusal_does_not_contradict_itself(self):
        for python in OLD:
            with self.subTest(python=python):
                self.check(self.start(python, "-c", "import time; time.sleep(1000)"), "is not supported")

    def test_one_line_says_where_a_process_is(self):
        pid = self.start(sys.executable, "-c", "def f():\n    import time\n    time.sleep(1000)\nf()")
        line, = self.one_line(pid)
        self.assertRegex(line, rf"^pid {pid} \(.*\): state S, .*, at f \(<string>:3\)$")


if __name__ == "__main__":
    harness.main()
