#!/usr/bin/env python3
"""Places that ranks name, on a file system that does not answer: the base result comes in time, and a note
names the path that hangs.

    hung_places_test.py --oddrank PATH
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

SERVER = os.path.join(os.path.dirname(HERE), "victims", "hung_fuse.py")
FADING = os.path.join(os.path.dirname(HERE), "victims", "fading_fuse.py")
PORT = "29780"
WATCHED_PORT = "29782"
START = """
import os, subprocess, sys
for rank in range(2):
    env = dict(os.environ, RANK=str(rank), WORLD_SIZE='2', MASTER_ADDR='localhost', MASTER_PORT=%r)
    subprocess.Popen([sys.executable, '-I', '-c', 'import signal; signal.pause()'], env=env)
import signal; signal.pause()
""" % PORT


class HungPlaces(unittest.TestCase):
    def start(self, **variables):
        """Starts two ranks with these variables; %s in a value is the hung folder."""
        self.folder = self.enterContext(harness.scratch())
        os.mkdir(f"{self.folder}/hung")
        hung = f"{self.folder}/hung"
        process = subprocess.Popen(
            harness.unshare("/usr/bin/python3", SERVER, hung, "/usr/bin/python3", "-I", "-c", START),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
            env={**os.environ, **{name: value % hung for name, value in variables.items()}},
            start_new_session=True)
        self.addCleanup(self.end, process)
        if not process.stdout.readline():
            self.skipTest("no FUSE file system can be mounted here")

        def ranks():
            found = [pid for pid in proc_facts.pids() if proc_facts.environ(pid).get("MASTER_PORT") == PORT]
            return len(found) == 2 and all(proc_facts.in_call(pid, proc_facts.PAUSE) for pid in found)
        proc_facts.wait_until(ranks, "both ranks wait")
        return hung

    @staticmethod
    def end(process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        process.stdout.close()

    def node(self, *words):
        began = time.monotonic()
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", "--select", f"localhost:{PORT}",
                                            "--json", "-", "--samples", "1", "--timeout", "6s", *words]))
        return run, time.monotonic() - began

    def test_the_home_folder(self):
        hung = self.start(HOME="%s")
        run, took = self.node()
        report = run.json()
        self.assertEqual((run.status, report["coverage"]["read"]), (0, 2), run)
        self.assertIn(f"{hung}/.nccl.conf", str(report["notes"]))
        self.assertIn("does not answer", str(report["notes"]))
        self.assertLess(took, 30, run)

    def test_all_places_at_once(self):
        hung = self.start(HOME="%s", TORCH_FR_DUMP_TEMP_FILE="%s/dump_", NCCL_DEBUG_FILE="%s/nccl.log",
                          TORCH_FR_DEBUG_INFO_PIPE_FILE="%s/pipe_", TORCHINDUCTOR_CACHE_DIR="%s/cache")
        run, took = self.node("--fr", f"{hung}/given_*")
        report = run.json()
        self.assertEqual((run.status, report["coverage"]["read"]), (0, 2), run)
        self.assertLess(took, 30, run)

    @harness.only_in_full  # the capture takes half a minute
    def test_the_watch(self):
        """Beside a rank whose interpreter, home folder, dumps and log are all there."""
        folder = self.enterContext(harness.scratch())
        hung = f"{folder}/hung"
        os.mkdir(hung)
        variables = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": WATCHED_PORT,
                     "HOME": hung, "TORCH_FR_DUMP_TEMP_FILE": f"{hung}/dump_", "NCCL_DEBUG_FILE": f"{hung}/log"}
        said = self.enterContext(open(f"{folder}/said", "w+", encoding="utf-8"))
        process = subprocess.Popen(
            harness.unshare("/usr/bin/python3", FADING, hung, "/usr/bin/python3", "/usr/bin/env",
                            *(f"{name}={value}" for name, value in variables.items()), harness.Options.oddrank,
                            "watch", "--interval", "200ms", "--stalled-for", "1s", "--save", f"{folder}/save", "--"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, cwd="/", start_new_session=True)
        self.addCleanup(self.end, process)
        if not process.stdout.readline():
            self.skipTest("no FUSE file system can be mounted here")

        def alarm():
            said.seek(0)
            return re.search(r"(?s)rank 0 has not moved for .*fuse fading at .*in step .*saved ", said.read())
        proc_facts.wait_until(alarm, "the alarm", 120)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
