#!/usr/bin/env python3
"""Tests that `oddrank node` names the process that has the lock which another one polls for.

    polled_locks_test.py --oddrank PATH
"""

import contextlib
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "polled_locks.py")
# The form of the lock, and the file that is named.
HELD = {"flock": "data", "lockf": "data", "reopened": "data", "open_file": "data", "busy": "data",
        "wal": "data", "database": "data", "shared": "data", "exclusive": "data.lock",
        "folder": "data.lock", "number": "data.lock", "baton": "data.lock", "linked": "data.lock"}
# No process is named: the waiter itself has the lock, the lock is of another kind, the waiter tries
# for none, or several share it.
UNHELD = ("own", "other_kind", "nothing", "absent", "shared_by_two")


class Node(contextlib.ExitStack):
    """Processes that hold and poll, and what one run of oddrank says about them."""

    def __init__(self):
        super().__init__()
        self.root = self.enter_context(harness.scratch())
        self.holders, self.pollers = {}, {}

    def start(self, role, form, name):
        folder = f"{self.root}/{name}"
        os.makedirs(folder, exist_ok=True)
        victim = subprocess.Popen([sys.executable, VICTIM, role, form], cwd=folder,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.callback(victim.communicate)
        self.callback(victim.kill)
        if not victim.stdout.readline():
            raise AssertionError(f"{role} {form} ended")
        return victim.pid

    def add(self, name):
        form, _, two = name.partition("_by_")
        self.holders[name] = [self.start("hold", form, name) for _ in range(2 if two else 1)]
        self.pollers[name] = self.start("poll", form, name)

    def read(self):
        for pid in self.pollers.values():
            proc_facts.wait_until(lambda pid=pid: proc_facts.in_call(
                pid, proc_facts.NANOSLEEP, proc_facts.CLOCK_NANOSLEEP, *proc_facts.SELECTS),
                f"{pid} sleeps")
        pids = [*self.pollers.values(), *(pid for each in self.holders.values() for pid in each)]
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, pids), "--samples", "2", *harness.PATIENTLY,
             "--json", f"{self.root}/report.json"]))
        if run.status not in (0, 3):
            raise AssertionError(str(run))
        with open(f"{self.root}/report.json", encoding="utf-8") as file:
            ranks = json.load(file)["ranks"]
        return {rank["pid"]: rank["threads"][0]["wait"] for rank in ranks}


class PolledLocks(unittest.TestCase):
    def test_holders(self):
        with Node() as node:
            for form in (*HELD, *UNHELD):
                node.add(form)
            waits = node.read()
            for form, file in HELD.items():
                wait = waits[node.pollers[form]]
                with self.subTest(form=form):
                    self.assertEqual(
                        (wait["what"], wait["pid"], wait["path"]),
                        ("file_lock", node.holders[form][0], f"{node.root}/{form}/{file}"), wait)
                    self.assertTrue(wait["inferred"])
            for form in UNHELD:
                wait = waits[node.pollers[form]]
                with self.subTest(form=form):
                    self.assertNotEqual(wait["what"], "file_lock", wait)
                    self.assertIsNone(wait["pid"])


if __name__ == "__main__":
    harness.main()
