#!/usr/bin/env python3
"""Tests the contents of local variables that `oddrank node --locals` shows, with every Python at hand: the
victim says what each variable must look like.

    python_contents_test.py --oddrank PATH
"""

import glob
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "python_contents.py")


def interpreters():
    """Returns every CPython from 3.7 on that is at hand."""
    found = {"/usr/bin/python3", sys.executable}
    found.update(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    found.update(path for path in os.environ.get("ODDRANK_PYTHONS", "").split(":") if path)
    known = []
    for path in sorted(found):
        told = subprocess.run([path, "-c", "import sys; print(sys.version_info >= (3, 7))"],
                              stdout=subprocess.PIPE, check=False)
        if told.stdout == b"True\n":
            known.append(path)
    return known


class Contents(unittest.TestCase):
    def start(self, python):
        victim = subprocess.Popen([python, VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        expected = json.loads(victim.stdout.readline())
        self.assertEqual(victim.stdout.readline(), b"ready\n")
        return victim.pid, expected

    def read(self, pid, *options):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(pid), "--samples", "1", "-q", "--json", "-", *options]))
        shown = {}
        for thread in run.json()["ranks"][0]["threads"]:
            for frame in thread.get("locals", []):
                shown.update(frame["locals"])
        self.assertNotIn("kitten", run.out)
        return shown

    def test_each_is_shown_as_expected(self):
        for python in interpreters():
            pid, expected = self.start(python)
            shown = self.read(pid, "--locals")
            for name, text in expected.items():
                with self.subTest(python=python, name=name):
                    self.assertEqual(shown.get(name), text)

    def test_depth(self):
        pid, _ = self.start(sys.executable)
        self.assertEqual(self.read(pid, "--locals=0")["mapping"], "<dict of 3>")
        self.assertEqual(self.read(pid, "--locals=1")["nested"], "[<list of 1>, <tuple of 1>]")
        deep = self.read(pid, "--locals=4")
        self.assertEqual(deep["nested"], "[[[[1]]], (2,)]")
        self.assertEqual(deep["plain"], "<Plain: layers=3, inner=[1]>")
        self.assertEqual(deep["slotted"], "<Slotted: first=1>")
        self.assertIn("'api_key': ***", deep["settings"])

    def test_addresses_show_which_objects_are_the_same(self):
        pid, _ = self.start(sys.executable)
        shown = self.read(pid, "--locals", "--addresses")
        self.assertRegex(shown["plain"], r"^<Plain>@0x[0-9a-f]+$")
        self.assertEqual(shown["attributes"].split("@")[1], self.read(
            pid, "--locals", "--addresses")["attributes"].split("@")[1])

    def test_a_wrong_depth_is_refused(self):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", "1", "--locals=9"]))
        self.assertEqual(run.status, 2, run)
        self.assertIn("'9' is not a number from 0 to 8", run.err)


if __name__ == "__main__":
    harness.main()
