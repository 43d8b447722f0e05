#!/usr/bin/env python3
"""Runs `oddrank node` on torchrun's launchers that wait for other nodes, and on processes without ranks
that wait for each other: both get a verdict, with pids for names.

    launchers_test.py --oddrank PATH
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import training_job

DEADLINE_S = 120
# Two processes that share a pipe each way, and both read first.
CIRCLE = """
import os, sys
mine, other = os.pipe(), os.pipe()
child = os.fork()
reads, writes = (mine[0], other[1]) if child else (other[0], mine[1])
os.close(other[0] if child else mine[0]), os.close(mine[1] if child else other[1])
if child:
    print(os.getpid(), child, flush=True)
os.read(reads, 1)
"""
# A pool of which one worker stops while it holds a lock that the others want. Prints its own pid, those
# of the workers, and the one that holds the lock.
POOL = """
import multiprocessing, os, signal, sys

def work(number):
    with lock:
        holder.put(os.getpid())
        signal.pause()

def share(*both):
    global lock, holder
    lock, holder = both

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    lock, holder = context.Lock(), context.SimpleQueue()
    with context.Pool(3, share, (lock, holder)) as pool:
        waiting = pool.map_async(work, range(3), 1)
        workers = [each.pid for each in multiprocessing.active_children()]
        print(os.getpid(), *workers, holder.get(), flush=True)
        waiting.get()
"""


def can_unshare():
    return subprocess.run(harness.unshare("-pf", "--mount-proc", "true"), capture_output=True,
                          timeout=60, check=False).returncode == 0


def if_namespaces(test):
    return test if can_unshare() else None


class Launchers(unittest.TestCase):
    def start(self, command):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            command, env={**os.environ, "PYTHONWARNINGS": "ignore"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        os.killpg(process.pid, 9)
        process.communicate(timeout=60)

    def torchrun(self, *options):
        return [training_job.find_torch_python(), "-m", "torch.distributed.run",
                "--nproc-per-node", "2", *options, "/dev/null"]

    @staticmethod
    def report(*words):
        run = harness.Run(harness.run_here(
            [*words, harness.Options.oddrank, "node", "--samples", "2", "--json", "-", "-q",
             *harness.PATIENTLY], also=False))
        return run, run.json() if run.status == 0 else {}

    def verdict_of(self, pids, kind, words):
        """Returns the first verdict of that kind that has these words."""
        end = time.monotonic() + DEADLINE_S
        while True:
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", *map(str, pids), "--samples", "2", "--json", "-",
                 "-q", *harness.PATIENTLY], also=False))
            verdict = run.json()["verdict"] if run.status == 0 else {}
            if verdict.get("kind") == kind and words in verdict["summary"]:
                return verdict
            self.assertLess(time.monotonic(), end, f"{run.status} {run.err} {json.dumps(verdict)}")

    def test_two_of_three_nodes_came_to_the_rendezvous(self):
        port, reserved = training_job.reserve_port()
        self.addCleanup(reserved.close)
        pids = [self.start(self.torchrun("--nnodes", "3", "--rdzv-backend", "c10d",
                                         "--rdzv-endpoint", f"127.0.0.1:{port}",
                                         "--rdzv-id", "lecture")).pid for _ in range(2)]
        self.verdict_of(pids, "rendezvous", "rendezvous 'lecture': 2 of 3 nodes have come")

    def test_numbered_nodes_that_are_missing(self):
        port, reserved = training_job.reserve_port()
        self.addCleanup(reserved.close)
        pids = [self.start(self.torchrun("--nnodes", "4", "--node-rank", str(node),
                                         "--master-addr", "127.0.0.1", "--master-port",
                                         str(port))).pid for node in (0, 2)]
        self.verdict_of(pids, "rendezvous", "no launcher of nodes 1,3 was found")

    @if_namespaces
    def test_a_node_without_ranks_has_a_verdict(self):
        port, reserved = training_job.reserve_port()
        self.addCleanup(reserved.close)
        first = self.start(harness.unshare(
            "-pf", "--mount-proc", *self.torchrun("--nnodes", "2", "--node-rank", "0",
                                                  "--master-addr", "127.0.0.1", "--master-port",
                                                  str(port))))
        end = time.monotonic() + DEADLINE_S
        while True:
            with open(f"/proc/{first.pid}/task/{first.pid}/children", encoding="utf-8") as file:
                inner = file.read().split()
            run, report = self.report("nsenter", "--pid", "--mount", "--root", "-t", inner[0]) \
                if inner else (None, {})
            if report and report["verdict"]["kind"] == "rendezvous":
                break
            self.assertLess(time.monotonic(), end, run)
        self.assertIn("2 nodes must come", report["verdict"]["summary"])
        self.assertEqual(report["verdict"]["culprits"], [])

    def test_processes_that_wait_for_each_other(self):
        process = self.start([sys.executable, "-c", CIRCLE])
        pids = [int(word) for word in process.stdout.readline().split()]
        verdict = self.verdict_of(pids, "resource_cycle", "pid ")
        self.assertEqual({each["pid"] for each in verdict["culprits"]}, set(pids))

    def test_workers_of_a_pool_wait_for_the_one_with_the_lock(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(POOL)
            script.flush()
            for method in ("fork", "spawn"):
                process = self.start([sys.executable, script.name, method])
                *pids, holder = [int(word) for word in process.stdout.readline().split()]
                verdict = self.verdict_of(pids, "stuck_rank", f"pid {holder}")
                self.assertEqual([each["pid"] for each in verdict["culprits"]], [holder])


if __name__ == "__main__":
    harness.main(harness.needs_torch)
