#!/usr/bin/env python3
"""Measures how good the verdicts are on jobs whose truth is known.

    verdict_score.py --oddrank PATH [FOLDER or ARCHIVE]

Analyses captures of generated jobs (tests/jobs/record.py makes them; without an argument those in
tests/golden/jobs.tar). Prints each answer that is not right with the seed and the story of its job,
then counts of right, wrong and unknown answers by fault and by what the programs do.
"""

import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "jobs"))
# pylint: disable=wrong-import-position
import archive


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="?",
                        default=os.path.join(ROOT, "tests", "golden", "jobs.tar"))
    parser.add_argument("--oddrank", required=True)
    options = parser.parse_args()
    print(archive.replay(options.oddrank, options.captures).text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
