#!/usr/bin/env python3
"""Two jobs that share a group: trainers give their weights to an inference engine, through a group that both
have made by hand, as RL frameworks do it. Each job has a rank 0, and so has the group.

    joined_jobs_test.py --oddrank PATH
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import training_job
from hung_torch_job import Job

PROGRAM = """
import datetime, time
from torch.distributed import distributed_c10d as c10d

FOREVER = datetime.timedelta(hours=9)
STEPS = 3

def make_group(number, size):
    url = "tcp://127.0.0.1:" + os.environ["SYNC_PORT"]
    store, number, size = next(c10d.rendezvous(url, number, size, timeout=FOREVER))
    store.set_timeout(FOREVER)
    made, _ = c10d._new_process_group_helper(
        size, number, [], c10d.Backend("gloo"), c10d.PrefixStore("sync", store), group_name="sync",
        timeout=FOREVER)
    c10d._world.pg_group_ranks[made] = {each: each for each in range(size)}
    return made

def stand(step):
    if step == STEPS:
        last()
        while os.environ["FAULTY"] == sys.argv[1] + str(rank):
            signal.pause()
    time.sleep(0.05 if step > STEPS else 0)

def trainer():
    sync = make_group(0, 2) if rank == 0 else None
    weights = torch.ones(4)
    for step in range(1 << 30):
        stand(step)
        dist.all_reduce(weights)
        if sync is not None:
            dist.broadcast(weights, src=0, group=sync)

def engine():
    sync = make_group(1, 2) if rank == 0 else None
    weights = torch.ones(4)
    for step in range(1 << 30):
        stand(step)
        if sync is not None:
            dist.broadcast(weights, src=0, group=sync)
        dist.broadcast(weights, src=0)
"""


class JoinedJobs(unittest.TestCase):
    def start(self, trainers, engines, faulty):
        """Starts both jobs; `faulty`: "engine1", or "" in a healthy one. Returns their ranks by role and number."""
        port, reserved = training_job.reserve_port()
        self.addCleanup(reserved.close)
        jobs = {role: Job(self, PROGRAM, role, ranks, hangs=False, SYNC_PORT=str(port), FAULTY=faulty)
                for role, ranks in (("trainer", trainers), ("engine", engines))}
        for job in jobs.values():
            job.wait_last()
            if faulty:
                job.wait_hung()
        self.jobs = jobs
        return {f"{role}{number}": rank.pid for role, job in jobs.items() for number, rank in enumerate(job.ranks)}

    def diagnose(self, *words):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *words, "--json", "-",
                                            *harness.PATIENTLY]))
        return run, run.json()

    def check(self, trainers, engines, faulty):
        """Checks the report on both, found by one of them or given by pid."""
        pids = self.start(trainers, engines, faulty)
        address = f"127.0.0.1:{self.jobs['trainer'].port}"
        for words in (["--select", address], [str(pid) for pid in pids.values()]):
            run, report = self.diagnose(*words)
            self.assertEqual({each["pid"] for each in report["ranks"]}, set(pids.values()), run)
            numbers = [each["rank"] for each in report["ranks"]]
            self.assertEqual(sorted(numbers), list(range(len(pids))), run)
            culprits = [each["pid"] for each in report["verdict"]["culprits"]]
            self.assertEqual(culprits, [pids[faulty]] if faulty else [], run)
            self.assertTrue(any("2 jobs: rank" in note for note in report["notes"]), run)
        return pids

    def test_an_engine_holds_up_the_trainers(self):
        self.check(2, 2, "engine0")

    def test_a_trainer_holds_up_the_engine(self):
        self.check(3, 1, "trainer2")

    def test_a_rank_of_a_larger_engine(self):
        self.check(1, 2, "engine1")

    def test_the_trainer_that_gives_the_weights(self):
        self.check(2, 1, "trainer0")

    def test_a_healthy_pair(self):
        pids = self.start(2, 2, "")
        _, report = self.diagnose(*[str(pid) for pid in pids.values()])
        self.assertEqual(report["verdict"]["culprits"], [])
        self.assertIn(report["verdict"]["kind"], ("healthy", "unknown"))

    def test_one_job_alone_accuses_nobody_of_the_other(self):
        pids = self.start(2, 1, "engine0")
        trainers = [str(pid) for role, pid in pids.items() if role.startswith("trainer")]
        run, report = self.diagnose(*trainers)
        self.assertEqual(report["verdict"]["culprits"], [], run)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
