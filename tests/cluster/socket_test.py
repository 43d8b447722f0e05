#!/usr/bin/env python3
"""Runs `oddrank job` on two ranks on two nodes: one waits on a socket for the other, which waits for a
file. The analysis joins the two ends of the connection."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
from cluster import Cluster
from harness import Options, Run
from star_job import StarJob


class SocketTest(unittest.TestCase):
    def test_the_other_end_is_a_rank_of_another_node(self):
        lab = self.enterContext(Cluster(nodes=2))
        job = StarJob(lab, self.enterContext(harness.scratch()), nodes=2, ranks=2).start()
        run = Run(lab.run_client([Options.oddrank, "job", job.id, "--json", "-", "-q",
                                  *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run)
        report = run.json()
        verdict = report["verdict"]
        self.assertEqual(verdict["kind"], "io_stall", run)
        self.assertEqual([row["rank"] for row in verdict["culprits"]], [0], run)
        first = verdict["chain"][0]
        self.assertEqual((first["waiters"], first["waits_for"]), ("1", "0"), run)
        self.assertIn("socket (rank 0)", first["on"], run)
        address, port = job.fact(1)["local"][:2]
        self.assertIn(f"{address}:{port}", first["evidence"], run)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
