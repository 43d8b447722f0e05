#!/usr/bin/env python3
"""Tests what scripts/release refuses, in a repository of its own: a tag that is missing, that is not the version of
the tree, or of which the changelog knows no date; and that a rehearsal notices packages that depend on more than the commit.
What it really makes is checked by `scripts/release --check`, which takes minutes."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

GIT = shutil.which("git")


def needs_git():
    return None if GIT else "git is not installed"


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        os.mkdir(f"{self.tree}/scripts")
        for name in ("release", "lib.sh"):
            shutil.copy(f"{ROOT}/scripts/{name}", f"{self.tree}/scripts/{name}")
        self.git("init", "--quiet")

    def git(self, *words):
        subprocess.run([GIT, "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=self.tree,
                       stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)

    def tag(self, tag, version, changelog):
        for name, text in (("CMakeLists.txt", f"project(oddrank VERSION {version} LANGUAGES CXX)\n"),
                           ("CHANGELOG.md", changelog)):
            with open(f"{self.tree}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "all")
        self.git("tag", tag)

    def refused(self, *words):
        run = subprocess.run([f"{self.tree}/scripts/release", *words], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertFalse(os.path.exists(f"{self.tree}/build"), "nothing is made")
        return run.stderr

    def test_no_tag(self):
        self.assertIn("needs a tag", self.refused())
        self.assertIn("there is no tag 'v1.2.3'", self.refused("v1.2.3"))

    def test_a_branch_is_no_tag(self):
        self.tag("v1.2.3", "1.2.3", "## 1.2.3 (2026-11-24)\n")
        self.git("branch", "v1.2.4")
        self.assertIn("there is no tag 'v1.2.4'", self.refused("v1.2.4"))

    def test_another_version(self):
        self.tag("v1.2.4", "1.2.3", "## 1.2.4 (2026-11-24)\n")
        self.assertIn("CMakeLists.txt of it says 1.2.3", self.refused("v1.2.4"))

    def test_no_date(self):
        for changelog in ("", "## 1.2.3 (not released)\n", "## 1.2.30 (2026-11-24)\n", "## 1x2x3 (2026-11-24)\n"):
            with self.subTest(changelog=changelog):
                self.tag("v1.2.3", "1.2.3", changelog)
                self.assertIn("needs a section '## 1.2.3 (YYYY-MM-DD)'", self.refused("v1.2.3"))
                self.git("tag", "--delete", "v1.2.3")

    def test_what_lies_in_the_tree_does_not_count(self):
        self.tag("v1.2.3", "1.2.3", "## 1.2.3 (not released)\n")
        with open(f"{self.tree}/CHANGELOG.md", "w", encoding="utf-8") as file:
            file.write("## 1.2.3 (2026-11-24)\n")
        self.assertIn("needs a section", self.refused("v1.2.3"))

    def rehearse(self, writes):
        """Rehearses with a stand-in for scripts/package, and one for packaging/check that says what it tried."""
        os.mkdir(f"{self.tree}/packaging")
        for name, text in (("scripts/package", f"mkdir -p build/packages && cd build/packages\n{writes}\n"
                            "sha256sum -- * >SHA256SUMS"), ("packaging/check", 'echo "tried: $(cat "$1"/one.whl)"')):
            with open(f"{self.tree}/{name}", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\nset -eu\n{text}\n")
            os.chmod(f"{self.tree}/{name}", 0o755)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "all")
        run = subprocess.run([f"{self.tree}/scripts/release", "--check"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, check=False)
        return run, sorted(name for _, _, names in os.walk(f"{self.tree}/build") for name in names)

    def test_a_rehearsal_needs_no_tag(self):
        run, kept = self.rehearse("echo same >one.whl")
        self.assertEqual((run.returncode, run.stdout), (0, "tried: same\n"), run.stderr)
        self.assertIn("the same bytes twice", run.stderr)
        self.assertEqual(kept, [])

    def test_a_rehearsal_notices_other_bytes(self):
        for index, writes in enumerate(("pwd >one.whl", "stat -c %a ../../scripts/lib.sh >one.whl",
                                        "date +%Z >one.whl", "mktemp -u >one.whl")):
            with self.subTest(writes=writes):
                if index:
                    self.setUp()
                run, kept = self.rehearse(writes)
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertIn("the same commit gave other bytes", run.stderr)
                self.assertEqual(kept, ["SHA256SUMS"] * 2 + ["one.whl"] * 2)
                self.assertEqual(run.stdout, "")


if __name__ == "__main__":
    harness.main(needs_git)
