#!/usr/bin/env python3
"""Measures what it costs to read the Python frames of a rank: 21 threads, 330 frames, in every CPython
at hand.

    bench/python_bench.py [--build build/release-tests] [--looks 200] [PYTHON...]

Without PYTHON it uses those of $ODDRANK_PYTHONS (colon-separated; scripts/pythons prints some), or
else all of ~/.pyenv and /usr/bin/python3. `first` is the first sample of a process, `later` is the
median of the others, for which the code objects are already known; `calls` are calls that read
memory. The runtime is found once, before the samples. The limit for a sample is 300 us and 40 calls.
"""

import argparse
import glob
import os
import statistics
import subprocess
import sys

LIMIT_US, LIMIT_CALLS = 300, 40


def interpreters():
    given = os.environ.get("ODDRANK_PYTHONS")
    paths = given.split(":") if given else [
        *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")), "/usr/bin/python3"]
    return [path for path in dict.fromkeys(paths) if os.access(path, os.X_OK)]


def measure(tool, python, looks, wanted):
    """Returns (version, find, [look]), or None if oddrank does not support this Python."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_threads.py")
    victim = subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    try:
        words = victim.stdout.readline().split()
        if not words or words[0] != "ready":
            return None
        result = subprocess.run([tool, words[1], str(looks), wanted], stdout=subprocess.PIPE,
                                text=True, check=False, timeout=60)
        if result.returncode != 0:
            return None
        lines = result.stdout.split("\n")
        rows = [[float(number) for number in line.split()[1:]] for line in lines[1:] if line]
        return lines[0], rows[0], rows[1:]
    finally:
        victim.stdin.close()
        victim.terminate()
        victim.wait()


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{root}/build/release-tests")
    parser.add_argument("--looks", type=int, default=200)
    parser.add_argument("--locals", default="none", choices=["none", "deciding", "all"])
    parser.add_argument("python", nargs="*")
    options = parser.parse_args()
    tool = f"{options.build}/python_read_cost"
    if not os.access(tool, os.X_OK):
        sys.exit(f"{tool} is not there: cmake --preset release-tests && "
                 "cmake --build --preset release-tests --target bench")
    print(f"{'Python':<10}{'threads':>8}{'frames':>7}{'find us':>9}{'first us':>9}{'calls':>6}"
          f"{'later us':>9}{'calls':>6}")
    worst = 0.0
    for python in options.python or interpreters():
        measured = measure(tool, python, options.looks, options.locals)
        if measured is None:
            print(f"{python}: not read")
            continue
        version, find, looks = measured
        later = statistics.median(look[3] for look in looks[1:])
        threads, frames, calls, first = looks[0]
        print(f"{version:<10}{threads:>8.0f}{frames:>7.0f}{find[3]:>9.0f}{first:>9.0f}{calls:>6.0f}"
              f"{later:>9.0f}{looks[-1][2]:>6.0f}", flush=True)
        worst = max(worst, later / LIMIT_US, looks[-1][2] / LIMIT_CALLS)
    print(f"later looks need {worst:.0%} of what they may")
    return 1 if worst > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
