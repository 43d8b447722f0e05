#!/usr/bin/env python3
"""Jobs of real MPI programs that srun itself starts, by the interfaces that SLURM has for this: Open MPI
by PMIx, MPICH by PMI2. All ranks wait in a collective call but rank 1, which stands elsewhere."""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "wild", "jobs",
                       "mpi_calls.c")
RANKS = 4
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks={ranks} --ntasks-per-node=2 --output={folder}/log
export FOLDER={folder} HANG=1 REASON={reason}
exec srun --mpi={interface} {folder}/program {operation}
"""


def needs_mpi():
    missing = [program for program in ("mpicc.openmpi", "mpicc.mpich") if not shutil.which(program)]
    return f"not installed: {', '.join(missing)} (libopenmpi-dev, libmpich-dev)" if missing else None


class MpiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(Cluster(nodes=2))

    def check(self, compiler, interface, operation, reason):
        """Starts a job in which rank 1 stops for `reason`; returns what is said of it."""
        folder = self.enterContext(harness.scratch())
        subprocess.run([compiler, "-w", "-O2", "-o", f"{folder}/program", PROGRAM], check=True,
                       timeout=300)
        with open(f"{folder}/job.sh", "w", encoding="utf-8") as file:
            file.write(SCRIPT.format(ranks=RANKS, folder=folder, reason=reason, interface=interface,
                                     operation=operation))
        job = self.lab.submit(f"{folder}/job.sh")
        self.addCleanup(self.end, job)
        self.lab.wait_job_running(job)
        proc_facts.wait_until(lambda: self.have_begun(folder) or self.has_ended(job, folder),
                              "all ranks are beyond MPI_Init")
        run = Run(self.lab.run_client([Options.oddrank, "job", job, "--json", "-",
                                       *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run)
        report = run.json()
        self.assertEqual([row["rank"] for row in report["ranks"]], list(range(RANKS)), run)
        self.assertEqual([row["host"] for row in report["ranks"]], ["n0", "n0", "n1", "n1"], run)
        self.assertEqual(report["job"]["world_size"], RANKS, run)
        self.assertEqual([row["rank"] for row in report["verdict"]["culprits"]], [1], run)
        return report["verdict"]

    @staticmethod
    def have_begun(folder):
        return all(os.path.exists(f"{folder}/rank.{rank}") for rank in range(RANKS))

    def has_ended(self, job, folder):
        """Fails with the job's own words: MPI ends at once if it cannot use the interface."""
        if self.lab.job_state(job) not in ("RUNNING", "COMPLETING"):
            with open(f"{folder}/log", encoding="utf-8", errors="replace") as log:
                self.fail(f"the job ended:\n{log.read()[-3000:]}\n{self.lab.logs()}")

    def end(self, job):
        self.lab.cancel(job)
        self.lab.wait_job_state(job, ("CANCELLED", "COMPLETED", "FAILED"))

    def test_open_mpi_by_pmix(self):
        verdict = self.check("mpicc.openmpi", "pmix", "allreduce", "fifo")
        self.assertEqual(verdict["kind"], "io_stall", verdict)
        self.assertIn("all_reduce in group MPI_COMM_WORLD", verdict["summary"])

    def test_mpich_by_pmi2(self):
        verdict = self.check("mpicc.mpich", "pmi2", "barrier", "compute")
        self.assertEqual(verdict["kind"], "busy_rank", verdict)
        self.assertIn("barrier in group MPI_COMM_WORLD", verdict["summary"])


if __name__ == "__main__":
    harness.main(harness.needs_cluster, needs_mpi)
