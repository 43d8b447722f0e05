#!/usr/bin/env python3
"""Runs `oddrank node` on ranks of torch.distributed that no variable shows: started by multiprocessing
or by a script of their own, with a title written over their variables, or several by one task of a
launcher. All ranks are found and numbered right, and nothing else is taken for a rank.

    own_ranks_test.py --oddrank PATH
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "support"))
# pylint: disable=wrong-import-position
import harness
import training_job

VICTIM = os.path.join(TESTS, "victims", "own_ranks.py")
DEADLINE_S = 120


def read(path):
    with open(path, encoding="utf-8") as file:
        return int(file.read())


def connections_to(port):
    """Counts the established connections of the process that listens at this port."""
    count = 0
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="utf-8") as file:
            for line in list(file)[1:]:
                words = line.split()
                count += words[3] == "01" and int(words[1].rpartition(":")[2], 16) == port
    return count


class OwnRanks(unittest.TestCase):
    def start(self, how, ranks, variables=({},), hang=True, says="rank"):
        """Starts one process for each of `variables`; returns ({rank: pid}, port) when all `ranks`
        have their place."""
        folder = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        self.addCleanup(folder.cleanup)
        port, reserved = training_job.reserve_port()
        self.addCleanup(reserved.close)
        for each in variables:
            env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
                   **{name: value.replace("PORT", str(port)) for name, value in each.items()}}
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                [training_job.find_torch_python(), VICTIM, how, folder.name, str(port),
                 "1" if hang else "0"],
                env=env, stdin=subprocess.DEVNULL, start_new_session=True)
            self.addCleanup(self.end, process)
        paths = {rank: os.path.join(folder.name, f"{says}.{rank}") for rank in range(ranks)}
        end = time.monotonic() + DEADLINE_S
        while not all(map(os.path.exists, paths.values())):
            self.assertLess(time.monotonic(), end, paths)
            time.sleep(0.02)
        return {rank: read(path) for rank, path in paths.items()}, port

    def wait_for_connections(self, port, count):
        """Waits until so many connections to the port are open."""
        end = time.monotonic() + DEADLINE_S
        while connections_to(port) < count:
            self.assertLess(time.monotonic(), end, "connections")
            time.sleep(0.02)

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait(60)

    def report(self, *options):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--json", "-", "-q", *harness.PATIENTLY, *options]))
        self.assertIn(run.status, (0, harness.PARTIAL), run)
        return run.json()

    def check(self, job, ranks, world, *options):
        """Checks the ranks of a job, and returns the report."""
        report = self.report("--select", job, *options)
        self.assertEqual({row["rank"]: row["pid"] for row in report["ranks"]}, ranks)
        self.assertEqual(report["job"]["world_size"], world)
        return report

    def check_hang(self, job, ranks, world):
        """Checks that rank 1 is named, as soon as the others wait for it."""
        end = time.monotonic() + DEADLINE_S
        while True:
            verdict = self.check(job, ranks, world, "--samples", "2")["verdict"]
            named = [(each["rank"], each["pid"]) for each in verdict["culprits"]]
            if named == [(1, ranks[1])]:
                return
            self.assertLess(time.monotonic(), end, json.dumps(verdict))

    def test_spawned(self):
        ranks, port = self.start("spawn", 3)
        self.check_hang(f"127.0.0.1:{port}", ranks, 3)

    def test_spawned_and_healthy(self):
        ranks, port = self.start("spawn", 3, hang=False)
        verdict = self.check(f"127.0.0.1:{port}", ranks, 3)["verdict"]
        # With so few CPUs one of them may be the slow one.
        self.assertIn(verdict["kind"], ("healthy", "slow", "busy_rank", "unknown"),
                      json.dumps(verdict))

    def test_spawned_and_one_has_no_group_yet(self):
        ranks, port = self.start("late", 3)
        self.wait_for_connections(port, 2)  # ranks 0 and 2 make the group
        self.check_hang(f"127.0.0.1:{port}", ranks, 3)

    def test_forked_ranks_with_workers(self):
        ranks, port = self.start("fork", 2)
        report = self.check(f"127.0.0.1:{port}", ranks, 2, "--samples", "1")
        self.assertEqual([len(row["children"]) for row in report["ranks"]], [1, 1])

    def test_script_that_starts_the_others(self):
        ranks, port = self.start("script", 2)
        self.check_hang(f"127.0.0.1:{port}", ranks, 2)

    @staticmethod
    def torch_variables(world):
        return [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "PORT"} for rank in range(world)]

    def test_title_over_the_variables(self):
        ranks, port = self.start("title", 2, self.torch_variables(2), says="ready")
        self.check(f"127.0.0.1:{port}", ranks, 2, "--samples", "1")

    def test_title_over_the_variables_of_ranks_with_a_group(self):
        ranks, port = self.start("title_group", 2, self.torch_variables(2))
        self.check_hang(f"127.0.0.1:{port}", ranks, 2)

    def test_each_task_starts_two_ranks(self):
        job = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2",
               "SLURM_STEP_NUM_TASKS": "2", "SLURM_GTIDS": "0,1"}
        ranks, _ = self.start("tasks", 4, [{**job, "SLURM_PROCID": str(task),
                                            "SLURM_LOCALID": str(task)} for task in range(2)])
        self.check_hang(f"slurm {os.getpid()}.0", ranks, 4)

    def test_group_that_contradicts_the_launcher(self):
        name = f"oddrank-{os.getpid()}"
        ranks, _ = self.start("reversed", 2, [{"OMPI_COMM_WORLD_RANK": str(rank),
                                               "OMPI_COMM_WORLD_SIZE": "2",
                                               "PMIX_NAMESPACE": name} for rank in range(2)])
        report = self.check(f"mpi {name}", ranks, 2, "--samples", "1")
        self.assertTrue(any("the group is believed" in note for note in report["notes"]),
                        report["notes"])

    def test_two_jobs_at_once(self):
        jobs = [self.start("fork", 2) for _ in range(2)]
        for ranks, port in jobs:
            self.check(f"127.0.0.1:{port}", ranks, 2, "--samples", "1")


if __name__ == "__main__":
    harness.main(harness.needs_torch)
