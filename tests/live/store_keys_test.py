#!/usr/bin/env python3
"""Tests that `oddrank node` names the keys that threads wait for in stores of torch.distributed, and the rank
that alone has not set its own.

    store_keys_test.py --oddrank PATH
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
import training_job

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "store_keys.py")
FAMILY = os.path.join(os.path.dirname(HERE), "victims", "store_family.py")


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

    def test_family(self):
        size = 3
        for odd, backend in ((1, "uv"), (0, "threads")):
            with self.subTest(odd=odd, backend=backend), contextlib.ExitStack() as at_end:
                port, holder = training_job.reserve_port()
                at_end.callback(holder.close)
                url = f"127.0.0.1:{port}"
                ranks = []
                for rank in range(size):
                    words = [training_job.find_torch_python(), FAMILY, url, *map(str, (rank, size, odd)), backend]
                    ranks.append(subprocess.Popen(words, stdout=subprocess.PIPE,
                                                  env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(size)}))
                    at_end.callback(ranks[-1].communicate)
                    at_end.callback(ranks[-1].kill)
                    self.assertEqual(ranks[-1].stdout.readline(), b"ready\n")
                for process in ranks:
                    proc_facts.wait_until(lambda pid=process.pid: proc_facts.in_call(
                        pid, proc_facts.READ, proc_facts.RECVFROM, proc_facts.POLL), "blocks")
                pids = [str(process.pid) for process in ranks]
                run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *pids, *harness.PATIENTLY,
                                                    "--json", "-"]))
                verdict = run.json()["verdict"]
                self.assertEqual([one["rank"] for one in verdict["culprits"]], [odd], run)
                self.assertIn(f"the key ready/{odd}, which it has not set itself", verdict["summary"])
                clients = [note for note in run.json()["notes"] if "the store of rank 0 has" in note]
                self.assertIn(f"run/ready/{odd} ({size} clients: ranks 0-{size - 1})", clients[0])


if __name__ == "__main__":
    harness.main(harness.needs_torch)
