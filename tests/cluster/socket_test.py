#!/usr/bin/env python3
"""`oddrank job` on two ranks of two nodes: one waits on a socket for the other, which waits for a
file. The aggregation puts the two ends of the connection together."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run

PEERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "victims",
                     "peers.py")
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks=2 --ntasks-per-node=1 --output={folder}/log
exec srun /usr/bin/python3 {peers} ranks {folder}
"""


class SocketTest(unittest.TestCase):
    def setUp(self):
        self.lab = self.enterContext(Cluster(nodes=2))
        self.folder = self.enterContext(harness.scratch())
        os.mkfifo(f"{self.folder}/shard-0.tar")
        with open(f"{self.folder}/job.sh", "w", encoding="utf-8") as script:
            script.write(SCRIPT.format(folder=self.folder, peers=PEERS))
        self.id = self.lab.submit(f"{self.folder}/job.sh")
        self.lab.wait_job_running(self.id)

    def fact(self, rank):
        try:
            with open(f"{self.folder}/rank-{rank}.json", encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return None

    def blocked(self, rank):
        fact = self.fact(rank)
        return fact and any(
            proc_facts.namespace_pid(pid) == fact["pid"] and proc_facts.sleeping(pid)
            for pid in self.lab.node_pids(fact["host"]))

    def test_the_other_end_is_a_rank_of_another_node(self):
        proc_facts.wait_until(lambda: self.blocked(1), "rank 1 receives", 60)
        proc_facts.wait_until(lambda: self.blocked(0), "rank 0 reads", 60)
        run = Run(self.lab.run_client([Options.oddrank, "job", self.id, "--json", "-", "-q"], 90))
        self.assertEqual(run.status, 0, run)
        report = run.json()
        verdict = report["verdict"]
        self.assertEqual(verdict["kind"], "io_stall", run)
        self.assertEqual([row["rank"] for row in verdict["culprits"]], [0], run)
        first = verdict["chain"][0]
        self.assertEqual((first["waiters"], first["waits_for"]), ("1", "0"), run)
        self.assertIn("socket (rank 0)", first["on"], run)
        address, port = self.fact(1)["local"][:2]
        self.assertIn(f"{address}:{port}", first["evidence"], run)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
