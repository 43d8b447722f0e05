#!/usr/bin/env python3
"""Compares reports with docs/report.schema.json: those of recorded jobs, and of a live
process with all that can be asked for. Other tests do it as well (support/harness.py, Run.json).

    schema_test.py --oddrank PATH
"""

import copy
import glob
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "jobs"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
# pylint: disable=wrong-import-position
import archive
import harness
import report_schema

EACH = 8  # of the recorded jobs
PROGRAM = """
import asyncio, threading

async def waits():
    await asyncio.gather(asyncio.Event().wait(), asyncio.sleep(1000))

lock = threading.Lock()
lock.acquire()
threading.Thread(target=lock.acquire, daemon=True).start()
threading.Timer(0, lambda: print(flush=True)).start()
asyncio.run(waits())
"""


def recorded_reports(step):
    with archive.opened(os.path.join(HERE, "jobs.tar")) as folder:
        for capture in sorted(glob.glob(os.path.join(folder, "*.capture")))[::step]:
            yield json.loads(harness.run_here(
                [harness.Options.oddrank, "report", capture, "--json", "-", "--explain"]).stdout)


class Schema(unittest.TestCase):
    def check(self, report):
        self.assertEqual(report_schema.complaints(report), [])

    def test_recorded_jobs(self):
        for report in recorded_reports(EACH):
            with self.subTest(report["verdict"]["summary"]):
                self.check(report)
                self.assertIn("explanation", report)

    def test_a_live_process_with_locals_and_tasks(self):
        with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()
                for more in ((), ("--locals", "--tasks"), ("--no-python",), ("--redact",), ("--explain",)):
                    run = harness.Run(harness.run_here(
                        [harness.Options.oddrank, "node", str(process.pid), "--json", "-", *more]))
                    with self.subTest(more):
                        self.check(json.loads(run.out))
            finally:
                process.kill()

    def test_what_is_wrong_is_found(self):
        """A check that cannot fail would show nothing."""
        whole = next(recorded_reports(1))
        for change in (lambda report: report["verdict"].update(kind="guilty"),
                       lambda report: report["ranks"][0].update(shoe_size=44),
                       lambda report: report["coverage"].pop("read"),
                       lambda report: report["groups"][0].update(ranks="all of them")):
            report = copy.deepcopy(whole)
            change(report)
            self.assertTrue(report_schema.complaints(report))


if __name__ == "__main__":
    harness.main(report_schema.needs_jsonschema)
