#!/usr/bin/env python3
"""Runs generated jobs, captures them when they hang, and prints how good the verdicts are.

    record.py --seeds 1-60 --out DIR --oddrank PATH   records: DIR/0001.capture, DIR/0001.json
                                                      (truth), DIR/0001.txt (program)
    record.py --replay --out DIR --oddrank PATH       analyses the captures in DIR again
    record.py --golden 220 --oddrank PATH             records tests/golden/jobs.tar anew

Unknown options go to oddrank, as in --samples 4. A seed whose job does not hang as it should is
left out, and reported.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import archive
import generate
import live_job
import score
import training_job

ROOT = training_job.ROOT
RARE = 3
GOLDEN = os.path.join(ROOT, "tests", "golden", "jobs.tar")


def parse_seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def made(seeds, fault=None):
    """Yields (seed, Job) of the seeds that yield a job with that fault."""
    for seed in seeds:
        job = generate.generate(seed)
        if job is not None and fault in (None, job.truth["fault"]):
            yield seed, job


def choose_golden(count):
    """Returns the first `count` seeds; seeds of rare faults replace the last ones, so that there
    are RARE jobs of each fault."""
    truths = {seed: job.truth["fault"] for seed, job in made(range(1, 20 * count))}
    kept, extra = list(truths)[:count], []
    faults = sorted(set(truths.values()))
    for fault in faults:
        seeds = [seed for seed in truths if truths[seed] == fault]
        extra += [seed for seed in seeds[:RARE] if seed not in kept]
    return sorted(kept[:count - len(extra)] + extra)


def examine(oddrank, live, capture, samples):
    """Captures a ripe job; returns its verdict. Raises Discarded if the job changed meanwhile."""
    result = subprocess.run(
        [oddrank, "node", "--select", live.name, "--save", capture, "--json", "-", "--no-ras",
         *samples], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        check=False)
    if not live.still():
        raise live_job.Discarded("the job went on while it was captured")
    if result.returncode not in (0, 3):
        raise RuntimeError(f"{live.directory}: status {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)["verdict"]


def record(oddrank, seeds, folder, python=None, at_once=4, fault=None, more=(), verbose=False):
    """Records jobs into the folder. Returns (score, [why a seed was left out])."""
    os.makedirs(folder, exist_ok=True)
    total, left_out, started = score.Score(), [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jobs-") as scratch, \
            live_job.Server(python or training_job.find_torch_python()) as server, \
            contextlib.closing(live_job.jobs(server, made(seeds, fault), scratch,
                                             at_once)) as running:
        for seed, job, outcome in running:
            capture = os.path.join(folder, f"{seed:04}.capture")
            try:
                if isinstance(outcome, live_job.Discarded):
                    raise outcome
                verdict = examine(oddrank, outcome, capture, more)
            except live_job.Discarded as reason:
                left_out.append(f"{seed:04} left out ({job.truth['story']}): {reason}")
                print(left_out[-1], flush=True)
                if os.path.exists(capture):
                    os.unlink(capture)
                continue
            with open(capture.replace(".capture", ".json"), "w", encoding="utf-8") as file:
                json.dump(job.truth, file)
            with open(capture.replace(".capture", ".txt"), "w", encoding="utf-8") as file:
                file.write(job.text())
            judgement = total.add(f"{seed:04}", job.truth, verdict)
            if verbose or judgement != score.RIGHT:
                print(f"{seed:04} {judgement}: {job.truth['story']}\n     {verdict['summary']}",
                      flush=True)
    print(f"{(time.monotonic() - started) / max(len(total.rows), 1):.2f} s a job")
    return total, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=parse_seeds, default=range(1, 61))
    parser.add_argument("--out")
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--python", help="an interpreter that has torch")
    parser.add_argument("--at-once", type=int, default=4, help="jobs that run side by side")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--golden", type=int, metavar="COUNT")
    parser.add_argument("--fault", help="only jobs with that fault")
    parser.add_argument("-v", "--verbose", action="store_true")
    options, more = parser.parse_known_args()
    settings = {"python": options.python, "at_once": options.at_once, "fault": options.fault,
                "more": more, "verbose": options.verbose}
    if options.replay:
        total = archive.replay(options.oddrank, options.out)
    elif options.golden:
        with tempfile.TemporaryDirectory(prefix="golden-") as folder:
            total, _ = record(options.oddrank, choose_golden(options.golden), folder, **settings)
            archive.pack(folder, GOLDEN)
    else:
        total, _ = record(options.oddrank, options.seeds, options.out, **settings)
    print(total.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
