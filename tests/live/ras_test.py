#!/usr/bin/env python3
"""Tests `oddrank node` with NCCL's real RAS service, and with NCCL's memory if the service is silent. The
ranks run the service of a real libnccl.so.2 without a GPU (tests/victims/ras_rank.py), in every version
at hand.

    ras_test.py --oddrank PATH           ODDRANK_NCCL=/a/libnccl.so.2:/b/libnccl.so.2 names them
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
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
NOTICED = re.compile("has not moved for|which is not a stall")


def needs_nccl():
    if not nccl_layout.find_libraries():
        return "no libnccl.so.2 (ODDRANK_NCCL, or the wheel nvidia-nccl-cu12 in .venv)"
    for tool in ("nm", "gdb"):
        if shutil.which(tool) is None:
            return f"no {tool}, which tells where the library keeps what its RAS needs"
    return None


class Ranks:
    """Three ranks with one service; they are always killed at the end."""

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
            process.wait(60)
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

    def source(self, run, name="RAS"):
        rows = [row for row in run.json().get("sources", []) if "NCCL" in row["text"]]
        self.assertEqual([row["source"] for row in rows], [name], run)
        return rows[0]

    def stop(self, pid):
        os.kill(pid, signal.SIGSTOP)
        proc_facts.wait_until(lambda: proc_facts.state(pid) == "T", "it stops")

    def check_memory(self, ranks, run):
        """Checks rank, size, hash and counts, as read from the ranks' own memory."""
        row = self.source(run, "NCCL memory")
        version = re.search(r"NCCL (2\.\d+\.\d+), communicator 0x1122334455667788", row["text"])
        self.assertIsNotNone(version, run)
        self.assertIn(" of 3: rank 2 (", row["text"], run)
        self.assertIn(f"pid {ranks.pid(BEHIND)}) launched AllReduce 41 times, the others 42; "
                      "no count moved between two looks", row["text"], run)
        self.assertEqual(row["ranks"], str(BEHIND), run)

    def test_who_is_behind(self):
        for library, directory in self.each_version():
            with Ranks(library, directory) as ranks:
                run = ranks.diagnose()
                row = self.source(run)
                self.assertIn(f"rank {BEHIND} (", row["text"], run)
                self.assertIn(f"pid {ranks.pid(BEHIND)})", row["text"], run)
                self.assertIn("launched AllReduce 41 times, the others 42", row["text"], run)
                # Versions that crash when polled are queried only once: then no rank is named.
                twice = "no count moved" in row["text"]
                self.assertEqual(row["ranks"], str(BEHIND) if twice else "", run)
                self.assertEqual(twice, re.search(r"NCCL 2\.2[4-7]\.", row["text"]) is None, run)
                # With --no-ras the memory is read instead, and the rank does not notice.
                self.check_memory(ranks, ranks.diagnose("--no-ras"))
                self.assertTrue(ranks.ready())

    def test_a_stopped_rank(self):
        """The report says that it did not answer; its silent socket costs only a second."""
        for library, directory in self.each_version():
            with Ranks(library, directory) as ranks:
                self.stop(ranks.pid(BEHIND))
                run = ranks.diagnose()
                self.assertEqual(run.json()["verdict"]["kind"], "stopped_rank", run)
                text = self.source(run, "RAS and NCCL memory")["text"]
                self.assertIn("RAS told nothing of rank 2 (", text, run)
                self.assertIn(f"pid {ranks.pid(BEHIND)}): by NCCL's memory", text, run)
                os.kill(ranks.pid(BEHIND), signal.SIGCONT)

    def test_all_ranks_stopped(self):
        """No rank answers, but the memory of a stopped process can still be read."""
        for library, directory in self.each_version():
            with Ranks(library, directory) as ranks:
                for rank in range(len(COUNTS)):
                    self.stop(ranks.pid(rank))
                self.check_memory(ranks, ranks.diagnose())

    def test_a_service_that_is_switched_off_is_not_asked(self):
        library = nccl_layout.find_libraries()[0]
        with harness.scratch() as directory, Ranks(library, directory,
                                                   NCCL_RAS_ENABLE="0") as ranks:
            # The made-up ranks start their service anyway, and it lists them: that list is read.
            self.check_memory(ranks, ranks.diagnose())

    def test_what_is_launched_moves_for_a_watch(self):
        """The leading thread stays in one call; NCCL's counts show that it is alive, until they stop."""
        for library, directory in self.each_version():
            job = f"watch{os.getpid()}"
            with Ranks(library, directory, ("0+20",), MASTER_PORT=job) as ranks, \
                    self.watching(f"127.0.0.1:{job}", f"{directory}/watch") as watch:
                self.wait_watched(watch.pid, 3)
                self.assertIsNone(NOTICED.search(self.read(f"{directory}/watch")))
                ranks.processes[0].stdin.write(b"5\n")
                ranks.processes[0].stdin.flush()
                proc_facts.wait_until(
                    lambda path=f"{directory}/watch": NOTICED.search(self.read(path)),
                    "it notices that nothing is launched", 60)

    @contextlib.contextmanager
    def watching(self, job, path):
        with open(path, "wb") as log:
            watch = subprocess.Popen(
                [harness.Options.oddrank, "-v", "watch", "--interval", "100ms", "--stalled-for",
                 "1s", "--select", job], stdin=subprocess.DEVNULL, stderr=log)
        try:
            yield watch
        finally:
            watch.kill()
            watch.wait(60)

    @staticmethod
    def wait_watched(watcher, seconds):
        """Waits that long, and for at least 100 wake-ups of the watcher. A sample takes one or more."""
        end = time.monotonic() + seconds
        proc_facts.wait_until(
            lambda: time.monotonic() > end and proc_facts.wake_ups(watcher) >= 100,
            f"{seconds} s of looks", 60)

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


if __name__ == "__main__":
    harness.main(needs_nccl)
