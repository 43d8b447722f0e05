#!/usr/bin/env python3
"""Tests that `oddrank node` looks at the thread that does a rank's collectives if its main thread is in
an event loop that the rank wakes by itself, whatever library the loop is of.

    woken_loop_test.py --oddrank PATH
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
import training_job

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "woken_loop.py")
RANKS = 3
EARLY = 1  # its worker ends before the last call


class WokenLoop(unittest.TestCase):
    @staticmethod
    def wait_for(rank, pid, fact):
        """Waits until the rank's worker has ended, or stands in the last call."""
        proc_facts.wait_until(lambda: os.path.exists(fact), fact)
        with open(fact, encoding="utf-8") as file:
            tid = int(file.read())
        if rank == EARLY:
            proc_facts.wait_until(lambda: not os.path.exists(f"/proc/{pid}/task/{tid}"), fact)
        else:
            proc_facts.wait_until(lambda: proc_facts.sleeping(tid), fact)
        proc_facts.wait_until(lambda: proc_facts.sleeping(pid), fact)

    def verdict(self, way):
        with harness.scratch() as folder:
            port, reserved = training_job.reserve_port()
            processes = [subprocess.Popen(
                [training_job.find_torch_python(), VICTIM, folder, way], stdin=subprocess.DEVNULL,
                env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK=str(rank),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
                         for rank in range(RANKS)]
            try:
                for rank, process in enumerate(processes):
                    self.wait_for(rank, process.pid, os.path.join(folder, f"rank.{rank}"))
                run = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "node", "--json", "-", "-q",
                     *(str(process.pid) for process in processes)]))
            finally:
                for process in processes:
                    process.kill()
                    process.wait()
                reserved.close()
        verdict = run.json()["verdict"]
        return verdict["kind"], [row["rank"] for row in verdict["culprits"]], run

    def test_the_rank_whose_worker_has_left_is_named(self):
        for way in ("pipe", "socketpair", "eventfd"):
            with self.subTest(way=way):
                kind, ranks, run = self.verdict(way)
                self.assertEqual((kind, ranks), ("skipped_collective", [EARLY]), run)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
