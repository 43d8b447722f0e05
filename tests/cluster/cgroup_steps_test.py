#!/usr/bin/env python3
"""Ranks of a SLURM that keeps track of processes by cgroups (version 1). They have lost SLURM's variables
and their parents, so only the cgroup has the step that they belong to."""

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

RANK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "victims",
                    "night_rank.py")
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks=2 --output={folder}/log
srun bash -c 'env -i RANK=$SLURM_PROCID WORLD_SIZE=2 setsid --fork /usr/bin/python3 {rank} {folder} lock
  exec sleep 3600'
"""
# What slurmd uses with this configuration.
HIERARCHIES = ("freezer", "memory", "cpuacct")


def needs_cgroups():
    missing = [name for name in HIERARCHIES if not os.access(f"/sys/fs/cgroup/{name}/tasks", os.W_OK)]
    return f"no version 1 cgroups that can be written: {', '.join(missing)}" if missing else None


class CgroupStepsTest(unittest.TestCase):
    def test_the_step_of_orphans_without_variables(self):
        lab = self.enterContext(Cluster(nodes=2, cgroups=True))
        folder = self.enterContext(harness.scratch())
        with open(f"{folder}/job.sh", "w", encoding="utf-8") as file:
            file.write(SCRIPT.format(folder=folder, rank=RANK))
        job = lab.submit(f"{folder}/job.sh")
        lab.wait_job_running(job)
        pids = proc_facts.wait_until(lambda: self.waiting_ranks(lab), "both ranks wait")
        inits = [lab.node_init(node) for node in ("n0", "n1")]
        for pid in pids:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                self.assertIn(f"/job_{job}/step_0", file.read())
            self.assertIn(proc_facts.parent(pid), inits)
        run = Run(lab.run_client([Options.oddrank, "job", job, "-q", *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run)
        self.assertRegex(run.out, r"^lock_deadlock( \(likely\))?: rank 1 \(n1, ")

    @staticmethod
    def waiting_ranks(lab):
        pids = [pid for node in ("n0", "n1") for pid in lab.node_pids(node)
                if proc_facts.comm(pid) == "python3"]
        return pids if len(pids) == 2 and all(
            proc_facts.in_call(pid, proc_facts.RECVFROM, proc_facts.FUTEX) for pid in pids) else None


if __name__ == "__main__":
    harness.main(harness.needs_cluster, needs_cgroups)
