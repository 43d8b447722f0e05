#!/usr/bin/env python3
"""Zombies that look like ranks: a helper that its launcher has not waited for, and ranks of a run before.

    zombies_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

# Starts what its arguments say, in order: "rank N", "dead" (ends at once, and nobody waits for it). Prints
# the pids.
LAUNCHER = """
import os, subprocess, sys
all = []
for word in sys.argv[2:]:
    env = dict(os.environ)
    if word != 'dead':
        env.update(RANK=word, WORLD_SIZE=sys.argv[1], MASTER_ADDR='localhost', MASTER_PORT='29778')
    code = 'import os, sys; os._exit(3)' if word == 'dead' else 'import sys; sys.stdin.read()'
    child = subprocess.Popen([sys.executable, '-c', code], env=env, stdin=subprocess.PIPE)
    all.append(child)
    print(child.pid, flush=True)
print('all', flush=True)
sys.stdin.read()
os._exit(0)
"""


class Zombies(unittest.TestCase):
    def launch(self, size, *what):
        """Returns the pids, in the order of what was started."""
        process = subprocess.Popen(["/usr/bin/python3", "-c", LAUNCHER, str(size), *what], cwd="/",
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.stdin.close)
        pids = [int(line) for line in iter(process.stdout.readline, "all\n")]
        for pid, word in zip(pids, what):
            proc_facts.wait_until(
                lambda pid=pid, word=word: proc_facts.state(pid) == "Z" if word == "dead"
                else proc_facts.in_call(pid, proc_facts.READ), f"{word} is as it is to be")
        return pids

    def node(self):
        return harness.Run(harness.run_here([harness.Options.oddrank, "node", "--select", "localhost:29778", "--json", "-",
                                             "--samples", "1"]))

    def test_a_helper_is_no_rank(self):
        for what in (["0", "1", "dead"], ["dead", "0", "1"]):
            pids = dict(zip(what, self.launch(2, *what)))
            run = self.node()
            report = run.json()
            self.assertEqual({rank["pid"]: rank["rank"] for rank in report["ranks"]},
                             {pids["0"]: 0, pids["1"]: 1}, run)
            self.assertEqual((run.status, report["coverage"]["read"]), (0, 2), run)
            self.assertNotEqual(report["verdict"]["kind"], "missing_rank", run)
            self.assertIn(f"pid {pids['dead']} (python3)", str(report["notes"]))
            self.doCleanups()

    def test_a_dead_rank_is_one(self):
        pids = self.launch(2, "0", "dead")
        report = self.node().json()
        self.assertEqual({rank["pid"]: rank["rank"] for rank in report["ranks"]}, {pids[0]: 0, pids[1]: 1}, report)


if __name__ == "__main__":
    harness.main()
