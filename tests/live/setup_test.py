#!/usr/bin/env python3
"""Ranks of one job that do not run with the same set-up: another build of a communication library,
another value of a variable that all must agree on, another script, another commit. The library is made
up: its name is what counts.

    setup_test.py --oddrank PATH
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

PROGRAM = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
time.sleep(1000)
"""


def needs_compiler():
    return None if shutil.which("cc") else "no C compiler"


class SetUp(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.job = f"oddrank-test-{os.getpid()}"

    def library(self, name, value):
        """Builds libmpi.so.40 with the given build id."""
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        path = os.path.join(path, "libmpi.so.40")
        subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", path, f"-Wl,--build-id=0x{value}"],
                       input="int nothing;\n", text=True, check=True, timeout=120)
        return path

    def end(self, process):
        process.kill()
        process.communicate(timeout=60)

    def rank(self, number, library, **variables):
        env = {"RANK": str(number), "WORLD_SIZE": "4", "MASTER_ADDR": self.job, "MASTER_PORT": "1",
               "PATH": os.environ["PATH"]}
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-c", PROGRAM, library], env={**env, **variables},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")

    def script_rank(self, number, script, *, cwd=None):
        """Starts a rank that runs the script: an absolute path, or relative to `cwd`."""
        env = {"RANK": str(number), "WORLD_SIZE": "4", "MASTER_ADDR": self.job, "MASTER_PORT": "1",
               "PATH": os.environ["PATH"]}
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-u", script, self.library_path], env=env, cwd=cwd,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")

    def clone(self, name, program, commit):
        """Writes a folder with a git repository's files, and a program two folders below; returns its
        path and the first digits of its digest."""
        git = os.path.join(self.folder, name, ".git")
        os.makedirs(f"{git}/refs/heads")
        with open(f"{git}/HEAD", "w", encoding="ascii") as file:
            file.write("ref: refs/heads/main\n")
        with open(f"{git}/refs/heads/main", "w", encoding="ascii") as file:
            file.write(commit + "\n")
        folder = os.path.join(self.folder, name, "src", "llm")
        os.makedirs(folder)
        with open(f"{folder}/train.py", "w", encoding="ascii") as file:
            file.write(program)
        return f"{folder}/train.py", hashlib.sha256(program.encode()).hexdigest()[:12]

    def notes(self):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--select", f"{self.job}:1", "--json", "-", "-q",
             *harness.PATIENTLY]))
        report = run.json()
        self.assertEqual(report["coverage"]["read"], 4, run)
        return report, [note for note in report["notes"] if "set-up" in note]

    def test_one_rank_has_another_library_and_another_algorithm(self):
        usual = self.library("usual", "11" * 20)
        other = self.library("other", "2f" * 20)
        for number in (0, 1, 3):
            self.rank(number, usual, NCCL_ALGO="Ring", NCCL_DEBUG_FILE=f"/tmp/{number}")
        self.rank(2, other, NCCL_ALGO="Tree")
        report, notes = self.notes()
        self.assertEqual(sorted(notes), [
            "the set-up differs: rank 2 has NCCL_ALGO=Tree, all others have NCCL_ALGO=Ring",
            f"the set-up differs: rank 2 has libmpi.so.40 build {'2f' * 6}, all others have "
            f"libmpi.so.40 build {'11' * 6}"])
        builds = {row["rank"]: row["setup"]["libmpi.so.40"] for row in report["ranks"]}
        self.assertEqual(builds[2], f"build {'2f' * 6}")
        self.assertEqual(builds[0], f"build {'11' * 6}")
        self.assertEqual({row["setup"]["Linux"] for row in report["ranks"]}, {os.uname().release})

    def test_what_belongs_to_each_rank_is_no_difference(self):
        usual = self.library("usual", "11" * 20)
        for number in range(4):
            self.rank(number, usual, LOCAL_RANK=str(number), CUDA_VISIBLE_DEVICES=str(number))
        self.assertEqual(self.notes()[1], [])

    def test_two_halves_accuse_nobody(self):
        libraries = [self.library("one", "11" * 20), self.library("two", "2f" * 20)]
        for number in range(4):
            self.rank(number, libraries[number % 2])
        self.assertEqual(self.notes()[1], [
            f"the set-up differs: ranks 0,2 have libmpi.so.40 build {'11' * 6}, ranks 1,3 have "
            f"libmpi.so.40 build {'2f' * 6}"])

    def test_one_rank_runs_another_script_of_another_commit(self):
        self.library_path = self.library("usual", "11" * 20)
        usual, digest = self.clone("usual-clone", PROGRAM, "3f" * 20)
        other, other_digest = self.clone("other-clone", PROGRAM + "# one line more\n", "9c" * 20)
        for number in (0, 1):
            self.script_rank(number, usual)
        self.script_rank(2, "llm/train.py", cwd=os.path.dirname(os.path.dirname(usual)))
        self.script_rank(3, other)
        self.assertEqual(sorted(self.notes()[1]), [
            f"the set-up differs: rank 3 has git commit {'9c' * 6}, all others have git commit "
            f"{'3f' * 6}",
            f"the set-up differs: rank 3 has train.py sha256 {other_digest}, all others have "
            f"train.py sha256 {digest}"])

    def test_a_script_that_was_changed_later_is_not_what_a_rank_runs(self):
        self.library_path = self.library("usual", "11" * 20)
        usual, digest = self.clone("usual-clone", PROGRAM, "3f" * 20)
        other, _ = self.clone("other-clone", PROGRAM, "3f" * 20)
        for number in (0, 1, 2):
            self.script_rank(number, usual)
        self.script_rank(3, other)
        began = time.time()
        # Changes within a second count as older than the rank.
        proc_facts.wait_until(lambda: time.time() > began + 2, "the rank has run for two seconds")
        for path in (other, f"{self.folder}/other-clone/.git/HEAD"):
            with open(path, "a", encoding="ascii") as file:
                file.write("# new\n")
        report, notes = self.notes()
        self.assertEqual(notes, [])
        setups = {row["rank"]: row["setup"] for row in report["ranks"]}
        self.assertEqual(setups[0]["train.py"], f"sha256 {digest}")
        self.assertEqual(setups[0]["git commit"], "3f" * 6)
        self.assertNotIn("train.py", setups[3])
        self.assertNotIn("git commit", setups[3])


if __name__ == "__main__":
    harness.main(needs_compiler)
