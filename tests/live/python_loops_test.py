#!/usr/bin/env python3
"""Tests what `oddrank node` finds in loops of Python code that threads are in, for each interpreter
at hand: the calls, and the objects that they check. Compares the tables of instructions with each
interpreter's own.

    python_loops_test.py --oddrank PATH
"""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIM = os.path.join(ROOT, "tests", "victims", "python_loops.py")
TABLES = os.path.join(ROOT, "cpython", "bytecode")
# Loops of the standard library that run a thread's or a coroutine's function.
OUTER = ("threading.py:", "base_events.py:", "asyncio/")


def interpreters():
    """Returns {(3, N): executable}, one of each version."""
    given = os.environ.get("ODDRANK_PYTHONS")
    paths = given.split(":") if given else [
        "/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))]
    found = {}
    for path in paths:
        said = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"],
                              capture_output=True, text=True, check=False).stdout.split()
        version = tuple(map(int, said))
        if (3, 8) <= version <= (3, 15):
            found.setdefault(version, path)
    return found


def in_order(loops):
    return [{"iterates": loop["iterates"],
             "calls": sorted(loop["calls"], key=lambda call: [text or "" for text in call])}
            for loop in loops]


def loops_of(thread):
    return in_order(
        {"iterates": loop["iterates"],
         "calls": [[call["name"], call["object"]] for call in loop["calls"]]}
        for loop in thread.get("loops", []) if not loop["place"].startswith(OUTER))


def table_of(minor):
    with open(f"{TABLES}/opcodes_3_{minor}.cc", encoding="utf-8") as file:
        literals = re.findall(r'"([^"]*)"', file.read().partition(" =\n")[2])
    return "".join(literals).replace("\\n", "\n")


LOOKS = 8  # a thread may be inside of what its loop calls, but hardly each time


def look(pid, *options):
    """Returns the process's threads by name."""
    with harness.scratch() as folder:
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(pid), "--samples", "1", *harness.PATIENTLY,
             *options, "--json", f"{folder}/report.json"]))
        if run.status != 0:
            raise AssertionError(run)
        with open(f"{folder}/report.json", encoding="utf-8") as file:
            report = json.load(file)
    return {thread["python_name"]: thread for thread in report["ranks"][0]["threads"]}


def differing(python):
    """Returns what was found in the last look, and what was expected, of each thread in whose loops
    no look found what is expected."""
    victim = subprocess.Popen([python, VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        expected = json.loads(victim.stdout.readline())
        left = dict.fromkeys(expected)
        for _ in range(LOOKS):
            threads = look(victim.pid)
            for name in list(left):
                found, right = loops_of(threads[name]), in_order(expected[name])
                if "generator" in name:  # the sample may be inside of it
                    found = found[-len(right):]
                left[name] = found, right
                if found == right:
                    del left[name]
            if not left:
                break
        return left
    finally:
        victim.kill()
        victim.communicate()


# The script is far out, beyond the frames of which all loops are read, and waits for its next line there.
SCRIPT = """
import sys
others = 7
def deep(left):
    return deep(left - 1) if left else sys.stdin.readline()
step = 0
while True:
    step += 1
    name = "x%d" % step
    print("ready", flush=True)
    deep(8)
"""


def counted(python):
    """Returns the variables of the script that are shown in its first and in its second turn."""
    victim = subprocess.Popen([python, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        found = []
        for _ in range(2):
            victim.stdout.readline()
            proc_facts.wait_until(lambda: proc_facts.sleeping(victim.pid), "the script waits for a line")
            (thread,) = look(victim.pid, "--locals").values()
            found.append({name: value for frame in thread["locals"] for name, value in frame["locals"].items()
                          if name != "left"})
            victim.stdin.write("\n")
            victim.stdin.flush()
        return found
    finally:
        victim.kill()
        victim.communicate()


# Loops over a range, a list and a tuple, one in the other; the script waits for its next line in the innermost.
ITERATORS = """
import sys
def deep(left):
    return deep(left - 1) if left else sys.stdin.readline()
for turn in range(10):
    for item in [1] * 7:
        for at, part in enumerate((1,) * 3):
            print("ready", flush=True)
            deep(2)
"""


def items_left(python, turns):
    """Returns how many items the loops of the script have left, innermost first, in each of its turns."""
    victim = subprocess.Popen([python, "-c", ITERATORS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        found = []
        for _ in range(turns):
            victim.stdout.readline()
            proc_facts.wait_until(lambda: proc_facts.sleeping(victim.pid), "the script waits for a line")
            (thread,) = look(victim.pid).values()
            found.append([loop["left"] for loop in thread["loops"] if not loop["place"].startswith(OUTER)])
            victim.stdin.write("\n")
            victim.stdin.flush()
        return found
    finally:
        victim.kill()
        victim.communicate()


# The modules and types that the calls in the victim's loops belong to.
OWNERS = {"while_not": {"posixpath", "time"}, "path_object": {"pathlib", "time"},
          "until_deadline": {"time"}, "with_except": {"queue", "time"}}


def owners(python):
    """Returns the first parts of the owners of the calls in the loops of some threads."""
    victim = subprocess.Popen([python, VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        victim.stdout.readline()
        threads = look(victim.pid)
        return {name: {(call["of"] or "").split(".")[0] for loop in threads[name].get("loops", [])
                       if not loop["place"].startswith((*OUTER, "queue.py", "pathlib"))
                       for call in loop["calls"]}
                for name in OWNERS}
    finally:
        victim.kill()
        victim.communicate()


class Loops(unittest.TestCase):
    def test_of_what_modules_and_types_the_calls_are(self):
        for version, python in interpreters().items():
            with self.subTest(version=version):
                self.assertEqual(owners(python), OWNERS)

    def test_calls_of_loops(self):
        for version, python in interpreters().items():
            for name, (found, right) in differing(python).items():
                with self.subTest(version=version, shape=name):
                    self.assertEqual(found, right)

    def test_variables_that_a_script_sets_in_its_loop(self):
        for version, python in interpreters().items():
            with self.subTest(version=version):
                self.assertEqual(counted(python), [{"step": "1", "name": "'x1'"}, {"step": "2", "name": "'x2'"}])

    def test_how_many_items_are_left(self):
        for version, python in interpreters().items():
            with self.subTest(version=version):
                self.assertEqual(items_left(python, 4), [[2, 6, 9], [1, 6, 9], [0, 6, 9], [2, 5, 9]])

    def test_tables(self):
        for (_, minor), python in interpreters().items():
            with self.subTest(minor=minor):
                printed = subprocess.run([python, f"{ROOT}/scripts/cpython_opcodes.py"],
                                         capture_output=True, text=True, check=True).stdout
                self.assertEqual(table_of(minor), printed)


if __name__ == "__main__":
    harness.main()
