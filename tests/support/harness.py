"""What the Python tests have in common: finding the binary, skipping with a reason, running it.

A test program is called as `x_test.py --oddrank PATH [unittest's options]`. It ends with 77 after
a line "ODDRANK_SKIP: reason" where the machine lacks what it needs.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import cluster
import training_job

SKIPPED = 77
SANITIZER = re.compile(r"Sanitizer|runtime error:")
NOTHING_READ = 4  # exit statuses of oddrank
PARTIAL = 3
# For what is not about time: machines that run tests may stand still for seconds.
PATIENTLY = ("--timeout", "60s")


class Options:
    oddrank = None
    # A second build of it, which is asked the same of the same jobs: CI's sanitized one. It has to
    # come to the same end, and nothing else of it is looked at.
    also = os.environ.get("ODDRANK_ALSO")
    # Longest that `oddrank job` may take on a healthy cluster; the CMake file says which build.
    limit_s = 5.0


def main(*needs):
    """Runs the test cases of the calling program; `needs` are functions that return a reason not
    to, or None."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--oddrank")
    parser.add_argument("--limit", type=float, default=Options.limit_s)
    options, rest = parser.parse_known_args()
    Options.oddrank = options.oddrank
    Options.limit_s = options.limit
    for need in needs:
        reason = need()
        if reason:
            print(f"ODDRANK_SKIP: {reason}")
            sys.exit(SKIPPED)
    result = unittest.main(argv=[sys.argv[0], "-v", *rest], exit=False).result
    for _, reason in result.skipped:
        print(f"ODDRANK_SKIP: {reason}")
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if result.skipped else 0)


def needs_cluster():
    return cluster.can_namespaces()


def needs_torch():
    if training_job.find_torch_python() is None:
        return "no Python with PyTorch (scripts/setup makes one)"
    return None


def needs_other_user():
    """Tests as an ordinary user need one who can reach the tree and the interpreter."""
    binaries = [path for path in (Options.oddrank, training_job.find_torch_python()) if path]
    for path in binaries:
        seen = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                               "test", "-x", path], timeout=60, check=False)
        if seen.returncode != 0:
            return f"user nobody may not run {path}"
    return None


@contextlib.contextmanager
def scratch():
    """A folder for everybody, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="oddrank-test-") as directory:
        os.chmod(directory, 0o1777)
        yield directory


def run_here(command, timeout=240, env=None, also=True):
    """`also`: False where it matters how often oddrank was run."""
    def run(words):
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False, env=env)
    twice = also and Options.also and command[0] == Options.oddrank
    # A thread that polls and is met awake may not get the CPU that it needs to stop: once more.
    for _ in range(2):
        other = run([Options.also, *command[1:]]) if twice else None
        result = run(command)
        if not other or (other.returncode == result.returncode
                         and not SANITIZER.search(other.stderr)):
            return result
        if SANITIZER.search(other.stderr):
            break
    raise AssertionError(f"{Options.also}: {Run(other)}\n--- and not {result.returncode}")


class Run:
    """One finished run of oddrank. str() of it is what a failed assertion should show."""

    def __init__(self, result):
        self.status = result.returncode
        self.out = result.stdout
        self.err = result.stderr

    def __str__(self):
        return f"exit status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def json(self):
        return json.loads(self.out)


def check_trouble(test, run, *words, status=NOTHING_READ):
    """oddrank could not do it, and says so in few clear words on stderr."""
    test.assertEqual(run.status, status, run)
    for word in words:
        test.assertIn(word.lower(), run.err.lower(), run)
    test.assertTrue(0 < len(run.err.strip().splitlines()) <= 4, run)
