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
TABLES = os.path.join(ROOT, "cpython", "bytecode", "opcode_tables.cc")
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
             "endless": loop["endless"],
             "calls": sorted(loop["calls"], key=lambda call: [text or "" for text in call])}
            for loop in loops]


def loops_of(thread):
    return in_order(
        {"iterates": loop["iterates"],
         "endless": loop["endless"],
         "calls": [[call["name"], call["object"]] for call in loop["calls"]]}
        for loop in thread.get("loops", []) if not loop["place"].startswith(OUTER))


def table_of(minor):
    with open(TABLES, encoding="utf-8") as file:
        table = file.read().partition(f"kOpcodes3{minor} =\n")[2].partition('";\n')[0]
    rows = "".join(re.findall(r'"([^"]*)"', table + '"')).split(";")
    return "".join(f"{row.strip()}\n" for row in rows if row.strip())


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
    return in_turns(python, 2, SCRIPT, lambda threads: {
        name: value for thread in threads.values() for frame in thread["locals"]
        for name, value in frame["locals"].items() if name != "left"}, "--locals")


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


# For each line on stdin a loop that begins so, of an object below: how many items or turns it has left in its first turns.
SHAPES = {
    "for _ in dict.fromkeys(range(9)):": [8, 7],
    "for _ in dict.fromkeys(range(9)).values():": [8, 7],
    "for _, _ in dict.fromkeys(range(9)).items():": [8, 7],
    "for _ in reversed(dict.fromkeys(range(9))):": [8, 7],
    "for _ in set(range(9)):": [8, 7],
    "for _ in frozenset(range(9)):": [8, 7],
    "for _ in collections.deque(range(9)):": [8, 7],
    "for _ in reversed([0] * 9):": [8, 7],
    "for _ in reversed((0,) * 9):": [8, 7],
    "for _ in zip([0] * 9, iter(int, 1), range(7)):": [6, 5],
    "for _ in map(str, [0] * 9):": [8, 7],
    "for _ in filter(None, [1] * 9):": [8, 7],
    "for _ in enumerate(zip(set(range(9)))):": [8, 7],
    "for _ in (x for x in [0] * 9):": [8, 7],
    "for _ in doubled(y for y in dict.fromkeys(range(9))):": [8, 7],
    "for _ in counted(9):": [9, 8],
    "for _ in iter(int, 1):": [None, None],
    "while todo: todo.pop()": [8, 7],
    "while own.todo: own.todo.pop()": [8, 7],
    "while len(todo): todo.pop()": [8, 7],
    "while len(todo) > 2: todo.pop()": [6, 5],
    "while keys: keys.popitem()": [8, 7],
    "while names: names.pop()": [8, 7],
    "while line: line.popleft()": [8, 7],
    "while done < 9: done += 1": [8, 7],
    "while own.done != total: own.done += 1": [8, 7],
    "while done < total: done += 1; time.sleep(0)": [8, 7],
    "while left: left -= 1": [8, 7],
    "while len(found) < total: found.append(0)": [8, 7],
    "while True: done += 1": [None, None],
    "while time.time() < 10 ** 12: done += 1": [None, None],
}
ANY_LOOPS = """
import collections, sys, threading, time
class Own: pass
lines, here = [threading.Event() for _ in range(TURNS)], threading.Semaphore(0)
def come(turns):
    turns.append(0)
    here.release()
    lines[len(turns) - 1].wait()
def doubled(items):
    for item in items:
        yield item, item
def counted(number):
    while number > 0:
        yield number
        number -= 1
def start(run):
    todo, own, turns = [0] * 9, Own(), []
    own.todo, own.done = [0] * 9, 0
    threading.Thread(target=run, name=run.__name__, daemon=True, args=(todo, [], collections.deque(todo), 9, 0, 9,
                     set(range(9)), dict.fromkeys(range(9)), own, turns)).start()
LOOPS
for line in lines:
    for _ in range(SHAPES):
        here.acquire()
    print("ready", flush=True)
    sys.stdin.readline()
    line.set()
"""
ONE_LOOP = """
def shape_{number}(todo, found, line, total, done, left, names, keys, own, turns):
    {head}
        {rest}
        come(turns)
start(shape_{number})
"""
TURNS = 2


def left_in_turns(python):
    """Returns how many items or turns each of these loops has left, in each of its turns."""
    loops = ""
    for number, head in enumerate(SHAPES):
        line, _, rest = head.partition(": ")
        loops += ONE_LOOP.format(number=number, head=line.rstrip(":") + ":", rest=rest or "pass")
    script = ANY_LOOPS.replace("LOOPS", loops).replace("SHAPES", str(len(SHAPES))).replace("TURNS", str(TURNS))
    found = in_turns(python, TURNS, script, lambda threads: {name: thread.get("loops", []) for name, thread in threads.items()})
    return {head: [next(loop["left"] for loop in turn[f"shape_{number}"] if loop["place"].startswith("<string>"))
                   for turn in found] for number, head in enumerate(SHAPES)}


def items_left(python, turns):
    """Returns how many items the loops of the script have left, innermost first, in each of its turns."""
    return in_turns(python, turns, ITERATORS, lambda threads: [
        loop["left"] for thread in threads.values() for loop in thread["loops"] if not loop["place"].startswith(OUTER)])


def in_turns(python, turns, script, what, *options):
    """Returns what(threads) for each turn of a script that waits for a line in each."""
    victim = subprocess.Popen([python, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        found = []
        for _ in range(turns):
            victim.stdout.readline()
            proc_facts.wait_until(lambda: proc_facts.sleeping(victim.pid), "the script waits for a line")
            found.append(what(look(victim.pid, *options)))
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

    def test_how_far_any_loop_is_from_its_end(self):
        for version, python in interpreters().items():
            for head, found in left_in_turns(python).items():
                with self.subTest(version=version, head=head):
                    self.assertEqual(found, SHAPES[head])

    def test_tables(self):
        for (_, minor), python in interpreters().items():
            with self.subTest(minor=minor):
                printed = subprocess.run([python, f"{ROOT}/scripts/cpython_opcodes.py"],
                                         capture_output=True, text=True, check=True).stdout
                self.assertEqual(table_of(minor), printed)


if __name__ == "__main__":
    harness.main()
