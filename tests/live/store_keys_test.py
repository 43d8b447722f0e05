#!/usr/bin/env python3
"""Tests that `oddrank node` names the keys that threads wait for in stores of torch.distributed.

    store_keys_test.py --oddrank PATH
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
import training_job

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "store_keys.py")


class StoreKeys(unittest.TestCase):
    def test_keys(self):
        with harness.scratch() as folder:
            victim = subprocess.Popen([training_job.find_torch_python(), VICTIM, folder], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
            try:
                told = json.loads(victim.stdout.readline())
                for name, tid in told["tids"].items():
                    if name not in ("polls", "file"):  # a FileStore polls its file
                        proc_facts.wait_until(lambda tid=tid: proc_facts.in_call(
                            tid, proc_facts.READ, proc_facts.RECVFROM, proc_facts.POLL), f"{name} blocks")
                run = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "node", str(victim.pid), *harness.PATIENTLY,
                     "--json", f"{folder}/report.json"]))
                self.assertEqual(run.status, 0, run)
                with open(f"{folder}/report.json", encoding="utf-8") as file:
                    threads = json.load(file)["ranks"][0]["threads"]
            finally:
                victim.kill()
                victim.communicate()
        named = {thread["python_name"]: thread for thread in threads}
        for name, key in told["keys"].items():
            with self.subTest(thread=name):
                self.assertEqual(named[name]["wait"].get("key"), key)
        calls = named["polls"]["loops"][0]["calls"]
        self.assertIn(("check", "poll/1"), [(call["name"], call["object"]) for call in calls])


if __name__ == "__main__":
    harness.main(harness.needs_torch)
