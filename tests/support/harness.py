"""Code that the Python tests share: it finds the binary, skips with a reason, and runs oddrank.

A test program is called as `x_test.py --oddrank PATH [options of unittest]`. If the machine lacks what
the test needs, it prints "ODDRANK_SKIP: reason" and exits with 77.
"""

import argparse
import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import cluster
import lab_keeper
import report_schema
import training_job

SKIPPED = 77
SANITIZER = re.compile(r"Sanitizer|runtime error:")
NOTHING_READ = 4  # exit statuses of oddrank
PARTIAL = 3
# For tests that are not about time: machines that run tests may stand still for seconds.
PATIENTLY = ("--timeout", "60s")


class Options:
    oddrank = None
    # A second build (in CI the sanitized one), which is run with the same commands on the same jobs.
    # It has to exit with the same status; nothing else is compared.
    also = os.environ.get("ODDRANK_ALSO")
    # The longest that `oddrank job` may take on a healthy cluster; depends on the build (CMakeLists.txt).
    limit_s = 20.0


def enter_context(test, manager):
    """TestCase.enterContext of Python 3.11."""
    test.addCleanup(manager.__exit__, None, None, None)
    return manager.__enter__()


def enter_class_context(cls, manager):
    cls.addClassCleanup(manager.__exit__, None, None, None)
    return manager.__enter__()


# Debian 11, whose SLURM scripts/slurm_release tests, has Python 3.9.
if not hasattr(unittest.TestCase, "enterContext"):
    unittest.TestCase.enterContext = enter_context
    unittest.TestCase.enterClassContext = classmethod(enter_class_context)


def main(*needs):
    """Runs the test cases of the calling program. `needs` are functions that return a reason not to run
    them, or None."""
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
    """Returns why tests cannot run as an ordinary user, who has to reach the tree and the interpreter."""
    binaries = [path for path in (Options.oddrank, training_job.find_torch_python()) if path]
    for path in binaries:
        seen = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                               "test", "-x", path], timeout=60, check=False)
        if seen.returncode != 0:
            return f"user nobody may not run {path}"
    return None


def only_with(fact):
    """Leaves a test out unless `fact`: a skipped one would have to be explained."""
    return (lambda test: test) if fact else (lambda test: None)


only_in_full = only_with(os.environ.get("ODDRANK_FULL"))


def unshare(*words):
    """Returns the command that runs others with mounts of its own (and with other namespaces, by
    `words`). Skips the test if these mounts would be seen outside."""
    propagation = lab_keeper.mount_propagation()
    if propagation is None:
        raise unittest.SkipTest("this root is a chroot on a machine with shared mounts")
    return ["unshare", "--mount", f"--propagation={propagation}", *words]


@contextlib.contextmanager
def scratch():
    """Makes a folder that every user may enter, and removes it at the end."""
    with tempfile.TemporaryDirectory(prefix="oddrank-test-") as directory:
        os.chmod(directory, 0o1777)
        yield directory


def run_here(command, timeout=240, env=None, also=True):
    """Runs a command here. `also`: False if it matters how often oddrank is run."""
    def run(words):
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False, env=env)
    twice = also and Options.also and command[0] == Options.oddrank
    # A polling thread that is found awake may not get the CPU that it needs to stop, so try twice.
    for _ in range(2):
        other = run([Options.also, *command[1:]]) if twice else None
        result = run(command)
        if not other or (other.returncode == result.returncode
                         and not SANITIZER.search(other.stderr)):
            return result
        if SANITIZER.search(other.stderr):
            break
    raise AssertionError(f"{Options.also}: {Run(other)}\n--- and not {result.returncode}")


def timed_runs(words, times=2):
    """Runs oddrank that often; returns the runs, and the least CPU time: a busy machine only adds."""
    def cpu_s():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    runs, seconds = [], []
    for _ in range(times):
        before = cpu_s()
        runs.append(Run(run_here([Options.oddrank, *words], also=False)))
        seconds.append(cpu_s() - before)
    return runs, min(seconds)


class Run:
    """One finished run of oddrank. Pass it to assertions: its str() is useful in a failure."""

    def __init__(self, result):
        self.status = result.returncode
        self.out = result.stdout
        self.err = result.stderr

    def __str__(self):
        return f"exit status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def json(self):
        return report_schema.check(self.out)


def check_trouble(test, run, *words, status=NOTHING_READ):
    """Checks that oddrank failed and says why in a few clear words on stderr."""
    test.assertEqual(run.status, status, run)
    for word in words:
        test.assertIn(word.lower(), run.err.lower(), run)
    test.assertTrue(0 < len(run.err.strip().splitlines()) <= 4, run)
