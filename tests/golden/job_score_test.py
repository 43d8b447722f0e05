#!/usr/bin/env python3
"""Compares the verdicts on recorded jobs with the truth about them. tests/jobs/ makes most of the jobs;
`tests/jobs/record.py --golden 220 --oddrank PATH` records them anew. The programs of strangers.tar
and heldout.tar were written without knowledge of oddrank's rules; of heldout.tar, only the counts
are looked at. Those of gpu_jobs.tar are of tests/gpu/nccl_jobs.py, recorded on an H100 with torch
2.11 and NCCL 2.28.

    job_score_test.py --oddrank PATH
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "jobs"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
# pylint: disable=wrong-import-position
import archive
import generate
import harness
import score

JOBS = os.path.join(HERE, "jobs.tar")
DEEP = os.path.join(HERE, "deep.tar")  # faults of deep_faults.py, stories of services.py
STRANGERS = os.path.join(HERE, "strangers.tar")
HELD_OUT = os.path.join(HERE, "heldout.tar")
DOCS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs")
# Real vLLM, Ray, Monarch, torchft and anyio on CPUs, with and without pids (tests/wild/run_roles.py).
ROLES = os.path.join(HERE, "roles.tar")
GPU_JOBS = os.path.join(HERE, "gpu_jobs.tar")
ENOUGH = 200
GPU_COUNT = 40
ROLES_RIGHT = 156
RIGHT_SHARE = 0.95
STRANGERS_RIGHT = 1087
STRANGERS_WRONG = 40
MOST_BESIDE = 1  # verdicts of which another story names an innocent


def verdict(kind, *ranks):
    return {"kind": kind, "confidence": "likely", "summary": "",
            "culprits": [{"rank": rank} for rank in ranks]}


class RecordedJobs(unittest.TestCase):
    def test_no_innocent_is_named_and_most_verdicts_are_right(self):
        for jobs, enough in ((JOBS, ENOUGH), (DEEP, ENOUGH // 2)):
            total = archive.replay(harness.Options.oddrank, jobs)
            self.assertGreaterEqual(len(total.rows), enough)
            self.assertEqual(total.count(score.WRONG), 0, total.text())
            self.assertGreaterEqual(total.share(score.RIGHT), RIGHT_SHARE, total.text())

    def test_every_verdict_on_a_job_of_a_gpu_is_right(self):
        total = archive.replay(harness.Options.oddrank, GPU_JOBS)
        self.assertEqual(total.count(score.RIGHT), GPU_COUNT, total.text())

    def test_processes_with_roles_are_named_by_pid_and_healthy_ones_are_not(self):
        total = archive.replay(harness.Options.oddrank, ROLES)
        self.assertGreaterEqual(total.count(score.RIGHT), ROLES_RIGHT, total.text())
        self.assertEqual(total.count(score.WRONG), 0, total.text())

    def test_jobs_of_strangers_get_no_worse_verdicts_than_before(self):
        total = archive.replay(harness.Options.oddrank, STRANGERS)
        self.assertGreaterEqual(total.count(score.RIGHT), STRANGERS_RIGHT, total.text())
        self.assertLessEqual(total.count(score.WRONG), STRANGERS_WRONG, total.text())
        beside = [name for name, truth, told, _ in total.rows if score.innocents_beside(truth, told)]
        self.assertLessEqual(len(beside), MOST_BESIDE, beside)
        self.check_documented("strangers.tar", total)

    def test_the_score_of_jobs_that_nobody_looked_at_is_as_documented(self):
        self.check_documented("heldout.tar", archive.replay(harness.Options.oddrank, HELD_OUT))

    def check_documented(self, name, total):
        with open(os.path.join(DOCS, "verdicts.md"), encoding="utf-8") as file:
            rows = [line for line in file if line.startswith(f"| `tests/golden/{name}`")]
        counts = [total.count(judgement)
                  for judgement in (score.RIGHT, score.KIND, score.UNKNOWN, score.WRONG)]
        self.assertEqual(len(rows), 1)
        numbers = [int(cell.split(":")[0]) for cell in rows[0].split("|")[3:8]]
        self.assertEqual(numbers, [len(total.rows), *counts], total.text())


class Documents(unittest.TestCase):
    def test_the_page_on_how_a_verdict_is_reached_shows_what_the_program_prints(self):
        with open(os.path.join(DOCS, "how-a-verdict-is-reached.md"), encoding="utf-8") as file:
            shown = file.read().split("```")[1].strip("\n")
        with archive.opened(STRANGERS) as folder:
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "report", os.path.join(folder, "b049.capture"),
                 "--explain"]))
        self.assertEqual(run.out.rstrip("\n"), shown)


    def test_the_readme_shows_what_the_program_prints(self):
        """readme.capture is of the job of scripts/demo, in a folder of a nicer name."""
        with open(os.path.join(DOCS, "..", "README.md"), encoding="utf-8") as file:
            shown = file.read().split("```")[1].split("\n\n", 1)[1].strip("\n")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "report", os.path.join(HERE, "readme.capture")]))
        self.assertEqual(run.out.rstrip("\n"), shown)


class Judgement(unittest.TestCase):
    TRUTH = {"culprits": [[1, 2], [1]], "kinds": ["file_lock"], "unknown_is_right": False}

    def check(self, expected, given, **truth):
        self.assertEqual(score.judge(dict(self.TRUTH, **truth), given), expected)

    def test_a_name_counts_as_right_only_with_all_members_of_the_circle(self):
        self.check(score.RIGHT, verdict("file_lock", 2, 1))
        self.check(score.RIGHT, verdict("file_lock", 1))
        self.check(score.WRONG, verdict("file_lock", 2))
        self.check(score.WRONG, verdict("file_lock", 1, 3))

    def test_nobody_is_unknown_only_if_the_verdict_says_so(self):
        self.check(score.UNKNOWN, verdict("unknown"))
        self.check(score.RIGHT, verdict("unknown"), unknown_is_right=True)
        self.check(score.WRONG, verdict("healthy"))
        self.check(score.WRONG, verdict("below_host"))
        self.check(score.RIGHT, verdict("healthy"), culprits=[[]], kinds=["healthy"])

    def test_another_kind_is_not_right(self):
        self.check(score.KIND, verdict("lock_deadlock", 1))


class Generator(unittest.TestCase):
    def test_a_seed_always_makes_the_same_job(self):
        for seed in range(1, 40):
            self.assertEqual(generate.generate(seed), generate.generate(seed), seed)

    def test_programs_compile_and_truths_name_ranks_of_the_job(self):
        for seed in range(1, 200):
            job = generate.generate(seed)
            if job is None:
                continue
            for name, text in job.files.items():
                compile(text, name, "exec")
            for ranks in job.truth["culprits"]:
                self.assertTrue(all(0 <= rank < job.ranks for rank in ranks), seed)
                self.assertEqual(ranks, sorted(set(ranks)), seed)


if __name__ == "__main__":
    harness.main()
