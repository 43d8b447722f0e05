#!/usr/bin/env python3
"""Compares the verdicts of two builds of oddrank on captures whose truth is known.

    verdict_diff.py --old PATH --new PATH FOLDER or ARCHIVE...

The captures are those that verdict_score.py takes. Prints each capture on which the two differ in
kind, ranks or confidence, with both judgements, then a line of counts for each folder.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "jobs"))
# pylint: disable=wrong-import-position
import archive
import score


def short(verdict):
    return (verdict["kind"], tuple(score.named(verdict)), verdict["confidence"])


def compare(options, corpus):
    with archive.opened(corpus) as folder:
        captures = sorted(glob.glob(os.path.join(folder, "*.capture")))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            old = pool.map(lambda capture: archive.verdict_on(options.old, capture), captures)
            new = pool.map(lambda capture: archive.verdict_on(options.new, capture), captures)
            totals = [score.Score(), score.Score()]
            for capture, before, after in zip(captures, old, new):
                with open(capture.replace(".capture", ".json"), encoding="utf-8") as file:
                    truth = json.load(file)
                name = os.path.basename(capture)[:-len(".capture")]
                was, now = (total.add(name, truth, verdict)
                            for total, verdict in zip(totals, (before, after)))
                if short(before) != short(after):
                    print(f"{name} [{truth['fault']}] {truth['story']}; truth {truth['culprits']}\n"
                          f"  {was:8} {short(before)}: {before['summary']}\n"
                          f"  {now:8} {short(after)}: {after['summary']}")
    for words, total in zip(("old", "new"), totals):
        print(f"{os.path.basename(corpus)}, {words}: {len(total.rows)} jobs, " + ", ".join(
            f"{total.count(one)} {one}"
            for one in (score.RIGHT, score.WRONG, score.UNKNOWN, score.KIND)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    options = parser.parse_args()
    for corpus in options.captures:
        compare(options, corpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
