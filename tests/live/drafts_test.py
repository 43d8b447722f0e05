#!/usr/bin/env python3
"""An agent that is killed while it reads: what it had read by then is in the report, and the report says so.

    drafts_test.py --oddrank PATH
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import training_job

PARTIAL = 3
JOB = f"127.0.0.1:drafts{os.getpid()}"
# Runs the agent here in place of ssh. Kills it when the last line of its first draft has come.
SSH = """#!/usr/bin/python3
import base64, subprocess, sys
command = sys.argv[sys.argv.index("--") + 2:]
with subprocess.Popen(["/bin/sh", "-c", " ".join(command)], stdout=subprocess.PIPE) as agent:
    drafts = set()
    for line in agent.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
        _, _, _, stream, place, _, body = line.split()
        number, total = map(int, place.split(b"/"))
        if base64.b64decode(body.rstrip(b".")).startswith(b"draft\\n"):
            drafts.add(stream)
        if stream in drafts and number == total - 1:
            agent.kill()
sys.exit(137 if agent.returncode < 0 else agent.returncode)
"""


class Drafts(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        self.ssh = f"{self.folder}/ssh"
        with open(self.ssh, "w", encoding="utf-8") as file:
            file.write(SSH)
        os.chmod(self.ssh, 0o755)
        self.rank = training_job.sleeping_rank(self, JOB)

    def ask(self, *options):
        return harness.Run(harness.run_here([harness.Options.oddrank, "hosts", "n0", "--ssh", self.ssh,
                                             "--select", JOB, "--json", "-", *options]))

    def test_killed(self):
        """A sample is taken 3 s after the first one: by then a quarter of the time is over."""
        run = self.ask("--timeout", "10s", "--interval", "3s", "--samples", "3")
        self.assertEqual(run.status, PARTIAL, run)
        report = run.json()
        (rank,) = report["ranks"]
        self.assertEqual(rank["pid"], self.rank.pid)
        self.assertTrue(rank["threads"][0]["wait"])
        self.assertEqual(report["coverage"]["nodes_answered"], 0)
        (note,) = [note for note in report["notes"] if "gave no answer" in note]
        self.assertRegex(note, r"^n0 gave no answer: its agent ended without an answer: .*; "
                               r"shown is what it had read after [0-9.]+ s$")

    def test_quick(self):
        """An agent that is done before a quarter of its time is over sends no draft."""
        run = self.ask("--samples", "1", "--timeout", "120s")
        self.assertEqual(run.status, 0, run)
        self.assertEqual(run.json()["coverage"]["nodes_answered"], 1)


if __name__ == "__main__":
    harness.main()
