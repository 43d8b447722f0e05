#!/usr/bin/env python3
"""`oddrank node` and NCCL's RAS service, the real one: ranks that run the service of a real
libnccl.so.2 without a GPU (tests/victims/ras_rank.py), of every version that is at hand.

    ras_test.py --oddrank PATH           ODDRANK_NCCL=/a/libnccl.so.2:/b/libnccl.so.2 names them
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import nccl_layout
import proc_facts

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "ras_rank.py")
COUNTS = (42, 42, 41)
BEHIND = 2


def needs_nccl():
    if not nccl_layout.find_libraries():
        return "no libnccl.so.2 (ODDRANK_NCCL, or the wheel nvidia-nccl-cu12 in .venv)"
    for tool in ("nm", "gdb"):
        if shutil.which(tool) is None:
            return f"no {tool}, which tells where the library keeps what its RAS needs"
    return None


class Ranks:
    """Three ranks with one service; ended however it is left."""

    def __init__(self, library, directory, counts=COUNTS, **environment):
        self.directory, self.counts, self.environment = directory, counts, environment
        self.layout = f"{directory}/layout.json"
        with open(self.layout, "w", encoding="utf-8") as file:
            json.dump(nccl_layout.layout(library), file)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.processes = []

    def __enter__(self):
        with open(f"{self.directory}/log", "ab") as log:
            for rank, count in enumerate(self.counts):
                environment = {"PATH": os.environ["PATH"], "RANK": str(rank),
                               "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(self.counts)),
                               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
                               "NCCL_RAS_ADDR": f"localhost:{self.port}", **self.environment}
                self.processes.append(subprocess.Popen(
                    ["/usr/bin/python3", VICTIM, self.layout, self.directory, str(count)],
                    stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment))
        proc_facts.wait_until(self.ready, "the services know each other", 60)
        return self

    def ready(self):
        if any(process.poll() is not None for process in self.processes):
            with open(f"{self.directory}/log", encoding="utf-8") as log:
                raise RuntimeError(f"a rank ended:\n{log.read()[-2000:]}")
        return all(os.path.exists(f"{self.directory}/ready-{rank}")
                   for rank in range(len(self.counts)))

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(20)
            process.stdin.close()

    def pid(self, rank):
        return self.processes[rank].pid

    def diagnose(self, *more):
        pids = [str(process.pid) for process in self.processes]
        return harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *pids, "--json", "-", *more]))


class RasTest(unittest.TestCase):
    def each_version(self):
        for library in nccl_layout.find_libraries():
            with harness.scratch() as directory, self.subTest(library):
                yield library, directory

    def source(self, run):
        rows = [row for row in run.json().get("sources", []) if row["source"] == "RAS"]
        self.assertEqual(len(rows), 1, run)
        return rows[0]

    def test_who_is_behind(self):
        for library, directory in self.each_version():
            with Ranks(library, directory) as ranks:
                run = ranks.diagnose()
                row = self.source(run)
                self.assertIn(f"rank {BEHIND} (", row["text"], run)
                self.assertIn(f"pid {ranks.pid(BEHIND)})", row["text"], run)
                self.assertIn("launched AllReduce 41 times, the others 42", row["text"], run)
                # Asked once only where asking twice has crashed jobs: then nobody is named.
                twice = "no count moved" in row["text"]
                self.assertEqual(row["ranks"], str(BEHIND) if twice else "", run)
                self.assertEqual(twice, "NCCL 2.27" not in row["text"], run)
                none = ranks.diagnose("--no-ras").json()
                self.assertNotIn("sources", none)
                self.assertTrue(ranks.ready())

    def test_a_stopped_rank(self):
        """It is missed, and said to be; its silent socket takes a second, no more."""
        for library, directory in self.each_version():
            with Ranks(library, directory) as ranks:
                os.kill(ranks.pid(1), signal.SIGSTOP)
                proc_facts.wait_until(lambda: proc_facts.state(ranks.pid(1)) == "T", "it stops", 10)
                run = ranks.diagnose()
                self.assertEqual(run.json()["verdict"]["kind"], "stopped_rank", run)
                self.assertIn(f"pid {ranks.pid(1)}) did not answer", self.source(run)["text"], run)
                os.kill(ranks.pid(1), signal.SIGCONT)

    def test_a_service_that_is_switched_off_is_not_asked(self):
        library = nccl_layout.find_libraries()[0]
        with harness.scratch() as directory, Ranks(library, directory,
                                                   NCCL_RAS_ENABLE="0") as ranks:
            # The made-up ranks start theirs all the same.
            self.assertNotIn("sources", ranks.diagnose().json())


if __name__ == "__main__":
    harness.main(needs_nccl)
