"""What the tests of nights on a cluster have in common (tests/cluster/night_*_test.py)."""

import contextlib
import os
import unittest

import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from star_job import StarJob

RANK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "victims",
                    "night_rank.py")
NODES = ("n0", "n1")


class NightLab(unittest.TestCase):
    """One cluster of two nodes serves all tests of a class; each starts a job of its own."""

    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(Cluster(nodes=2))

    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def ours(self):
        """Returns the pids of our processes on the nodes; some run from memory."""
        def runs_ours(pid):
            try:
                return os.path.basename(os.readlink(f"/proc/{pid}/exe")).split(" ")[0].endswith("oddrank")
            except OSError:
                return False
        return [pid for node in NODES for pid in self.lab.node_pids(node) if runs_ours(pid)]

    def signal_ours(self, number):
        """Signals the watch, which is the first of ours; its readers come and go, and have its mask."""
        with contextlib.suppress(ProcessLookupError, IndexError):
            os.kill(min(self.ours()), number)

    def end(self, job):
        """No step or process of ours is left, and the job goes, so that the next one has both nodes."""
        proc_facts.wait_until(lambda: not self.ours(), "no process of ours is left")
        proc_facts.wait_until(lambda: "oddrank" not in self.lab.run_client(
            ["squeue", "-s", "-h", "-j", job, "-o", "%j"]).stdout, "no step of ours is left")
        self.lab.cancel(job)
        self.lab.wait_job_state(job, ("CANCELLED", "COMPLETED", "FAILED"))

    def submit(self, text, *options):
        script = f"{self.folder}/job.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n#SBATCH --output={self.folder}/log\n{text}\n")
        job = self.lab.submit(script, *options)
        self.addCleanup(self.end, job)
        self.lab.wait_job_running(job)
        return job

    def ranks_of(self, job, count):
        """Returns the pids of the job's Python ranks, as seen from here, if there are so many. They may
        have lost SLURM's variables."""
        pids = [pid for node in NODES for pid in self.lab.node_pids(node, space="net")
                if proc_facts.comm(pid) == "python3"
                and proc_facts.environ(pid).get("SLURM_JOB_ID", job) == job]
        return pids if len(pids) == count else None

    def start(self, how, *options, nodes=2, connects=True):
        job = self.submit(f"srun -N{nodes} -n2 {' '.join(options)} /usr/bin/python3 {RANK} {self.folder} {how}",
                          f"-N{nodes}", "-n2", "--overcommit")
        for rank in (0, 1) if connects else ():
            proc_facts.wait_until(lambda rank=rank: os.path.exists(f"{self.folder}/rank-{rank}"),
                                  f"rank {rank} is connected")
        return job

    def start_star(self, nodes=2):
        star = StarJob(self.lab, self.folder, nodes=nodes, ranks=2)
        self.addCleanup(lambda: star.id and self.end(star.id))
        return star.start().id

    def oddrank(self, *arguments, program=None, **options):
        return Run(self.lab.run_client([program or Options.oddrank, *arguments], **options))

    def report(self, *arguments, **options):
        run = self.oddrank("job", *arguments, "--json", "-", *harness.PATIENTLY, **options)
        self.assertEqual(run.status, 0, run)
        return run.json()
