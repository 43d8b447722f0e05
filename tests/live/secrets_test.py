#!/usr/bin/env python3
"""Tests on a real rank that secrets do not get into captures and reports, and that `--redact` drops what
identifies people and places.

    secrets_test.py --oddrank PATH
"""

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

# Waits for ever, with secrets and a name in its variables.
PROGRAM = """
import os, sys, threading
def work(mypass, settings, patient):
    lock = threading.Lock()
    lock.acquire()
    print("ready", flush=True)
    lock.acquire()
work("kitten-mypass", "password=kitten-settings", "Frieda")
"""
ARGUMENTS = ["--db-password", "kitten-one,two", "--lr", "3",
             "--config", '{"api_key": "kitten-three", "steps": 7}']
PLACE = "quetzal07"


class Secrets(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        home = f"{self.folder}/home/annabel"
        os.makedirs(home)
        with open(f"{home}/train.py", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
                       "MASTER_ADDR": f"ann:kitten-addr@{PLACE}", "MASTER_PORT": "29500",
                       "HOME": "/home/annabel"}
        self.rank = subprocess.Popen([sys.executable, f"{home}/train.py", *ARGUMENTS],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     env=environment)
        self.addCleanup(self.rank.communicate)
        self.addCleanup(self.rank.kill)
        self.assertEqual(self.rank.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.in_call(self.rank.pid, proc_facts.FUTEX),
                              "it waits")

    def oddrank(self, *arguments):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, *arguments, "--json", f"{self.folder}/json",
             "--html", f"{self.folder}/html", "--folded", f"{self.folder}/folded"]))
        self.assertEqual(run.status, 0, run)
        text = run.out + run.err
        for name in ("json", "html", "folded"):
            with open(f"{self.folder}/{name}", encoding="utf-8") as file:
                text += file.read()
        return text

    def test_secrets_and_people(self):
        capture, vendor = f"{self.folder}/whole.odd", f"{self.folder}/vendor.odd"
        read = self.oddrank("node", str(self.rank.pid), "--locals", "--all-threads", "--full-stacks",
                            "--save", capture, *harness.PATIENTLY)
        self.assertNotIn("kitten", read)
        self.assertIn("Frieda", read)
        self.assertIn("--lr 3", read)
        again = self.oddrank("report", capture, "--all-threads", "--full-stacks")
        self.assertNotIn("kitten", again)

        redacted = self.oddrank("report", capture, "--redact", "--save", vendor, "--full-stacks")
        of_vendor = self.oddrank("report", vendor, "--full-stacks")
        for text in (redacted, of_vendor):
            for name in ("annabel", "Frieda", PLACE):
                self.assertNotIn(name, text)
            self.assertIn("train.py", text)
            self.assertIn("user1", text)
        with open(f"{self.folder}/json", encoding="utf-8") as file:
            self.assertIn(json.load(file)["job"]["hosts"], (["host1"], ["localhost"]))


if __name__ == "__main__":
    harness.main()
