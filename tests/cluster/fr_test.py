#!/usr/bin/env python3
"""Runs `oddrank fr` on dumps that real jobs wrote (tests/victims/recorded_job.py), and compares the
verdict with what the programs did."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
from harness import NOTHING_READ, PARTIAL, Options, Run
from training_job import ROOT, find_torch_python

STORIES = ("behind", "wrapped", "skip", "operation", "order", "uneven", "healthy")


class RecordedJobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="oddrank-fr-"))
        made = subprocess.run(
            [find_torch_python(), f"{ROOT}/tests/victims/recorded_job.py", cls.folder, *STORIES],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=800, check=False)
        if made.stdout.strip() != "done":
            raise RuntimeError(f"{made.stdout}\n{made.stderr[-3000:]}")

    def fr(self, *dumps, status=0):
        run = Run(harness.run_here([Options.oddrank, "fr", *dumps, "--json", "-"]))
        self.assertEqual(run.status, status, run)
        return run

    def diagnose(self, how):
        """Returns the report of the pickles. Checks that the JSON dumps give the same report, except for
        the places in the program, which JSON dumps lack."""
        pickles = self.fr(f"{self.folder}/{how}/trace_rank_*").json()
        json = self.fr(f"{self.folder}/{how}/json").json()
        for key in ("kind", "confidence", "culprits", "chain"):
            self.assertEqual(pickles["verdict"][key], json["verdict"][key])
        for key in ("collectives", "process_groups", "coverage"):
            self.assertEqual(pickles[key], json[key])
        self.assertEqual(pickles["coverage"]["read"], 6)
        return pickles

    def check(self, report, kind, ranks):
        verdict = report["verdict"]
        self.assertEqual(verdict["kind"], kind, verdict)
        self.assertEqual([row["rank"] for row in verdict["culprits"]], ranks, verdict)

    def test_behind(self):
        report = self.diagnose("behind")
        self.check(report, "skipped_collective", [5])
        links = [(link["waiters"], link["waits_for"]) for link in report["verdict"]["chain"]]
        self.assertEqual(links, [("0-2", "3-5"), ("3-4", "5")])
        self.assertIn("recorded_job.py", report["verdict"]["summary"])

    def test_wrapped(self):
        report = self.diagnose("wrapped")
        self.check(report, "skipped_collective", [5])
        right = [row for row in report["process_groups"] if row["description"] == "right"][0]
        self.assertGreater(min(row["lowest"] for row in right["ranks"]), 1)
        self.assertEqual([row["enqueued"] for row in right["ranks"]], [41, 41, 40])

    def test_skip(self):
        self.check(self.diagnose("skip"), "skipped_collective", [5])

    def test_operation(self):
        report = self.diagnose("operation")
        self.check(report, "mismatched_collective", [5])
        sides = [(side["ranks"], side["call"].split()[0])
                 for side in report["mismatches"][0]["sides"]]
        self.assertEqual(sides, [("3-4", "all_reduce"), ("5", "broadcast")])

    def test_order(self):
        self.check(self.diagnose("order"), "collective_order", [5])  # every way round leads through it

    def test_nobody_hangs(self):
        for how in ("uneven", "healthy"):
            with self.subTest(how):
                report = self.diagnose(how)
                self.check(report, "healthy", [])
                self.assertEqual(report["mismatches"], [])

    def test_one_dump_is_missing(self):
        """The dump of rank 5 is missing and nothing else is known about it: no other rank is accused."""
        dumps = [f"{self.folder}/behind/trace_rank_{rank}" for rank in range(5)]
        report = self.fr(*dumps).json()
        self.assertEqual(report["verdict"]["culprits"], [], report["verdict"])
        self.assertEqual(report["verdict"]["confidence"], "possible", report["verdict"])

    def test_cut_dumps(self):
        """A dump may be cut anywhere: the rest is read, and the report claims no more than that."""
        with tempfile.TemporaryDirectory(prefix="oddrank-fr-") as scratch:
            for rank in range(6):
                shutil.copy(f"{self.folder}/behind/trace_rank_{rank}", scratch)
            with open(f"{scratch}/trace_rank_3", "rb") as file:
                whole = file.read()
            for size in range(0, len(whole), 97):
                with open(f"{scratch}/trace_rank_3", "wb") as file:
                    file.write(whole[:size])
                run = Run(harness.run_here([Options.oddrank, "fr", scratch, "--json", "-"]))
                self.assertIn(run.status, (0, PARTIAL), run)
                culprits = {row["rank"] for row in run.json()["verdict"]["culprits"]}
                self.assertLessEqual(culprits, {5}, f"{size} bytes: {run}")

    def test_the_folder_of_a_debug_server(self):
        """Its texts are no dumps, and none is missing because of them."""
        with tempfile.TemporaryDirectory(prefix="oddrank-fr-") as scratch:
            with open(f"{scratch}/stacks_20261128_035637.txt", "w", encoding="utf-8") as file:
                file.write("=== Rank 0: http://n0:58557/handler/dump_traceback? ===\nCurrent thread 0x7f1c4a7fc6c0\n")
            harness.check_trouble(self, Run(harness.run_here([Options.oddrank, "fr", scratch])), "no flight-recorder dump",
                                  "/handler/fr_trace_json", status=NOTHING_READ)
            for rank in range(6):
                shutil.copy(f"{self.folder}/behind/trace_rank_{rank}", scratch)
            self.check(self.fr(scratch).json(), "skipped_collective", [5])

    def test_trouble(self):
        harness.check_trouble(self, Run(harness.run_here([Options.oddrank, "fr", "/nowhere/r_0"])),
                              "/nowhere/r_0", status=NOTHING_READ)
        with tempfile.TemporaryDirectory(prefix="oddrank-fr-") as scratch:
            shutil.copy(f"{self.folder}/behind/trace_rank_0", scratch)
            with open(f"{scratch}/trace_rank_1", "wb") as file:
                file.write(b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.")
            run = self.fr(scratch, status=PARTIAL)
            self.assertIn("os.system", run.out)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
