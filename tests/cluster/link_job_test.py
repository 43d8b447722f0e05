#!/usr/bin/env python3
"""Tests `oddrank job` on a real SLURM cluster of which one node's packets to another one are lost: the
kernels of both nodes tell their part, and only together which direction it is."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import networks
import proc_facts
from cluster import Cluster
from harness import Options, Run
from training_job import find_torch_python

REDUCES = os.path.join(os.path.dirname(HERE), "victims", "reduces.py")
RANKS = 3
STEPS = 3  # of each rank, before anything is lost
TRIES = 5  # of the kernel: about seven seconds
NOBODY = "02:00:00:00:00:99"  # whose address no card has
SCRIPT = """#!/bin/bash
#SBATCH --job-name=link --nodes={ranks} --ntasks={ranks} --ntasks-per-node=1 --exclusive --mem=0
#SBATCH --output={folder}/job.log
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500
export GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1 WORLD_SIZE={ranks}
srun bash -c 'RANK=$SLURM_PROCID exec {command}'
"""


def step(folder, rank):
    path = os.path.join(folder, f"step.{rank}")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        return int(file.read())


class LinkJob(unittest.TestCase):
    def test_the_direction_that_loses(self):
        with harness.scratch() as folder, Cluster(nodes=RANKS) as lab:
            script = os.path.join(folder, "job.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write(SCRIPT.format(ranks=RANKS, folder=folder, command=" ".join(
                    (find_torch_python(), REDUCES, folder, "all_reduce", "1000"))))
            job = lab.submit(script)
            lab.wait_job_running(job)
            proc_facts.wait_until(lambda: min(step(folder, rank) for rank in range(RANKS)) > STEPS,
                                  "they work", 240)
            address = lab.node_exec("n2", ["hostname", "-I"]).stdout.split()[0]
            cut = lab.node_exec("n1", ["ip", "neigh", "replace", address, "lladdr", NOBODY, "nud",
                                       "permanent", "dev", "eth0"])
            self.assertEqual(cut.returncode, 0, cut)
            proc_facts.wait_until(lambda: networks.tries(lab.node_init("n1")) >= TRIES, "tries", 120)
            run = Run(lab.run_client([Options.oddrank, "job", job, *harness.PATIENTLY, "--json", "-", "-q"]))
            lab.cancel(job)
        verdict = run.json()["verdict"]
        self.assertEqual((verdict["kind"], verdict["culprits"]), ("link_stall", []), run)
        self.assertEqual(len(verdict["links"]), 1, run)
        link = verdict["links"][0]
        self.assertEqual(sorted((link[end]["rank"], link[end]["host"]) for end in ("from", "to")),
                         [(1, "n1"), (2, "n2")], run)
        self.assertEqual(link["from"]["device"], "eth0", run)
        self.assertIn(address, [link[end]["address"].rpartition(":")[0] for end in ("from", "to")], run)
        if link["evidence"].endswith("by both ends"):  # then their counts tell
            self.assertEqual((link["from"]["rank"], link["one_way"]), (1, True), run)
        else:
            self.assertFalse(link["one_way"], run)
        self.assertEqual(verdict["suspect_hosts"], [{"host": "n1", "links": 1}, {"host": "n2", "links": 1}], run)


if __name__ == "__main__":
    harness.main(harness.needs_cluster, harness.needs_torch)
