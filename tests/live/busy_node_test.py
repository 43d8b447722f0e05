#!/usr/bin/env python3
"""A node that is too busy to read all of its ranks in time answers with what it has.

    busy_node_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cgroups import CgroupTest, write

RANKS = 60
PORT = "29781"
# Many stacks to read: the ranks are not what is slow.
RANK = """
import signal, threading
for _ in range(20):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
signal.pause()
"""


class BusyNode(CgroupTest):
    def start_ranks(self):
        for rank in range(RANKS):
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", RANK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "localhost",
                     "MASTER_PORT": PORT})
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait, 60)
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            proc_facts.wait_until(lambda pid=process.pid: proc_facts.in_call(pid, proc_facts.PAUSE), "it waits")

    def test_a_tenth_of_a_cpu(self):
        files = {"cgroup": "cpu.cfs_quota_us", "cgroup2": "cpu.max"}
        limit = self.make(lambda kind, options: files.get(kind) if kind == "cgroup2" or "cpu" in options else None)
        write(limit, "10000 100000" if limit.endswith("cpu.max") else "10000")
        folder = os.path.dirname(limit)
        self.start_ranks()
        command = [harness.Options.oddrank, "node", "--select", f"localhost:{PORT}", "--json", "-", "--samples",
                   "1", "--timeout", "4s", "--no-native"]
        began = time.monotonic()
        run = harness.Run(subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
            preexec_fn=lambda: write(f"{folder}/cgroup.procs", os.getpid())))
        took = time.monotonic() - began
        self.assertIn(run.status, (0, 3), run.err)
        report = run.json()
        coverage = report["coverage"]
        self.assertEqual(len(report["ranks"]), RANKS)
        self.assertGreater(coverage["read"], 0, run.err)
        self.assertEqual(coverage["read"] + len(coverage["unread"]), RANKS, coverage)
        self.assertLess(took, 30)


if __name__ == "__main__":
    harness.main()
