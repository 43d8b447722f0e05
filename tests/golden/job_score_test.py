#!/usr/bin/env python3
"""Compares the verdicts on recorded jobs with the truth about them. tests/jobs/ makes most of the jobs;
`tests/jobs/record.py --golden 220 --oddrank PATH` records them anew. Those of gpu_jobs.tar are of
tests/gpu/nccl_jobs.py, recorded on an H100 with torch 2.11 and NCCL 2.28.

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
GPU_JOBS = os.path.join(HERE, "gpu_jobs.tar")
ENOUGH = 200
GPU_COUNT = 40
RIGHT_SHARE = 0.95


def verdict(kind, *ranks):
    return {"kind": kind, "confidence": "likely", "summary": "",
            "culprits": [{"rank": rank} for rank in ranks]}


class RecordedJobs(unittest.TestCase):
    def test_no_innocent_is_named_and_most_verdicts_are_right(self):
        total = archive.replay(harness.Options.oddrank, JOBS)
        self.assertGreaterEqual(len(total.rows), ENOUGH)
        self.assertEqual(total.count(score.WRONG), 0, total.text())
        self.assertGreaterEqual(total.share(score.RIGHT), RIGHT_SHARE, total.text())

    def test_every_verdict_on_a_job_of_a_gpu_is_right(self):
        total = archive.replay(harness.Options.oddrank, GPU_JOBS)
        self.assertEqual(total.count(score.RIGHT), GPU_COUNT, total.text())


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
