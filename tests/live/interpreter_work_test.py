#!/usr/bin/env python3
"""Tests that a thread's title and JSON say what the Python interpreter does beside its program: it collects
garbage, runs hooks of fork(), or ends. With every Python at hand. And what is said of interpreters that are
not read, and of a process in one line.

    interpreter_work_test.py --oddrank PATH
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import interpreters
import proc_facts

# Each blocks in a read from a pipe that nobody writes to.
VICTIM = """
import gc, os, sys, threading
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
elif sys.argv[1] == "collects_generation_1":
    other = threading.Thread(target=block, kwargs={"write": lambda *_: 0})
    other.daemon = True
    other.start()
    Owner()
    gc.collect(1)
elif sys.argv[1] == "collects_young":
    gc.collect()
    Owner()  # a collection while it is made would put it into the next generation
    gc.set_threshold(1, 100000, 100000)
    kept = []
    while True:
        kept.append([kept])
elif sys.argv[1] == "waits_for_import":
    with open(sys.argv[2] + "/slow_module.py", "w") as file:
        file.write("import os, sys\\nsys.begun.set()\\nos.read(sys.pipe, 1)\\n")
    sys.path.insert(0, sys.argv[2])
    sys.pipe, sys.begun = inner, threading.Event()
    threading.Thread(target=lambda: __import__("slow_module"), daemon=True).start()
    sys.begun.wait()
    os.write(1, b"%d\\n" % os.getpid())
    import slow_module
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
GENERATIONS = {"collects_garbage": 2, "collects_generation_1": 1, "collects_young": 0}


def is_free_threaded(python):
    return interpreters.reported_by(python, "sysconfig.get_config_var('Py_GIL_DISABLED')") == ["1"]


def has_names(pid):
    """Returns whether the interpreter has symbols of functions that it does not export."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        paths = {line.split()[-1] for line in file if "python" in line.split()[-1]}
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
                if b"\0run_at_forkers\0" in data or b"\0collect_generations\0" in data:
                    return True
    return False


def waits_for_lock(pid):
    """Returns whether it waits without a time limit, as nobody waits for the GIL."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        words = file.read().split()
    return words[0] == str(proc_facts.FUTEX) and words[4] == "0x0"


class InterpreterWork(unittest.TestCase):
    def start(self, python, work):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        victim = subprocess.Popen([python, "-c", VICTIM, work, folder], stdout=subprocess.PIPE,
                                  start_new_session=True)
        self.addCleanup(victim.communicate)
        self.addCleanup(os.killpg, victim.pid, signal.SIGKILL)
        pid = int(victim.stdout.readline())
        if work == "waits_for_import":
            proc_facts.wait_until(lambda: waits_for_lock(pid), "it waits for the lock")
        else:
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
        thread = run.json()["ranks"][0]["threads"][0]
        self.generation = thread.get("gc_generation")
        return thread.get("interpreter", []), text

    def test_each_is_said_and_nothing_else(self):
        for python in interpreters.all_here():
            for work in (*WORDS, "plain"):
                if work == "runs_fork_hooks" and interpreters.version_of(python) < (3, 7):
                    continue  # os.register_at_fork is of 3.7
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

    def test_the_generation_is_told(self):
        for python in interpreters.all_here():
            for work, generation in GENERATIONS.items():
                with self.subTest(python=python, work=work):
                    pid = self.start(python, work)
                    told, text = self.read(pid)
                    if work == "collects_generation_1" and not has_names(pid):
                        self.assertEqual(told, [], text)  # it is not known which thread it is
                        continue
                    self.assertEqual(told, ["collects_garbage"], text)
                    if (3, 8) <= interpreters.version_of(python) < (3, 14) and not is_free_threaded(python):
                        self.assertEqual(self.generation, generation, text)
                        self.assertIn(f", collects garbage (generation {generation})", text)
                    else:
                        self.assertIsNone(self.generation, text)

    def test_an_import_of_another_thread(self):
        for python in interpreters.all_here():
            with self.subTest(python=python):
                told, text = self.read(self.start(python, "waits_for_import"))
                self.assertEqual(told, ["waits_for_import"], text)
                self.assertRegex(text, r", waits for an import\)\s+waits for a lock held by tid \d+")


OLD = glob.glob(os.path.expanduser("~/.pyenv/versions/2.7.*/bin/python2.7"))


# What the C library calls last.
FINALIZED = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3
libc.__cxa_atexit(ctypes.cast(libc.pause, ctypes.c_void_p), None, None)
sys.exit(int(sys.argv[1]))
"""


class Finalized(unittest.TestCase):
    def test_python_is_gone_and_the_exit_of_c_is_left(self):
        for python in interpreters.all_here():
            for status in (0, 1):
                with self.subTest(python=python, status=status):
                    victim = subprocess.Popen([python, "-c", FINALIZED, str(status)])
                    self.addCleanup(victim.communicate)
                    self.addCleanup(victim.kill)
                    proc_facts.wait_until(lambda pid=victim.pid: proc_facts.in_call(pid, proc_facts.PAUSE),
                                          "it is in the exit handler")
                    with harness.scratch() as folder:
                        run = harness.Run(harness.run_here(
                            [harness.Options.oddrank, "node", str(victim.pid), "--samples", "1", "--tasks",
                             "--json", f"{folder}/json"]))
                        with open(f"{folder}/json", encoding="utf-8") as file:
                            row, = json.load(file)["ranks"]
                    if interpreters.version_of(python) < (3, 7):
                        self.assertEqual(run.status, harness.PARTIAL, run)
                        self.assertIn("it starts up, or was finalized", run.out.replace("\n", " "))
                        continue
                    self.assertEqual(run.status, 0, run)
                    self.assertRegex(run.out, r"(?m)^Python 3\.\d+\.\w+, finalized \(only native code is left\), ")
                    self.assertEqual(row["ending"], "finalized", row)


class Refusals(unittest.TestCase):
    def start(self, *command):
        victim = subprocess.Popen(command)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        proc_facts.wait_until(lambda: proc_facts.asleep(victim.pid), "it sleeps")
        return victim.pid

    def check(self, pid, words, state="sleeping"):
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
        self.assertRegex(line, rf"^pid {pid} \(.*\): sleeping, .*, at f \(<string>:3\)$")


if __name__ == "__main__":
    harness.main()
